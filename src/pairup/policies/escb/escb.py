"""ESCB: the matching with the best sum of means plus one joint bonus.

The index of a matching is A + s sqrt(B), A the sum of its means, B the sum of 1 / tries over its
couples and s as in `approximation.bonus_scale`. A player who waits, coupled with the phantom, adds
nothing to either. To each mean its couple's *luck* is added, a random billionth drawn once per run,
which breaks ties; so the best matching is a function of the statistics, the round and the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples import round_robin
from pairup.compiled.couples.round_robin import UNSEEN, RoundRobin, note_seen, write_turn
from pairup.compiled.couples.rows import luck, write_mates
from pairup.compiled.couples.statistics import CoupleStatistics, record
from pairup.compiled.kernels import kernel, slot
from pairup.compiled.state_fields import MEMBERS, OWN, ROUND, Integers, Keys, Reals, new_state
from pairup.compiled.steps import OK, provide
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import CouplePolicy
from pairup.policies.escb import approximation
from pairup.policies.escb.approximation import (
    BEST,
    BUDGETED,
    CERTIFICATES,
    CERTIFIED,
    COUPLE_COUNT,
    ENUMERATED,
    FEWER,
    MORE,
    OLS,
    WORST,
    ApproximateSearch,
    bonus_scale,
    certify,
    find_near_best,
    index_of,
)
from pairup.policies.escb.budgeted import find_near_enough
from pairup.policies.escb.enumeration import MAX_PLAYERS, find_best
from pairup.policies.escb.graph_search import propose_on_graph
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, require

_MAX_DUAL = 1e6  # more than any weight


@register
@dataclass(frozen=True)
class ESCB(CouplePolicy):
    """Play the matching with the best joint upper confidence bound (Combes et al., 2015).

    In round t the index of a matching is the sum of its couples' means plus one bonus for all of
    them, ``sqrt(f(t) / 2 * sum(1 / tries))``, which is less than the sum of their own bonuses.
    Couples never seen come first, as many as a turn of a round robin brings together.

    Parameters
    ----------
    search : {"exact", "approximate", "budgeted"}
        "approximate" takes the best of the matchings that are best for some weighting of the two
        sums, found exactly, and certifies how near that is to the best index. "exact" looks at
        every matching of at most 8 players; where there are more, or not all couples may meet, it
        is the approximate search too. "budgeted" is AESCB (Cuvelier, Combes and Gourdin, 2021),
        for any number of players, on every graph: where the bound leaves too much in doubt, it
        continues, in polynomial time, until the matching is provably near enough to the best for
        the regret bound of ESCB to hold, up to a factor that depends on the number of players.
    confidence : {"log", "ols"}
        "log": f(t) = log(t), as usual in practice. "ols": the larger f(t) with which OLS-UCB has
        its bound for independent outcomes (Degenne and Perchet, 2016), very cautious.

    Notes
    -----
    A player who waits because the number of players is odd adds nothing to the index. Couples with
    equal means are told apart by a random billionth, drawn once per run.

    Examples
    --------
    >>> from pairup import ESCB, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), ESCB(), rounds=2_000, replications=4)
    >>> run.regret.shape == (4, len(run.rounds))
    True
    """

    search: Literal["exact", "approximate", "budgeted"] = "exact"
    confidence: Literal["log", "ols"] = "log"

    name: ClassVar[str] = "escb"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 200

    def nominal_cost(self) -> int:
        # The budgeted search goes on where the approximate one ends.
        return self.nominal_ns * (10 if self.search == "budgeted" else 1)

    def start(self, context: StartContext) -> Any:
        sizes = self.sizes(context)
        options = {
            ENUMERATED: MAX_PLAYERS if self.search == "exact" else 0,
            BUDGETED: int(self.search == "budgeted"),
            OLS: int(self.confidence == "ols"),
        }
        search = approximation.new_approximate_search(sizes, options)
        return new_state(ESCBState, sizes, search=search, keys=context.keys(2))

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        approximation.forget_matchings(state.search)
        state.search.reals[[CERTIFIED, WORST, CERTIFICATES]] = 0.0, 1.0, 0.0

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = super().load(state, arrays)
        search = state.search
        in_range = np.abs(search.exact.kept_dual) < _MAX_DUAL
        require(np.all(in_range), "its duals are out of range")
        known = search.exact.kept_mate != approximation.NOBODY
        for mates in (search.exact.kept_mate, search.mates[FEWER], search.mates[MORE]):
            require(_is_matching(mates), "its matchings are not matchings")
            coupled = mates != approximation.NOBODY
            require(not coupled.any() or np.all(coupled == known), "its matchings are of others")
        return state

    def certified(self, state: Any) -> tuple[float, float]:
        """Return the mean and the least ratio of the index played to the best, as certified.

        Over the rounds since a player last left; rounds that cover unseen couples do not count.

        Examples
        --------
        >>> import numpy as np
        >>> policy = ESCB()
        >>> policy.certified(policy.start(StartContext(4, np.uint64(0))))
        (1.0, 1.0)
        """
        total, least, rounds = state.search.reals[[CERTIFIED, WORST, CERTIFICATES]].tolist()
        return (total / rounds if rounds else 1.0), least


def _is_matching(mates: NDArray[np.int64]) -> bool:
    """Whether each slot is the partner of its partner, and not its own."""
    slots, coupled = np.arange(len(mates)), mates >= 0
    return bool(np.all(mates != slots) and np.all(mates[mates[coupled]] == slots[coupled]))


class IndexTerms(NamedTuple):
    """What the index is made of, at i * slots + j for the couple (i, j), i < j; 0 when unseen."""

    value: np.ndarray = Reals("slots * slots", by_couple=True)  # the mean and its luck
    inverse: np.ndarray = Reals("slots * slots", by_couple=True)  # 1 / tries


class ESCBState(NamedTuple):
    """State of `ESCB`."""

    stats: CoupleStatistics
    terms: IndexTerms
    round_robin: RoundRobin
    search: ApproximateSearch
    keys: np.ndarray = Keys(2)  # of the order in the round robin, and of the luck
    counters: np.ndarray = Integers(OWN)


def _set_available(state, players):
    round_robin.set_players(state.round_robin, state.keys[0], state.stats.tries, players)
    approximation.set_players(state.search, players)


def _propose(state, couples):
    if not _explore(state, couples):
        search = state.search
        members = search.counters[MEMBERS]
        scale = bonus_scale(
            search.counters[OLS], search.counters[COUPLE_COUNT], state.counters[ROUND]
        )
        if members <= search.counters[ENUMERATED]:
            find_best(search, state.terms, scale)
        else:
            bound = find_near_best(search, state.terms, scale)
            if search.counters[BUDGETED] == 1:
                bound = find_near_enough(search, state.terms, scale, bound)
            certify(search.reals, index_of(search, state.terms, BEST, scale), bound)
        write_mates(search.mates[BEST], search.players[:members], couples)
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        _learn(state, slot(couples[c, 0]), slot(couples[c, 1]), played[c])


provide(
    ESCBState,
    set_available=_set_available,
    propose=_propose,
    observe=_observe,
    propose_on_graph=propose_on_graph,
)


@kernel
def _explore(state, couples):
    """Count the round; while some couples of the players are unseen, try them, and return True."""
    round = state.counters[ROUND]
    state.counters[ROUND] = round + 1
    unseen = state.round_robin.counters[UNSEEN] > 0
    if unseen:
        write_turn(state.round_robin, state.stats.tries, round, couples)
    return unseen


@kernel
def _learn(state, i, j, played):
    """Enter one outcome."""
    slots = len(state.round_robin.available)
    mean = record(state.stats, i, j, played)
    tries = state.stats.tries[i, j]
    if tries == 1:
        note_seen(state.round_robin, i, j)
    couple, mirrored = slot(i * slots + j), slot(j * slots + i)
    state.terms.value[couple] = state.terms.value[mirrored] = mean + luck(state.keys[1], i, j)
    state.terms.inverse[couple] = state.terms.inverse[mirrored] = 1.0 / tries
