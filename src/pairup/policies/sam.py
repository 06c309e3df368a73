"""Simple adaptive matching: round robins within clusters, which split when sure.

Clusters lie side by side in `members`, best first. Each plays the circle method, a cycle of which
brings every pair together once. Only when such a cycle ends does the cluster look at its outcomes,
and at the first even cut where all above are surely better than all below, it splits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples.rows import mark_available, write_couple
from pairup.compiled.couples.statistics import CoupleStatistics
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.state_fields import MEMBERS, OWN, Flags, Integers, Players, Reals, new_state
from pairup.compiled.steps import OK, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Slots, StartContext, check_integer_option
from pairup.policies.couple_policies import CouplePolicy, couples_in_order
from pairup.policies.registry import register
from pairup.problem import Problem
from pairup.saved_arrays import Arrays, require

# Places of counters.
(
    CLUSTERS,
    AWAY,  # members who are not available, the phantom included
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 3)

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

    def __post_init__(self) -> None:
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.horizon is None else ()

    def regret_bound(self, problem: Problem) -> tuple[str, float]:
        couples = -(-problem.players // 2)
        return "SAM's theorem", 640 * couples * (math.log(couples) + 2) / problem.gap

    def start(self, context: StartContext) -> SamState:
        horizon = self.horizon or context.horizon
        if horizon is None:
            raise PolicyError(
                "sam needs to know its horizon, got none: give the number of rounds to come, "
                "SAM(horizon=1_000_000)"
            )
        log_horizon = np.array([math.log(max(horizon, 2))])
        return new_state(SamState, self.sizes(context), log_horizon=log_horizon)

    def set_present(self, state: Any, present: Slots) -> None:
        # All meet in one cluster.
        phantom = len(state.cluster) - 1
        members = np.append(present, phantom) if len(present) % 2 else present
        state.members[:] = state.start[:] = state.turn[:] = 0
        state.members[: len(members)] = members
        state.counters[CLUSTERS] = 1
        state.counters[MEMBERS] = len(members)
        state.start[1] = len(members)
        state.cluster[:] = len(state.cluster)  # below all: outcomes with others do not count
        state.cluster[members] = 0
        for sums in _SUMS:
            getattr(state, sums)[:] = 0
        among = np.ix_(members, members)
        for sums, counts in ((state.tries, state.stats.tries), (state.games, state.stats.games)):
            sums[members] = counts[among].sum(axis=0) + counts[among].sum(axis=1)

    def load_evidence(self, state: Any, arrays: Arrays) -> SamState:
        super().load_evidence(state, arrays)
        phantom = len(state.cluster) - 1
        members = state.members[: state.counters[MEMBERS]]
        self.set_present(state, members[members != phantom])  # all meet in one cluster again
        return state

    def load(self, state: Any, arrays: Arrays) -> SamState:
        present = state.members[: state.counters[MEMBERS]].copy()
        state = super().load(state, arrays)
        clusters = state.counters[CLUSTERS]
        require(1 <= clusters < len(state.start), "it has a wrong number of clusters")
        members, start = state.members[: len(present)], state.start[: clusters + 1]
        require(np.array_equal(np.sort(members), present), "its clusters are of other players")
        require(start[0] == 0 and start[-1] == len(members), "its clusters leave players out")
        sizes, least = np.diff(start), 2 if len(members) else 0
        require(np.all((sizes >= least) & (sizes % 2 == 0)), "it has clusters of odd sizes")
        late = state.turn[:clusters] >= np.maximum(sizes, 1)
        require(not np.any(late), "it has turns beyond a tournament's end")
        state.cluster[members] = np.repeat(np.arange(clusters), sizes)
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        # The available players by cluster, and by mean within each.
        means = state.games / np.maximum(state.tries, 1)
        members = state.members[: state.counters[MEMBERS]]
        members = members[state.available[members]]
        order = members[np.lexsort((-means[members], state.cluster[members]))]
        return couples_in_order(order)


class SamState(NamedTuple):
    """State of `SAM`.

    A player's sums count the couples with members of its own and of better clusters; the news of
    a cycle under way is kept separately until the cycle ends. Cluster c spans members[start[c]] to
    members[start[c + 1] - 1].
    """

    stats: CoupleStatistics
    counters: np.ndarray = Integers(_COUNTERS, saved=(CLUSTERS,))
    log_horizon: np.ndarray = Reals(1)
    members: np.ndarray = Players("slots + 1", saved=True)
    start: np.ndarray = Integers("slots + 1", saved=True)
    turn: np.ndarray = Integers("slots + 1", saved=True)  # turns played of each cluster's cycle
    cluster: np.ndarray = Integers("slots")  # of each player
    # Of each player, at the end of the last cycle.
    tries: np.ndarray = Integers("slots + 1", saved=True)
    games: np.ndarray = Integers("slots + 1", saved=True)
    new_tries: np.ndarray = Integers("slots + 1", saved=True)
    new_games: np.ndarray = Integers("slots + 1", saved=True)
    available: np.ndarray = Flags("slots")
    ranked: np.ndarray = Integers("slots + 1")  # workspace to sort a cluster
    upper: np.ndarray = Reals("slots")
    lower: np.ndarray = Reals("slots")


def _set_available(state, players):
    mark_available(state, players)
    state.counters[AWAY] = state.counters[MEMBERS] - len(players)  # the phantom is always away


def _propose(state, couples):
    row = c = 0
    while c < state.counters[CLUSTERS]:
        start, size = state.start[c], state.start[c + 1] - state.start[c]
        if size > 2 and state.turn[c] == size - 1:
            _end_cycle(state, c)
            _split_all(state, c)
            size = state.start[c + 1] - start
        if size > 2:
            row = _play_turn(state, c, couples, row)
        else:  # most clusters end so: a couple that always meets
            row = _write(state, start, start + 1, couples, row)
        c += 1
    if row < len(couples):
        _pair_leftovers(state, couples, row)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j, game = slot(couples[c, 0]), slot(couples[c, 1]), np.int64(played[c])
        below = state.cluster[i] - state.cluster[j]
        state.stats.tries[i, j] += 1
        state.stats.games[i, j] += game
        if below >= 0:
            state.new_tries[i] += 1
            state.new_games[i] += game
        if below <= 0:
            state.new_tries[j] += 1
            state.new_games[j] += game


provide(SamState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def _end_cycle(state, c):
    """Add what the cycle brought to the players' sums."""
    state.turn[c] = 0
    for x in range(state.start[c], state.start[c + 1]):
        i = state.members[x]
        state.tries[i] += state.new_tries[i]
        state.games[i] += state.new_games[i]
        state.new_tries[i] = 0
        state.new_games[i] = 0


