"""Explore-then-commit, the simplest policy that learns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pairup.errors import PolicyError
from pairup.kernels import explore_then_commit as kernel
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.greedy_leader import new_leader
from pairup.kernels.state_layout import HORIZON, PRESENT, TURN, TURNS, new_counters
from pairup.policies.base import Slots, StartContext, check_integer_option
from pairup.policies.greedy_leader import GreedyLeaderPolicy
from pairup.policies.registry import register


@register
@dataclass(frozen=True)
class ExploreThenCommit(GreedyLeaderPolicy):
    """Let all players meet in round robins, then propose the leader.

    The leader is the greedy matching by empirical means, as for `Unimodal`. What is seen after the
    exploration still counts, so that a leader that disappoints can be replaced.

    Parameters
    ----------
    cycles : int, optional
        Round robins of 2L - 1 rounds to explore, at least 1. By default
        (horizon / (2L - 1))^(2/3) log(horizon)^(1/3), rounded up, which balances what exploration
        and a wrong commitment may cost.
    horizon : int, optional
        Number of rounds to come, at least 2, needed where `cycles` is not given. A simulation tells
        its own; a live learner needs it.

    Notes
    -----
    When players join or leave, exploration begins again, with past games counted. When not everyone
    is available, those who are play a turn of a round robin of their own.

    Examples
    --------
    >>> from pairup import ExploreThenCommit, Problem, simulate
    >>> problem = Problem([0.9, 0.9, 0.1, 0.1])
    >>> run = simulate(problem, ExploreThenCommit(cycles=20), rounds=2_000, replications=4)
    >>> run.mean()[-1].round(6)  # of 60 rounds, 40 cost 0.64
    np.float64(25.6)
    """

    cycles: int | None = None
    horizon: int | None = None

    name: ClassVar[str] = "explore_then_commit"
    nominal_ns: ClassVar[int] = 10
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({"cycles": 2},)
    saved_counters: ClassVar[Mapping[str, int]] = {"turn": TURN}

    def __post_init__(self) -> None:
        if self.cycles is not None:
            check_integer_option(self, "cycles", 1)
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.horizon is None and self.cycles is None else ()

    def start(self, context: StartContext) -> kernel.ExploreThenCommitState:
        horizon = self.horizon or context.horizon
        if horizon is None and self.cycles is None:
            raise PolicyError(
                "explore_then_commit needs cycles or a horizon, got neither: give the number of "
                "rounds to come, ExploreThenCommit(horizon=1_000_000)"
            )
        return kernel.ExploreThenCommitState(
            stats=new_couple_statistics(context.slots),
            leader=new_leader(context.slots),
            keys=context.keys(2),
            now=new_counters({HORIZON: horizon or 0}),
            members=np.zeros(context.slots + 1, np.int64),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        # Exploration begins again.
        cycle = max(2 * ((len(present) + 1) // 2) - 1, 1)
        state.now[TURN], state.now[TURNS] = 0, self._turns(state, cycle)
        state.now[PRESENT] = len(present)

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> kernel.ExploreThenCommitGraphState:
        # A player can meet all others in as many rounds as there are.
        degree = int(np.diff(matcher.graph.start).max(initial=1))
        turns = np.array([self._turns(state, degree)])
        return kernel.ExploreThenCommitGraphState(state, matcher, turns)

    def _turns(self, state: Any, cycle: int) -> int:
        """Return for how many turns to explore, if all couples can meet in `cycle` of them."""
        horizon = max(int(state.now[HORIZON]), 2)
        balanced = math.ceil((horizon / cycle) ** (2 / 3) * math.log(horizon) ** (1 / 3))
        return (self.cycles or balanced) * cycle

    def catch_up(self, state: Any, rounds: int) -> Any:
        # Exploration goes on after as many round robins as every couple has been seen in.
        players, tries = int(state.now[PRESENT]), state.stats.tries
        seen = tries[tries > 0]
        least = int(seen.min()) if len(seen) and len(seen) == players * (players - 1) // 2 else 0
        turn = least * max(2 * ((players + 1) // 2) - 1, 1)
        state.now[TURN] = max(state.now[TURN], min(turn, state.now[TURNS]))
        return state
