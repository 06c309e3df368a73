"""Simple adaptive matching, the rival that the paper measures."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.errors import PolicyError
from pairup.kernels import sam as kernel
from pairup.kernels.allocation import new_arrays
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.state_layout import CLUSTERS, MEMBERS, new_counters
from pairup.policies.base import Slots, StartContext, check_integer_option
from pairup.policies.couples import CouplePolicy, couples_in_order
from pairup.policies.registry import register
from pairup.problem import Problem
from pairup.saved_arrays import Arrays, numbers, require

_SUMS = ("tries", "games", "new_tries", "new_games")


@register
@dataclass(frozen=True)
class SAM(CouplePolicy):
    """Simple adaptive matching (Sentenac et al., 2021): tournaments in clusters that split.

    All players begin in one cluster and meet each other in round robin. At the end of a cycle a
    cluster splits where the confidence intervals of its players, ``mean ± sqrt(log(horizon) / n)``
    over the games with their own and better clusters, separate an even number of players from
    the rest. Clusters of two have found their couple.

    Parameters
    ----------
    horizon : int, optional
        Number of rounds to come, at least 2. A simulation supplies its own when this is not given;
        a live learner needs it.

    Notes
    -----
    Live, when some opponents of the tournament are away, those left over are coupled in the order
    of their clusters. When players join or leave, all meet in one cluster again, their past games
    counted.

    Examples
    --------
    >>> from pairup import Problem, SAM, simulate
    >>> run = simulate(Problem.from_zero(2, 0.1), SAM(), rounds=3_000, replications=2)
    >>> run.mean()[-1].round(6)  # never sure enough to split: two thirds of all rounds cost 0.01
    np.float64(20.0)
    """

    horizon: int | None = None

    name: ClassVar[str] = "sam"
    draws_at_random: ClassVar[bool] = False
    nominal_ns: ClassVar[int] = 10
    saved_counters: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.horizon is None else ()

    def regret_bound(self, problem: Problem) -> tuple[str, float]:
        couples = -(-problem.players // 2)
        return "SAM's theorem", 640 * couples * (math.log(couples) + 2) / problem.gap

    def start(self, context: StartContext) -> kernel.SamState:
        horizon = self.horizon or context.horizon
        if horizon is None:
            raise PolicyError(
                "sam needs to know its horizon, got none: give the number of rounds to come, "
                "SAM(horizon=1_000_000)"
            )
        slots = context.slots
        return kernel.SamState(
            stats=new_couple_statistics(slots),
            now=new_counters(),
            log_horizon=np.array([math.log(max(horizon, 2))]),
            **new_arrays(("members", "start", "turn", "ranked", *_SUMS), slots + 1, np.int64),
            cluster=np.zeros(slots, np.int64),
            available=np.zeros(slots, np.bool_),
            **new_arrays(("upper", "lower"), slots),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        # All meet in one cluster.
        phantom = len(state.cluster) - 1
        members = np.append(present, phantom) if len(present) % 2 else present
        state.members[: len(members)] = members
        state.now[CLUSTERS] = 1
        state.now[MEMBERS] = len(members)
        state.start[:2] = 0, len(members)
        state.turn[:] = 0
        state.cluster[:] = len(state.cluster)  # below all: outcomes with others do not count
        state.cluster[members] = 0
        for sums in _SUMS:
            getattr(state, sums)[:] = 0
        among = np.ix_(members, members)
        for sums, counts in ((state.tries, state.stats.tries), (state.games, state.stats.games)):
            sums[members] = counts[among].sum(axis=0) + counts[among].sum(axis=1)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        clusters = state.now[CLUSTERS]
        phantom = len(state.cluster) - 1
        slots = state.members[: state.now[MEMBERS]]
        sums = {f"player_{name}": getattr(state, name)[:phantom] for name in _SUMS}
        # The phantom's slot moves when the capacity grows, so it is saved as -1.
        places = {"members": np.where(slots == phantom, -1, slots)}
        cycles = {"start": state.start[: clusters + 1], "turn": state.turn[:clusters]}
        return super().saved(state) | sums | places | cycles

    def load_evidence(self, state: Any, arrays: Arrays) -> kernel.SamState:
        super().load_evidence(state, arrays)
        phantom = len(state.cluster) - 1
        members = state.members[: state.now[MEMBERS]]
        self.set_present(state, members[members != phantom])  # all meet in one cluster again
        return state

    def load(self, state: Any, arrays: Arrays) -> kernel.SamState:
        super().load(state, arrays)
        for name in _SUMS:
            sums = numbers(arrays, f"player_{name}")
            getattr(state, name)[: len(sums)] = sums
        slots = numbers(arrays, "members", minimum=-1)
        start = numbers(arrays, "start")
        turn = numbers(arrays, "turn")
        sizes = np.diff(start)
        members = np.where(slots < 0, len(state.cluster) - 1, slots)
        present = state.members[: state.now[MEMBERS]]
        require(np.array_equal(np.sort(members), present), "its clusters are of other players")
        require(start[0] == 0 and start[-1] == len(members), "its clusters leave players out")
        least = 2 if len(members) else 0
        require(np.all((sizes >= least) & (sizes % 2 == 0)), "it has clusters of odd sizes")
        require(len(turn) == len(sizes), "its clusters have no turns")
        require(np.all(turn < np.maximum(sizes, 1)), "it has turns beyond a tournament's end")
        clusters = len(turn)
        state.now[CLUSTERS] = clusters
        state.members[: len(members)] = members
        state.start[: clusters + 1] = start
        state.turn[:clusters] = turn
        state.cluster[members] = np.repeat(np.arange(clusters), sizes)
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        # The available players by cluster, and by mean within each.
        means = state.games / np.maximum(state.tries, 1)
        members = state.members[: state.now[MEMBERS]]
        members = members[state.available[members]]
        order = members[np.lexsort((-means[members], state.cluster[members]))]
        return couples_in_order(order)