@kernel
def _split_all(state, c):
    """Split cluster `c` and its parts as often as they can be."""
    last = c
    while c <= last:
        if _split(state, c):
            last += 1
        else:
            c += 1


@kernel
def _split(state, c):
    """Split cluster `c` at its first sure even cut; returns whether it did."""
    start, size = state.start[c], state.start[c + 1] - state.start[c]
    if size <= 2:
        return False
    _rank(state, c)
    for cut in range(2, size - 1, 2):
        if state.upper[state.ranked[cut]] < state.lower[state.ranked[cut - 1]]:
            _cut(state, c, start + cut)
            return True
    return False


@kernel
def _rank(state, c):
    """Sort the members of cluster `c` by upper confidence bound, into `ranked`."""
    start, size = state.start[c], state.start[c + 1] - state.start[c]
    for x in range(size):
        i, y = state.members[start + x], x
        tries, state.upper[i], state.lower[i] = state.tries[i], np.inf, -np.inf
        if i == len(state.cluster) - 1:
            state.upper[i] = -np.inf  # the phantom, which is never observed, ranks last
        elif tries > 0:
            mean, width = state.games[i] / tries, math.sqrt(state.log_horizon[0] / tries)
            state.upper[i], state.lower[i] = mean + width, mean - width
        while y > 0 and state.upper[state.ranked[y - 1]] < state.upper[i]:
            state.ranked[y] = state.ranked[y - 1]
            y -= 1
        state.ranked[y] = i


@kernel
def _cut(state, c, cut):
    """Split cluster `c` at place `cut` of `members`, in ranked order."""
    start, end, clusters = state.start[c], state.start[c + 1], state.counters[CLUSTERS]
    for x in range(clusters, c, -1):
        state.start[x + 1] = state.start[x]
        state.turn[x] = state.turn[x - 1]
    state.start[c + 1] = cut
    state.turn[c] = state.turn[c + 1] = 0
    state.counters[CLUSTERS] = clusters + 1
    for x in range(start, end):
        state.members[x] = state.ranked[x - start]
    for x in range(cut, state.counters[MEMBERS]):
        state.cluster[state.members[x]] += 1
    for x in range(start, cut):  # their own and the better clusters are now members[:cut]
        i = state.members[x]
        state.tries[i] = state.games[i] = 0
        for y in range(cut):
            low, high = min(i, state.members[y]), max(i, state.members[y])
            state.tries[i] += state.stats.tries[low, high]
            state.games[i] += state.stats.games[low, high]


@kernel
def _play_turn(state, c, couples, row):
    """Write the couples of cluster `c` whose players are both available; advance its tournament."""
    start, size = state.start[c], state.start[c + 1] - state.start[c]
    last = size - 1
    up = down = state.turn[c]
    partner = last  # in the first meeting, but one steps on from `down`
    for _ in range(size // 2):
        row = _write(state, start + up, start + partner, couples, row)
        up = up + 1 if up + 1 < last else 0
        partner = down = down - 1 if down > 0 else last - 1
    state.turn[c] += 1
    return row


@kernel
def _write(state, x, y, couples, row):
    """Write the couple of members `x` and `y` unless one is away; returns the next row."""
    i, j = slot(state.members[slot(x)]), slot(state.members[slot(y)])
    if state.counters[AWAY] == 0 or (state.available[i] and state.available[j]):
        couples[slot(row), 0], couples[slot(row), 1] = min(i, j), max(i, j)
        row += 1
    return row


@kernel
def _pair_leftovers(state, couples, row):
    """Couple the players available whose opponents are away, in the order of their clusters."""
    waiting = -1
    for x in range(state.counters[MEMBERS]):
        i = state.members[x]
        if not state.available[i] or _is_coupled(couples, row, i):
            continue
        if waiting < 0:
            waiting = i
        else:
            write_couple(couples, row, i, waiting)
            row, waiting = row + 1, -1


@kernel
def _is_coupled(couples, rows, i):
    for row in range(rows):
        if couples[row, 0] == i or couples[row, 1] == i:
            return True
    return False
