"""Matchmaking: which of the players who wait are proposed games, by the rules of a pool.

A pool without rules asks its policy alone. Here are the couples that may meet, what a game of each
is worth, players who have waited for too long, and the floor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import isnan
from typing import Any, NamedTuple

import numpy as np

from pairup.compiled.matchings.random_pairing import new_random_pairing
from pairup.learning import Learner
from pairup.learning.fairness import Fairness, weigh_debts
from pairup.matching import Matching, chance_of_couple
from pairup.problem.meeting_graph import MeetingGraph
from pairup.service.domain.counters import Forecast
from pairup.service.domain.estimates import (
    DECIMALS,
    forecast_on_graph,
    forecast_pairings,
    rounded,
)
from pairup.service.domain.events import ProposedGame, Ruled
from pairup.service.domain.matchmaking.candidates import (
    Couples,
    count_alone,
    distinct_couples,
    filter_couples,
    find_couples,
)
from pairup.service.domain.matchmaking.filters import (
    CodeFilter,
    Filter,
    Flags,
    Floats,
    GivenFilter,
    Places,
    Waiting,
    couple_numbers,
    keep_apart,
    make_filter,
)
from pairup.service.domain.matchmaking.holdout import pair_at_random, pair_the_rest
from pairup.service.domain.matchmaking.propensities import redraw
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.matchmaking.worth import worth_of

ODD = "odd"  # waits although there are players whom it may meet
_MAX_LOOKS = 1_000_000  # couples of players who are left over that are looked at, all together


class GivenCouples(NamedTuple):
    """Who may meet in one proposal, as its request says, by places among the players."""

    couples: Places | None = None  # of shape (couples, 2)
    worth: Floats | None = None  # of each of them
    groups: Places | None = None  # number of the group of each player; -1: it is in none


class Choice(NamedTuple):
    """A matching of players that is not proposed yet."""

    games: list[ProposedGame]
    waiting: list[int]
    forecast: Forecast
    ruled: Ruled | None  # None: the policy alone decided
    others: Sequence[Iterable[Sequence[Any]]]  # couples of other draws; see `propensities`
    known_chances: Sequence[float]  # of the first games, as far as they need no draws


def ask_policy(
    learner: Learner,
    players: list[int],
    met: Mapping[int, int],
    apart: Sequence[Sequence[int]],
    redraws: bool,
) -> Choice:
    """Ask the policy alone who meets, and if wanted what else other draws would choose.

    `met` has the number of learnt outcomes of each player.
    """
    others = list[Matching]()
    if redraws:
        others = redraw(learner, len(players), lambda _: learner.suggest(players, apart))
    matching = learner.suggest(players, apart)
    leader = learner.leader_among(players, apart) if len(players) > 1 else None
    forecast = forecast_pairings(learner, met, players, matching)
    explores = [leader is None or couple not in leader for couple in matching]
    games = _games(matching, learner.play_probabilities(matching), explores)
    each = None if apart else learner.policy.couple_chance(len(players))
    known = [] if each is None else [each] * len(games)
    return Choice(games, list(matching.waiting), forecast, None, others, known)


def _games(
    couples: Sequence[Sequence[Any]], chances: Floats | None, explores: Iterable[bool]
) -> list[ProposedGame]:
    known = [None] * len(couples) if chances is None else chances.tolist()
    return [
        {"players": list(couple), "chance": rounded(chance), "explores": explored}
        for couple, chance, explored in zip(couples, known, explores, strict=True)
    ]


class Matchmaker:
    """The players of one proposal, and the rules that it follows.

    Parameters
    ----------
    learner
        The learner of the pool, which is asked last.
    rules, fairness
        The rules of the pool, and what its players are owed.
    waiting
        The players available.
    met
        Number of learnt outcomes of each player, by number.
    apart
        Couples that must not meet, by number.
    given
        Who may meet, as the request says.
    control
        Players, by number, who are paired at random; None without a holdout.
    """

    def __init__(
        self,
        learner: Learner,
        rules: Rules,
        fairness: Fairness,
        waiting: Waiting,
        *,
        met: Mapping[int, int],
        apart: Sequence[Sequence[int]],
        given: GivenCouples | None,
        control: Sequence[int] | None = None,
    ) -> None:
        self._learner, self._rules, self._waiting = learner, rules, waiting
        self._met, self._apart, self._given = met, apart, given or GivenCouples()
        self._players, self._count = waiting.players, len(waiting.players)
        self._debts = fairness.debts_of(self._players) if rules.floor else None
        self._on_graph = rules.needs_graph or given is not None
        self._filters = self._make_filters()
        self._control = np.isin(self._players, control or ())

    def decide(self, redraws: bool = True) -> Choice:
        """Decide who is proposed games, and if wanted what else other draws would choose."""
        others = list[Places]()
        if redraws:
            held = bool(self._control.any())
            others = redraw(self._learner, self._count, lambda x: self._choose(x)[0], held)
        chosen, asked = self._choose()
        waiting = np.setdiff1d(np.arange(self._count), chosen)
        leader = self._leader()
        numbers = self._numbers(chosen)
        explores = np.ones(len(chosen), np.bool_) if leader is None else ~np.isin(numbers, leader)
        explores[: asked.start] = explores[asked.stop :] = False  # they were not its choice
        chances = self._learner.play_probabilities(chosen, self._players)
        alone = waiting[~self._has_partner[waiting]] if self._on_graph else waiting[:0]
        ruled: Ruled = {
            "worth": [round(worth, DECIMALS) for worth in self._worth_of(chosen).tolist()],
            "unmatched": self._unmatched(waiting, alone),
            "alone": [self._players[x] for x in alone],
            "shares": self._shares(chosen, waiting, chances),
        }
        return Choice(
            _games(self._named(chosen), chances, explores.tolist()),
            waiting=[self._players[x] for x in waiting],
            forecast=self._forecast(leader, chosen),
            ruled=ruled,
            others=[self._named(each) for each in others],
            known_chances=self._known_chances(),
        )

    def _choose(self, stream: int = 0) -> tuple[Places, slice]:
        """Choose couples by a stream of draws; returns also which of them the policy chose."""
        seeds = self._rules.seed, max(self._waiting.at, 0), stream
        self._draw = np.random.default_rng(seeds if stream else seeds[:2])
        held = self._pair_control()
        first = np.concatenate([held, self._match_overdue(held)])
        first = np.concatenate([first, self._match_odd(first)])
        chosen = np.concatenate([first, self._ask_policy(first)])
        if self._on_graph:
            chosen = np.concatenate([chosen, self._match_rest(chosen)])
        across = self._match_across(chosen)
        return np.concatenate([chosen, across]), slice(len(first), len(chosen))

    # Who may meet

    def _make_filters(self) -> list[Filter]:
        filters = [make_filter(each, self._waiting) for each in self._rules.parsed_constraints]
        given = self._given
        if given.groups is not None:
            lonely = given.groups < 0
            codes = np.where(lonely, self._count + np.arange(self._count), given.groups)
            filters.append(CodeFilter("allowed", codes, np.zeros(self._count, np.bool_)))
        if given.couples is not None:
            filters.append(GivenFilter("allowed", given.couples, self._count))
        if self._apart:
            place = {player: x for x, player in enumerate(self._players)}
            both = [(place[a], place[b]) for a, b in self._apart if a in place and b in place]
            couples = np.array(both, np.int64).reshape(-1, 2)
            filters.append(keep_apart("apart", couples, self._count))
        return filters

    @cached_property
    def _couples(self) -> Couples:
        given = self._given.couples
        if given is None:
            ranks = np.arange(self._count, dtype=np.float64) if self._rates is None else self._rates
            more = [] if self._debts is None else [ranks * (1.0 + self._added)]
            return find_couples(self._filters, ranks, *more)
        low, high = distinct_couples(self._numbers(given), self._count)
        fine = filter_couples(self._filters, low, high) & (low != high)
        nobody = np.zeros(self._count, np.bool_)
        return Couples(low[fine], high[fine], np.zeros((0, 2), np.int64), nobody)

    @cached_property
    def _has_partner(self) -> Flags:
        found = np.zeros(self._count, np.bool_)
        found[self._couples.low] = found[self._couples.high] = True
        return found

    # What games are worth

    @cached_property
    def _rates(self) -> Floats | None:
        estimated = self._learner.rate_array(self._players)
        return None if estimated is None else estimated[0]

    def _worth_of(self, couples: Places) -> Floats:
        """Return what games of some couples are worth, without what players are owed."""
        worth = worth_of(self._rules.worth, self._waiting, couples[:, 0], couples[:, 1])
        if self._given_worth is not None:
            known, given = self._given_worth
            worth *= given[np.searchsorted(known, self._numbers(couples))]
        return worth

    @cached_property
    def _given_worth(self) -> tuple[Places, Floats] | None:
        """Numbers of the couples that the request lists, ascending, with what it says of each."""
        given = self._given
        if given.couples is None or given.worth is None:
            return None
        known, first = np.unique(self._numbers(given.couples), return_index=True)
        return known, given.worth[first]

    @cached_property
    def _worth(self) -> Floats:
        return self._worth_of(np.stack(self._couples[:2], axis=1))

    @cached_property
    def _added(self) -> Floats:
        """What the debt of each player adds to the worth of its games."""
        assert self._debts is not None
        rates = np.ones(self._count) if self._rates is None else self._rates
        return weigh_debts(self._debts, rates)

    # Who meets

    @property
    def _overdue(self) -> Flags:
        longest = self._rules.max_wait_s
        if longest is None:
            return np.zeros(self._count, np.bool_)
        return self._waiting.waited_s >= longest

    def _match_overdue(self, taken: Places) -> Places:
        """Match as many as possible of those who have waited for too long, and these well.

        As many as the candidates let meet; and after that nobody of them is left over who may meet
        somebody who is not matched with one of them. Others of the control arm are left out.
        """
        overdue = self._overdue
        low, high = self._couples[:2] if overdue.any() else np.zeros((2, 0), np.int64)
        out = self._control & ~overdue
        out[taken] = True
        some = (overdue[low] | overdue[high]) & ~out[low] & ~out[high]
        chosen = self._best_overdue(low[some], high[some])
        out[chosen] = True
        free = np.flatnonzero(~out)
        left = free[overdue[free]]
        if not len(left) or not self._couples.capped.any():
            return chosen
        first = np.argsort(-self._waiting.waited_s[left], kind="stable")
        more = self._best_overdue(*self._allowed(left[first[: _MAX_LOOKS // len(free)]], free))
        return np.concatenate([chosen, more])

    def _best_overdue(self, low: Places, high: Places) -> Places:
        """Return the matching of most overdue players among some couples, and the best of these."""
        overdue, values = self._overdue, self._value(low, high)
        values /= max(values.max(initial=0.0), 1e-300)
        # One more of them counts for more than all values together.
        rank = (overdue[low] * 1.0 + overdue[high]) * self._count
        return self._best(low, high, rank + values)

    def _value(self, low: Places, high: Places) -> Floats:
        """Return the chance of a game of each couple times its worth and what players are owed."""
        couples = np.stack([low, high], axis=1)
        worth = self._worth_of(couples)
        if self._debts is not None and len(worth):
            worth = worth + worth.mean() * (self._added[low] + self._added[high])
        chances = self._learner.play_probabilities(couples, self._players)
        return worth if chances is None else worth * chances

    def _best(self, low: Places, high: Places, values: Floats) -> Places:
        """Return the matching of greatest value among some couples."""
        if not len(low):
            return np.zeros((0, 2), np.int64)
        graph = MeetingGraph.of_couples(self._count, low, high, np.ones(len(low)))
        return np.array(graph.best_matching(values).couples, np.int64).reshape(-1, 2)

    def _allowed(self, some: Places, others: Places) -> tuple[Places, Places]:
        """Return all couples of some players with others who may meet, each couple once."""
        one, other = (each.ravel() for each in np.meshgrid(some, others, indexing="ij"))
        kept = (one < other) | ((one > other) & ~np.isin(other, some))
        one, other = one[kept], other[kept]
        fine = filter_couples(self._filters, one, other)
        one, other = one[fine], other[fine]
        return np.minimum(one, other), np.maximum(one, other)

    def _ask_policy(self, taken: Places) -> Places:
        """Ask the policy to match those who are not taken."""
        free = ~self._control
        free[taken.ravel()] = False
        rest = np.flatnonzero(free)
        names = [self._players[x] for x in rest]
        options: dict[str, Any] = {} if self._debts is None else {"debts": self._debts[rest]}
        if self._on_graph:
            low, high = self._couples[:2]
            some = np.flatnonzero(free[low] & free[high])
            if not len(some):
                return taken[:0]
            place = np.cumsum(free) - 1
            couples = np.stack([place[low[some]], place[high[some]]], axis=1)
            options |= {"allowed": couples, "worth": self._worth[some]}
        elif len(rest) < 2:
            return taken[:0]
        else:
            options["apart"] = self._apart
        return self._placed(self._learner.suggest(names, **options))

    def _match_rest(self, taken: Places) -> Places:
        """Match players who may meet, but who were not among each other's candidates."""
        rest = np.setdiff1d(np.flatnonzero(~self._control), taken)
        if not self._couples.capped[rest].any() or len(rest) ** 2 > _MAX_LOOKS:
            return taken[:0]
        low, high = self._allowed(rest, rest)
        return self._best(low, high, self._value(low, high))

    # The control arm

    def _known_chances(self) -> list[float]:
        """Return how likely each couple of the control arm was, if all were as likely."""
        held = int(np.count_nonzero(self._control))
        swapped = held % 2 and self._overdue[self._control].any()
        if held < 2 or self._filters or swapped:
            return []
        return [chance_of_couple(held)] * (held // 2)

    def _pair_control(self) -> Places:
        """Pair the control arm at random."""
        held = np.flatnonzero(self._control)
        if len(held) < 2:
            return np.zeros((0, 2), np.int64)
        return pair_at_random(self._filters, held, self._draw, self._overdue)

    def _match_odd(self, taken: Places) -> Places:
        """Match an odd player of the control arm with one of the others, if they are odd too.

        Both are drawn at random: if the policy chose whom to leave over, its arm would be rid of
        its worst players. Where not all may meet, who is left over is known only in the end.
        """
        free = np.ones(self._count, np.bool_)
        free[taken.ravel()] = False
        held, others = (np.flatnonzero(free & arm) for arm in (self._control, ~self._control))
        if self._on_graph or not len(held) or len(others) % 2 == 0:
            return taken[:0]
        return pair_the_rest(self._filters, held[:1], others, self._draw)

    def _match_across(self, taken: Places) -> Places:
        """Match players of the control arm who are left over with others who are."""
        rest = np.setdiff1d(np.arange(self._count), taken)
        held, others = rest[self._control[rest]], rest[~self._control[rest]]
        if not len(held) or not len(others):
            return taken[:0]
        return pair_the_rest(self._filters, held, others, self._draw)

    def _leader(self) -> Places | None:
        """Return the numbers of the couples that look best now, None if the policy has none."""
        free = np.flatnonzero(~self._control)
        names = [self._players[x] for x in free]
        if len(names) < 2:
            return None
        options: dict[str, Any] = {"apart": self._apart}
        if self._on_graph:
            low, high = self._couples[:2]
            some = np.flatnonzero(~self._control[low] & ~self._control[high])
            place = np.cumsum(~self._control) - 1
            couples = np.stack([place[low[some]], place[high[some]]], axis=1)
            options = {"allowed": couples, "worth": self._worth[some]}
        leader = self._learner.leader_among(names, **options)
        return None if leader is None else self._numbers(self._placed(leader))

    # What was expected

    @cached_property
    def _random(self) -> tuple[Places, Places, Floats, Any] | None:
        """Return couples that stand for all who may meet, and what random pairing gives."""
        low, high = self._couples.met_at_random()
        chances = self._learner.play_probabilities(np.stack([low, high], axis=1), self._players)
        if chances is None:
            return None
        return low, high, chances, new_random_pairing(self._count, low, high, chances)

    def _forecast(self, leader: Places | None, chosen: Places) -> Forecast:
        if not self._on_graph:
            matching = self._named(chosen)
            return forecast_pairings(self._learner, self._met, self._players, matching)
        estimated = self._learner.rate_array(self._players)
        if estimated is None or self._random is None or leader is None or not len(leader):
            return Forecast()
        low, high, _, pairing = self._random
        met = np.array([self._met[player] for player in self._players])
        one, other = np.divmod(leader, self._count)
        rates, deviations = estimated
        best = float((rates[one] * rates[other]).mean())
        random = float(pairing.games.sum() / max((1.0 - pairing.free).sum(), 1e-300))
        return forecast_on_graph(
            rates,
            deviations,
            met,
            (low, high),
            chosen=(chosen[:, 0], chosen[:, 1]),
            random=random,
            best=best,
        )

    def _shares(
        self, chosen: Places, waiting: Places, chances: Floats | None
    ) -> list[float | None] | None:
        """Return the share of random pairing's chance that each player gets, with a floor."""
        if self._debts is None or chances is None:
            return None
        if self._on_graph:
            assert self._random is not None  # as there are chances
            random, given = self._random[3].games, np.zeros(self._count)
            given[chosen] = chances[:, None]
            nothing = np.full(self._count, np.nan)
            shares = np.divide(given, random, out=nothing, where=random > 0)
        else:
            shares = self._learner.shares(self._named(chosen), self._players, self._apart)
        places = np.concatenate([chosen.ravel(), waiting])
        rounded = np.round(shares[places], 4).tolist()
        return [None if isnan(each) else each for each in rounded]

    def _unmatched(self, waiting: Places, alone: Places) -> dict[str, int]:
        odd = len(waiting) - len(alone)
        counted = count_alone(self._filters, alone, self._count)
        return {ODD: odd, **counted} if odd else counted

    # Names of couples

    def _numbers(self, couples: Places) -> Places:
        return couple_numbers(couples, self._count)

    def _named(self, couples: Places) -> list[tuple[int, int]]:
        return [(self._players[one], self._players[other]) for one, other in couples.tolist()]

    def _placed(self, couples: Any) -> Places:
        place = self._place
        found = [(place[one], place[other]) for one, other in couples]
        return np.array(found, np.int64).reshape(-1, 2)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {player: x for x, player in enumerate(self._players)}
