"""Evaluation: what another policy, option or floor would have given, from the log of a pool.

The log is replayed into a pool with the other rules, which learns all that the log shows. Before
each proposal of the log it is asked what it would have proposed to the same players. What these
couples would have given is taken from a model, products of rates, whose posterior rests on the
whole log; where a couple was proposed in the log too, what came of it corrects the model, weighted
by how likely it was to be proposed (doubly robust estimation; where the log has no chance of a
couple, the model alone speaks: Wang, Agarwal and Dudik, 2017).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pairup.assessment.fit_checks import FitChecker, describe_fit
from pairup.assessment.game_table import GameTable
from pairup.assessment.outlook import Interval, interval_of
from pairup.assessment.posterior import Draw, PosteriorChain
from pairup.errors import ServiceError
from pairup.intervals import normal_quantile, wilson_ends
from pairup.learning.feedback import CODES, complete
from pairup.service.domain import events
from pairup.service.domain.events import SECOND, Moment, Recorded
from pairup.service.domain.games import GameKey
from pairup.service.domain.imports import PastGames
from pairup.service.domain.matchmaking.propensities import MAX_REDRAWS
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import read_snapshot
from pairup.service.store import Store, Transaction

Progress = Callable[[str, float], None]
Floats = NDArray[np.float64]
Couple: TypeAlias = tuple[int, int]  # the lower number first
_Shares: TypeAlias = tuple[list[int], list[float | None]]  # of random pairing's chance, by player

MAX_GAMES = 200_000  # that are compared, the latest ones; in as many before, the policy warms up
MIN_GAMES = 100  # decided, for anything to be said
# Of the games that the other rules propose, those that might have been proposed, from which on the
# log corrects the model: their share, and their number by weight, whose scatter shows the error.
MIN_OVERLAP, MIN_EFFECTIVE = 0.5, 30
_HOUR = 3_600 * SECOND


@dataclass(frozen=True)
class Evaluation:
    """What other rules would have given, in the latest half of a pool's games.

    Shares are of the games that were proposed: players whom the other rules would have let wait
    play nothing. `model` and `model_gain` trust that couples are products of rates;
    `doubly_robust` and `gain` take from the log what it knows, and the rest from the model. They
    are None where too few games are in both.
    """

    rules: Mapping[str, Any]  # of the other pool that differ
    games: int  # of the log that are compared, decided or not
    logged: Interval  # share of them that was played
    model: Interval
    model_gain: Interval  # what the model gives less what it gives for the games of the log
    overlap: float  # share of the other rules' games that might have been proposed
    effective_games: float  # games that were proposed as well, by their weights
    doubly_robust: Interval | None
    doubly_robust_gain: Interval | None
    fit: str  # whether couples are products of rates, in words
    uncompared: int  # rounds in which the other rules could not be asked

    @property
    def estimate(self) -> Interval:
        """The share of games that the other rules would have given."""
        return self.doubly_robust or self.model

    @property
    def gain(self) -> Interval:
        """The estimate less what was played."""
        return self.doubly_robust_gain or self.model_gain

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON takes them."""
        return asdict(self) | {"estimate": asdict(self.estimate), "gain": asdict(self.gain)}


