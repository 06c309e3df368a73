"""Epsilon-greedy, the simplest policy that never stops exploring."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from pairup.compiled.couples import greedy_leader, rows
from pairup.compiled.couples.greedy_leader import Leader, learn
from pairup.compiled.couples.neighbours import write
from pairup.compiled.couples.rows import draw_matching
from pairup.compiled.couples.statistics import CoupleStatistics
from pairup.compiled.kernels import kernel
from pairup.compiled.matchings.graph_matcher import (
    draw_graph_matching,
    match_by_weights,
    set_weights_by_couples,
    write_matching,
)
from pairup.compiled.randomness import MANTISSA, mantissa, word
from pairup.compiled.state_fields import (
    AVAILABLE,
    OWN,
    ROUND,
    Integers,
    Keys,
    Reals,
    new_counters,
    new_state,
)
from pairup.compiled.steps import OK, provide
from pairup.errors import PolicyError
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import GreedyLeaderPolicy
from pairup.policies.registry import register

# Places of counters.
(
    DECAYS,  # epsilon decays with the rounds
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 2)

_DEFAULTS = {"decaying": 30.0, "constant": 0.05}


@register
@dataclass(frozen=True)
class EpsilonGreedy(GreedyLeaderPolicy):
    """Propose a matching drawn at random with a small probability, otherwise the leader.

    The leader is the greedy matching by empirical means, as for `Unimodal`.

    Parameters
    ----------
    schedule : {"decaying", "constant"}
        How likely round t is to explore: epsilon * (2L - 1) / t, at most 1, or epsilon throughout.
    epsilon : float, optional
        Decaying: how many round robins (of 2L - 1 rounds each) to explore, times log(T): positive,
        by default 30. Constant: a probability, by default 0.05.

    Examples
    --------
    >>> from pairup import EpsilonGreedy, Problem, simulate
    >>> problem = Problem.around(0.5, 4, 0.1)
    >>> run = simulate(problem, EpsilonGreedy(epsilon=10), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 100
    np.True_
    """

    schedule: Literal["decaying", "constant"] = "decaying"
    epsilon: float | None = None

    name: ClassVar[str] = "epsilon_greedy"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            return
        max_epsilon = 1.0 if self.schedule == "constant" else math.inf
        try:
            epsilon = float(self.epsilon)
        except (TypeError, ValueError):
            epsilon = math.nan
        if isinstance(self.epsilon, bool) or not 0 < epsilon <= max_epsilon or math.isinf(epsilon):
            rule = "a probability above 0" if self.schedule == "constant" else "a positive number"
            raise PolicyError(
                f"epsilon of epsilon_greedy, {self.schedule}, must be {rule}, got "
                f"{self.epsilon!r}: try {_DEFAULTS[self.schedule]:g}"
            )
        object.__setattr__(self, "epsilon", epsilon)

    def start(self, context: StartContext) -> EpsilonGreedyState:
        epsilon = _DEFAULTS[self.schedule] if self.epsilon is None else self.epsilon
        return new_state(
            EpsilonGreedyState,
            self.sizes(context),
            keys=context.keys(3),
            counters=new_counters({DECAYS: self.schedule == "decaying"}, _COUNTERS),
            epsilon=np.array([epsilon]),
        )


class EpsilonGreedyState(NamedTuple):
    """State of `EpsilonGreedy`: statistics, their leader, and the players available."""

    stats: CoupleStatistics
    leader: Leader
    # Of ties between pairs, of when to explore, of the matchings then drawn.
    keys: np.ndarray = Keys(3)
    counters: np.ndarray = Integers(_COUNTERS)
    epsilon: np.ndarray = Reals(1)
    players: np.ndarray = Integers("slots")
    shuffled: np.ndarray = Integers("slots")


def _set_available(state, players):
    rows.set_players(state, players)
    greedy_leader.set_players(state.leader, state.stats, players)


def _propose(state, couples):
    counters = state.counters
    if _explores(state, 2 * state.leader.couple_count[0] - 1):
        players = state.players[: counters[AVAILABLE]]
        draw_matching(word(state.keys[2], counters[ROUND]), players, state.shuffled, couples)
    else:
        greedy_leader.update(state.leader, state.stats, state.keys[0])
        write(state.leader, -1, couples)
    return OK


def _propose_on_graph(state, matcher, couples):
    if _explores(state, matcher.degree[0]):
        draw_graph_matching(word(state.keys[2], state.counters[ROUND]), matcher, couples)
    else:
        set_weights_by_couples(matcher, state.stats.mean)
        match_by_weights(matcher)
        write_matching(matcher, couples)
    return OK


provide(
    EpsilonGreedyState,
    set_available=_set_available,
    propose=_propose,
    observe=learn,
    propose_on_graph=_propose_on_graph,
)


@kernel
def _explores(state, cycle):
    """Count the round, and draw whether it explores; all couples can meet in `cycle` rounds."""
    counters, share = state.counters, state.epsilon[0]
    counters[ROUND] += 1
    if counters[DECAYS]:
        share = share * cycle / counters[ROUND]
    draw = mantissa(word(state.keys[1], counters[ROUND]))
    return np.float64(draw) < share * MANTISSA