def evaluate(
    store: Store,
    pool: str,
    changes: Mapping[str, Any],
    *,
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> Evaluation:
    """Estimate what a pool would have given with some of its rules changed.

    Parameters
    ----------
    store
        Whose pool it is; it is only read, and may be served meanwhile.
    pool
        Name of the pool.
    changes
        Rules as of `PATCH /v1/pools/{pool}`: `policy`, `options`, `seed`, `memory_s`, `fairness`.
    seed
        Of the draws from the posterior.
    progress
        Called with what is being done, and the share of it.

    Raises
    ------
    ServiceError
        There is no such pool, its policy cannot be changed so, or the log cannot tell.
    """
    with store.reading(still=True) as transaction:
        row = transaction.pool_named(pool)
        if row is None:
            raise ServiceError(f"no pool is called {pool!r}: give the name of one that exists")
        base = _base(transaction, row.number)
        games = count_games(transaction.events(row.number, base.seq))
        evaluator = Evaluator(row.number, changes, first=games - min(games // 2, MAX_GAMES))
        evaluator.begin(base)
        for recorded in transaction.events(row.number, base.seq):
            evaluator.add(recorded)
            progress("games", evaluator.proposed / max(games, 1))
    return evaluator.finish(np.random.default_rng(seed), progress)


def _base(transaction: Transaction, number: int) -> Pool:
    """Return the pool with which its log begins: an empty one, unless archives were dropped."""
    snapshots = transaction.snapshots(number) if transaction.first_event(number) > 1 else ()
    bases = (read_snapshot(number, each.head, each.body) for each in snapshots if each.base)
    return next(bases, None) or Pool(number)


def count_games(log: Iterable[Recorded]) -> int:
    """Count the games that were proposed or observed."""
    return sum(len(_couples(recorded.event)) for recorded in log)


def _couples(event: events.Event) -> list[list[int]]:
    if isinstance(event, events.Proposed):
        return [game["players"] for game in event.games]
    return event.couples if isinstance(event, events.Observed) else []


class Evaluator:
    """A pool with other rules, and what it would have proposed, fed with the events of a log.

    Parameters
    ----------
    number
        Number of the pool.
    changes
        The rules that differ; see `evaluate`.
    first
        Number of games after which rounds are compared.
    """

    def __init__(self, number: int, changes: Mapping[str, Any], first: int = 0) -> None:
        self.proposed = 0  # games so far
        self.wanted: defaultdict[Couple, float] = defaultdict(float)  # games of the other rules
        self.rows = list[ComparedGame]()  # of the log
        self._changes, self._first = dict(changes), first
        self._pool, self._logged = Pool(number), Rules()
        self._rounds = self._uncompared = 0
        self._open: dict[GameKey, ComparedGame] = {}
        self._history = _History()

    def begin(self, pool: Pool) -> None:
        """Begin with a pool as it was when its log began."""
        self._pool, self._logged = pool, pool.rules
        if pool.seq:
            changes = self._changed(pool.rules).as_json()
            self._apply(events.Configured(pool.rules.changes(changes, 2)), pool.at)

    def add(self, recorded: Recorded) -> None:
        """Take the next event of the log."""
        event, at, shares = recorded.event, recorded.at, list[_Shares]()
        if isinstance(event, events.Created):
            self._logged = Rules(**event.rules)
            event = replace(event, rules=self._changed(self._logged).stored())
        elif isinstance(event, events.Configured):
            self._logged = self._logged.with_changes(event.changes)
            event = events.Configured(self._remaining(event.changes))
        elif isinstance(event, events.Proposed):
            shares = self._propose(event, at)
            event = replace(event, ruled=None, control=None)
        elif isinstance(event, events.Observed):
            shares = self._observe(event, at)
            event = replace(event, suggested=None)
        elif isinstance(event, events.Decided):
            self._decide(event.games, event.played, event.heard, at)
        elif isinstance(event, events.Expired) and event.counts_as == "cancelled":
            self._decide(event.games, [False] * len(event.games), None, at)
        elif isinstance(event, events.Imported):
            self._history.add_import(event)
        self._apply(event, at)
        if isinstance(event, events.Loaded):  # it brought a policy of its own
            rules = self._pool.rules
            self._pool.learner = self._pool.learner.with_policy(rules.make_policy(), rules.seed)
        for players, owed in shares:
            self._pool.fairness.note(players, np.array(owed, np.float64))

    def _apply(self, event: events.Event, at: Moment) -> None:
        self._pool.apply(Recorded.of(self._pool.seq + 1, at, event))

    def _changed(self, rules: Rules) -> Rules:
        """Return rules of the log with the changes, live and without a control arm."""
        fresh: dict[str, Any] = {"options": {}} if "policy" in self._changes else {}
        live = {"mode": "live", "holdout": 0.0}
        changed = rules.with_changes({**fresh, **self._changes, **live})
        changed.check_options()
        changed.check_meetings()
        return changed

    def _remaining(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a change of the rules in the log changes here."""
        fixed = {*self._changes, "mode", "holdout"}
        if fixed & {"policy", "options"}:
            fixed |= {"policy", "options"}
        return {name: value for name, value in changes.items() if name not in fixed}

    def _propose(self, event: events.Proposed, at: Moment) -> list[_Shares]:
        """Compare a proposal, arm by arm; returns what players would have got."""
        self.proposed += len(event.games)
        if not self._asks:
            return []
        if event.ruled is not None and self._logged.are_plain:
            # The request said who may meet, which is not in the log.
            self._uncompared += self._compares
            return []
        control, chances, shares = {*(event.control or ())}, event.propensities, list[_Shares]()
        wanted: dict[Couple, float] = {}
        for held in (False, True):
            places = [
                place
                for place, game in enumerate(event.games)
                if all((player in control) == held for player in game["players"])
            ]
            waited = [player for player in event.waiting if (player in control) == held]
            couples = [event.games[place]["players"] for place in places]
            wanted, owed = self._ask(at, couples, waited, event.apart, aside=held)
            shares += owed
            for place, couple in zip(places, couples, strict=True):
                chance = 1.0 if chances is None else chances[place]
                key = GameKey(event.matching, place)
                self._compare(couple, wanted, chance, key)
        self._rounds += 1
        return shares

    def _observe(self, event: events.Observed, at: Moment) -> list[_Shares]:
        """Compare a round of another matchmaker, of which no other draws are known."""
        self.proposed += len(event.couples)
        heard = event.heard or [[None, None]] * len(event.couples)
        for couple, played, said in zip(event.couples, event.played, heard, strict=True):
            self._history.add(couple, played, said, at)
        if not self._asks:
            return []
        if not self._pool.can_match(chain.from_iterable(event.couples)):
            self._uncompared += self._compares
            return []
        wanted, shares = self._ask(at, event.couples, [], [], aside=False)
        for couple, played in zip(event.couples, event.played, strict=True):
            self._compare(couple, wanted, 1.0, played=played)
        self._rounds += 1
        return shares

    @property
    def _asks(self) -> bool:
        """Whether the other rules are asked: also before they are compared, as they would go on."""
        return self.proposed > self._first - MAX_GAMES

    @property
    def _compares(self) -> bool:
        return self.proposed > self._first

    def _ask(
        self,
        at: Moment,
        couples: Sequence[Sequence[int]],
        waited: Sequence[int],
        apart: list[list[int]],
        aside: bool,
    ) -> tuple[dict[Couple, float], list[_Shares]]:
        """Ask who would have been proposed; returns how likely each couple was, and the shares.

        `aside` leaves the draws of the policy as they are.
        """
        wanted: defaultdict[Couple, float] = defaultdict(float)
        players = sorted([*chain.from_iterable(couples), *waited])
        if not couples:
            return wanted, []
        with self._pool.learner.redrawing(MAX_REDRAWS + 1) if aside else nullcontext():
            made = self._pool.choose(at, players, apart, redraws=self._compares)
        drawn = [[game["players"] for game in made.games], *made.others]
        for one, other in chain.from_iterable(drawn):
            wanted[min(one, other), max(one, other)] += 1.0 / len(drawn)
        for couple, chance in wanted.items() if self._compares else ():
            self.wanted[couple] += chance
        owed = made.ruled["shares"] if made.ruled else None
        return wanted, [] if owed is None else [([*chain(*drawn[0]), *made.waiting], owed)]

    def _compare(
        self,
        couple: Sequence[int],
        wanted: Mapping[Couple, float],
        chance: float,
        key: GameKey | None = None,
        played: bool | None = None,
    ) -> None:
        """Note a game of the log; one that is open has a key."""
        if self._compares:
            one, other = min(couple), max(couple)
            weight = wanted.get((one, other), 0.0) / chance
            self.rows.append(ComparedGame(self._rounds, one, other, weight, played))
            if key is not None:
                self._open[key] = self.rows[-1]

    def _decide(
        self,
        games: Iterable[events.Game],
        played: Sequence[bool],
        heard: list[list[bool | None]] | None,
        at: Moment,
    ) -> None:
        """Note what came of games."""
        said = heard or [[None, None]] * len(played)
        for game, was_played, answers in zip(games, played, said, strict=True):
            key = GameKey(*game)
            self._history.add(self._pool.games[key].players, was_played, answers, at)
            if key in self._open:
                self._open.pop(key).played = was_played

    def finish(
        self, rng: np.random.Generator, progress: Progress = lambda what, share: None
    ) -> Evaluation:
        """Estimate what the other rules would have given, or refuse with a `ServiceError`."""
        decided = [row for row in self.rows if row.played is not None]
        if len(decided) < MIN_GAMES:
            raise ServiceError(
                f"{len(decided)} games of the log can be compared, which say nothing: wait for at "
                f"least {MIN_GAMES}"
            )
        sums = _Sums(self.rows, self.wanted, self._history, rng)
        for draw in sums.chain.draw(rng, lambda share: progress("rates", share), alike=False):
            sums.add(draw)
        return sums.finish(self._changes, self._uncompared)


@dataclass(slots=True)
class ComparedGame:
    """A game of the log, and how much it counts among those of the other rules."""

    round: int
    one: int
    other: int
    weight: float
    played: bool | None  # None: not known


class _History:
    """All games whose outcomes the log knows, as a table of past games."""

    def __init__(self) -> None:
        self._players, self._said, self._times = array("q"), array("b"), array("d")

    def add(
        self, couple: Iterable[int], played: bool | None, answers: Iterable[bool | None], at: float
    ) -> None:
        """Note a game; `at` is not a number where the time is not known."""
        self._players.extend(couple)
        self._said.extend(CODES[each] for each in (*answers, played))
        self._times.append(at)

    def add_import(self, event: events.Imported) -> None:
        """Note games of the past."""
        games = PastGames.of(event)
        for couple, (*answers, played) in zip(games.couples(), games.said(), strict=True):
            self.add(couple, played, answers, np.nan)

    def table(self, players: Floats) -> GameTable:
        """Return the table of these players, in this order."""
        both = np.searchsorted(players, np.array(self._players).reshape(-1, 2))
        said = np.array(self._said).reshape(-1, 3)
        _, known = complete(said[:, :2], said[:, 2])
        unknown = np.full(len(both), np.nan)
        return GameTable.of(
            len(players),
            both,
            known,
            distance=unknown,
            hours=np.array(self._times) / _HOUR,
            same_region=np.full(len(both), -1),
            rows=len(both),
        )

    def players(self) -> NDArray[np.int64]:
        """Return the players, each once, ascending."""
        return np.unique(np.array(self._players))


class _Sums:
    """Sums over the games of the log and of the other rules, for each draw of the rates."""

    def __init__(
        self,
        rows: Sequence[ComparedGame],
        wanted: Mapping[Couple, float],
        history: _History,
        rng: np.random.Generator,
    ) -> None:
        couples = np.array(list(wanted), np.int64).reshape(-1, 2)
        logged = np.array([(row.one, row.other) for row in rows], np.int64)
        players = np.unique(np.concatenate([history.players(), couples.ravel(), logged.ravel()]))
        table = history.table(players)
        self.chain, self._number = PosteriorChain(table, rng), 0
        self._checker = FitChecker(table, self.chain, rng)
        self._wanted = np.searchsorted(players, couples).T, np.array(list(wanted.values()))
        self._logged = np.searchsorted(players, logged).T
        self._known = np.array([row.played is not None for row in rows])
        self._played = np.array([bool(row.played) for row in rows], np.float64)
        self._round = np.array([row.round for row in rows])
        # Games of which nothing is known would have done as the others: those count for them.
        scale = self._known / self._known.mean()
        self._weight, self._once = scale * np.array([row.weight for row in rows]), scale
        self._expected = np.zeros(len(rows))
        self._draws = list[tuple[float, float, float]]()

    def add(self, draw: Draw) -> None:
        """Add what a draw of the rates expects."""
        (one, other), often = self._wanted
        chances = draw.rates[self._logged[0]] * draw.rates[self._logged[1]]
        model = float(often @ (draw.rates[one] * draw.rates[other]))
        self._draws.append((model, float(chances.sum()), float(self._weight @ chances)))
        self._expected += chances
        self._checker.add(draw.rates)
        self._number += 1

    def finish(self, rules: Mapping[str, Any], uncompared: int) -> Evaluation:
        """Return the evaluation, or refuse it where neither model nor log can tell."""
        games, weight = len(self._known), self._weight
        model, expected, covered = np.array(self._draws).T / games
        total = float(self._wanted[1].sum())
        overlap = min(float(weight.sum()) / total, 1.0)
        effective = float(weight.sum() ** 2 / max((weight**2).sum(), 1e-300))
        checks = self._checker.finish()
        fit, wrong = describe_fit(checks), max((x.deviation for x in checks if x.alarm), default=0)
        enough = effective >= MIN_EFFECTIVE and overlap >= MIN_OVERLAP
        if fit.startswith("does not") and not enough:
            raise ServiceError(
                f"the log cannot tell: the model, that couples play as products of rates say, {fit}"
                f", and only {overlap:.0%} of the games that these rules propose might have been "
                "proposed: hold out a control arm (the rule holdout) for some days, then evaluate"
            )
        robust = robust_gain = None
        if enough:
            doubt, rest = (1.0 - overlap) * wrong, model - covered
            robust = self._corrected(rest, weight, doubt, (0.0, 1.0))
            robust_gain = self._corrected(rest, weight - self._once, doubt, (-1.0, 1.0))
        decided = int(self._known.sum())
        share = float(self._played.sum()) / decided
        return Evaluation(
            rules=dict(rules),
            games=games,
            logged=Interval(share, *map(float, wilson_ends(share, decided))),
            model=_widened(interval_of(model), wrong, (0.0, 1.0)),
            model_gain=_widened(interval_of(model - expected), wrong, (-1.0, 1.0)),
            overlap=overlap,
            effective_games=effective,
            doubly_robust=robust,
            doubly_robust_gain=robust_gain,
            fit=fit,
            uncompared=uncompared,
        )

    def _corrected(
        self, rest: Floats, weight: Floats, doubt: float, limits: tuple[float, float]
    ) -> Interval:
        """Add to what the model says of the `rest` what came of the games, by their weights.

        Two errors count: that of the model, as its draws scatter; and that of the games about what
        the model expects, round by round, as couples of a round were drawn together.
        """
        games = len(weight)
        scatter = weight * (self._played - self._expected / self._number)
        noise = float((np.bincount(self._round, scatter) ** 2).sum()) / games**2
        estimate = float(rest.mean() + weight @ self._played / games)
        half = normal_quantile() * float(np.sqrt(rest.var() + noise))
        return _widened(Interval(estimate, estimate - half, estimate + half), doubt, limits)


def _widened(found: Interval, doubt: float, limits: tuple[float, float]) -> Interval:
    """Widen an interval by the error of a model that does not fit, within limits."""
    low, high = max(found.low - doubt, limits[0]), min(found.high + doubt, limits[1])
    return Interval(found.estimate, low, high)
