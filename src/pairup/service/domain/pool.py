"""The state of a pool: a fold over its events, without clock, chance or disk.

A pool changes by its events only, and events are facts: a replay asks no policy what it would
propose. One that is read from its log, or from a snapshot and the rest of its log, is the pool that
was served, byte for byte, under every version of the policies. Where a policy's sampler stands is
not part of that: it is a cache, which is saved beside a pool and can be made again.

In one file because there is a method for each kind of event, and all of them change the same state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import chain, compress
from typing import Any

import numpy as np

from pairup.errors import PairupError, ServiceError
from pairup.learning import Learner
from pairup.learning.fairness import Fairness
from pairup.matching import Matching
from pairup.service.domain import events
from pairup.service.domain.counters import Counters, count
from pairup.service.domain.estimates import DECIMALS, compare_matchings, rounded
from pairup.service.domain.events import SECOND, START, Head, Moment, Recorded, Version
from pairup.service.domain.games import GameKey, Ids, OpenGame, OpenGames, columns, open_matching
from pairup.service.domain.imports import ImportProgress, PastGames, loaded
from pairup.service.domain.matchmaking.attributes import flatten_lists, type_of
from pairup.service.domain.matchmaking.filters import Waiting
from pairup.service.domain.matchmaking.holdout import Holdout, arm_of, control_arm
from pairup.service.domain.matchmaking.matchmaker import (
    Choice,
    GivenCouples,
    Matchmaker,
    ask_policy,
)
from pairup.service.domain.matchmaking.propensities import propensities
from pairup.service.domain.matchmaking.recent_games import RecentGames
from pairup.service.domain.matchmaking.rules import MEETING_RULES, Rules
from pairup.service.domain.players import AWAY, WAITING, PlayerNames, Players
from pairup.service.domain.shadow import Shadow

_MIN_HALF_LIVES = 1 / 64  # by which what was learnt fades at once
_NO_LOG = Head(-1, b"")  # of a pool that an event has changed in part


class Pool:
    """Players, open games, counters and a learner; `number` is its key in the store.

    Examples
    --------
    >>> pool = Pool(1)
    >>> version = {"package": "1", "code": "0"}
    >>> pool.apply(Recorded.of(1, 0, events.Created("chess", Rules().as_json(), version)))
    >>> pool.apply(Recorded.of(2, 0, events.Joined([1], "waiting")))
    >>> pool.players.status(1)
    'waiting'
    """

    def __init__(self, number: int, secret: str = "") -> None:
        self.number, self.ids = number, Ids(number, secret)
        self.head = START  # of the log that it follows from
        self.items = 0  # players and games in the events so far
        self.at: Moment = 0
        self.faded_at: Moment = 0  # until when what was learnt has faded
        self.name = ""
        self.deleted = False
        self.version: Version | None = None  # that wrote the log last
        self.rules = Rules()
        self.players = Players()
        self.names = PlayerNames()  # beside what follows from the log
        self.games = OpenGames()
        self.matching: Moment = 0  # key of the latest one, 0 before the first
        self.imports: dict[str, ImportProgress] = {}  # by id
        self.counters = Counters()
        self.learner = Rules().make_policy().learner(())
        self.recent = RecentGames()  # while the rules ask who met whom lately
        self.fairness = Fairness(0.0)  # what players are owed
        self.shadow = Shadow()  # what was observed of another matchmaker
        self.holdout: Holdout | None = None  # what the control arm shows

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.head.seq

    @property
    def imported(self) -> int:
        """Number of games of the past that were imported."""
        return sum(progress.games for progress in self.imports.values())

    def propose(
        self,
        at: Moment,
        expires_at: Moment,
        available: list[int] | None,
        apart: list[list[int]],
        given: GivenCouples | None = None,
    ) -> events.Proposed:
        """Decide on a matching, by the rules and the policy, and return the event that records it.

        The event says all that was decided: a replay applies it, and asks nobody.
        """
        players = list(self.players.waiting) if available is None else available
        control = self._control_arm(at, players)
        made = self.choose(at, players, apart, given, control)
        expected, couples = made.forecast, [game["players"] for game in made.games]
        return events.Proposed(
            matching=max(at, self.matching + 1),
            games=made.games,
            waiting=made.waiting,
            available=available,
            apart=apart,
            expires_at=expires_at,
            random=rounded(expected.random),
            random_deviation=rounded(expected.deviation),
            best=rounded(expected.best),
            ruled=made.ruled,
            control=control,
            propensities=propensities(couples, made.others, made.known_chances),
        )

    def _control_arm(self, at: Moment, players: list[int]) -> list[int] | None:
        """List the players who are paired at random, None without a holdout."""
        if not self.rules.holdout:
            return None
        drawn = f"{self.number} {self.rules.seed}", self.rules.holdout
        return list(compress(players, control_arm(*drawn, players, at)))

    def choose(
        self,
        at: Moment,
        players: list[int],
        apart: list[list[int]],
        given: GivenCouples | None = None,
        control: list[int] | None = None,
        *,
        redraws: bool = True,
    ) -> Choice:
        """Choose a matching of some players, and if wanted what other draws would choose.

        Without a `control` arm, whatever the holdout.
        """
        met = self.players.met
        if given is None and control is None and self.rules.are_plain:
            return ask_policy(self.learner, players, met, apart, redraws)
        # Who is away, as players of a pool in shadow may be, has not waited.
        since = np.array([self.players.since.get(player, at) for player in players], np.int64)
        waited_s = np.maximum(at - since, 0) / SECOND
        waiting = Waiting(players, waited_s, self.players.attributes, self.recent, at)
        known = (self.learner, self.rules, self.fairness, waiting)
        maker = Matchmaker(*known, met=met, apart=apart, given=given, control=control)
        return maker.decide(redraws)

    def suggest(self, at: Moment, observed: list[list[int]]) -> events.Suggested:
        """Decide on a matching that is not proposed, of the players of couples observed."""
        players = sorted(chain.from_iterable(observed))
        # A control arm shows what proposals bring: here nothing is proposed.
        made = self.choose(at, players, [], redraws=False)
        expected, shares = made.forecast, made.ruled["shares"] if made.ruled else None
        couples = [game["players"] for game in made.games]
        compared = compare_matchings(self.learner, self.players.met, couples, observed)
        mean, deviation = (None, None) if compared is None else compared
        return {
            "games": [
                {"players": game["players"], "chance": game["chance"]} for game in made.games
            ],
            "waiting": made.waiting,
            "observed": None if mean is None else rounded(mean / len(observed)),
            "deviation": None if deviation is None else rounded(deviation / len(observed)),
            "random": rounded(expected.random),
            "best": rounded(expected.best),
            "shares": shares,
        }

    def can_match(self, players: Iterable[int]) -> bool:
        """Return whether players have what the rules need, as in shadow they need not."""
        needs, known = self.rules.needs, self.players.attributes.values
        return all(
            type_of(known.get(player, {}).get(each.attribute)) in each.types
            for player in players
            for each in needs
        )

    def rates(self, players: Sequence[int]) -> list[float] | None:
        """Return the estimated rates of players, also of kept ones; None if there are none."""
        found = self.learner.rate_array(players)
        return None if found is None else [round(rate, DECIMALS) for rate in found[0].tolist()]

    def unnamed(self) -> list[int]:
        """List the players whose names have not been read yet."""
        names, players = self.names, self.players
        new: Collection[int] = range(names.last + 1, players.last + 1)
        listed = players.attributes.listed
        if len(new) > len(players) + len(players.kept) + len(listed):
            new = dict.fromkeys([*players, *players.kept, *listed])
        return [each for each in new if each > names.last and players.is_named(each)]

    def apply(self, recorded: Recorded) -> None:
        """Apply an event, which must be the next one.

        Where that fails, the pool has no log any more: it must be thrown away.
        """
        head, self.head = self.head, _NO_LOG
        self._fade(recorded.at)
        self.at = recorded.at
        _APPLY[type(recorded.event)](self, recorded.event)
        self.items += recorded.event.items
        self.head = head.after(recorded)

    def replay(self, recorded: Recorded) -> None:
        """Apply an event that was read from a log, or refuse it if the log is damaged."""
        if recorded.seq != self.seq + 1:
            raise ServiceError(
                f"event {self.seq + 1} of pool {self.number} is missing, found event "
                f"{recorded.seq}: the log is damaged, restore a copy of the database"
            )
        try:
            self.apply(recorded)
        except (MemoryError, OSError, RecursionError):
            raise  # the fault of this machine, not of the log
        except Exception as error:  # whatever a damaged event leads to, only this pool is lost
            said = str(error) if isinstance(error, PairupError) else repr(error)
            raise ServiceError(
                f"event {recorded.seq} of pool {self.number} ({recorded.event.kind}) does not fit "
                f"what happened before it, {said}: the log is damaged, see `pairup repair`"
            ) from error

    def _fade(self, now: Moment) -> None:
        """Fade what was learnt by the time since it last faded, if the rules say so.

        It depends on the dates of events alone, and waits until it makes a difference.
        """
        if self.rules.memory_s is None:
            self.faded_at = now
            return
        half_lives = (now - self.faded_at) / (self.rules.memory_s * SECOND)
        if half_lives >= _MIN_HALF_LIVES:
            self.learner.fade(half_lives)
            self.faded_at = now

    def _created(self, event: events.Created) -> None:
        self.name, self.rules = event.name, Rules(**event.rules)
        self.version = event.version
        self.learner = Learner(self.rules.make_policy(), (), self.rules.seed)
        self.fairness = Fairness(self.rules.floor)
        self.holdout = Holdout(self.at) if self.rules.holdout else None

    def _continued(self, event: events.Continued) -> None:
        self.version = event.version

    def _configured(self, event: events.Configured) -> None:
        self.rules = self.rules.with_changes(event.changes)
        if {"policy", "options", "seed"} & set(event.changes):
            self.learner = self.learner.with_policy(self.rules.make_policy(), self.rules.seed)
        if self.fairness.floor != self.rules.floor or "mode" in event.changes:
            # Debts by another floor, or in games that were not proposed, mean nothing.
            self.fairness = Fairness(self.rules.floor)
        changed = (MEETING_RULES | {"mode"}) & event.changes.keys()
        if self.rules.mode == "shadow" and changed:  # compared from scratch
            self.shadow = Shadow()
        if self.rules.remembered is None:
            self.recent = RecentGames()
        if MEETING_RULES & set(event.changes):  # arms are compared under the same rules only
            self.holdout = Holdout(self.at) if self.rules.holdout else None
            for game in self.games.values():
                game.arm = None

    def _deleted(self, event: events.Deleted) -> None:
        self.deleted = True

    def _joined(self, event: events.Joined) -> None:
        for player in event.players:
            self._join(player, event.status)

    def _join(self, player: int, status: str) -> None:
        self.learner.join(player)
        self.players.join(player, status, self.at)

    def _attributed(self, event: events.Attributed) -> None:
        players, attributes = self.players, self.players.attributes
        before = attributes.listed_by(event.players)
        for player, changes in columns(event.players, event.attributes):
            if player not in players:
                raise ServiceError(f"player {player} is not in the pool")
            attributes.change(player, changes)
        for each in event.lists:
            attributes.set_list(each["player"], each["attribute"], each["players"])
        players.last = max(players.last, *flatten_lists(event.lists), 0)
        self._drop_names(before)

    def _moved(self, event: events.Moved) -> None:
        self.players.move(event.players, event.status, self.at)

    def _left(self, event: events.Left) -> None:
        for player, rate in columns(event.players, event.rates):
            self.learner.leave(player, forget=event.forget, rate=rate)
            self._drop_names(self.players.leave(player, event.forget))

    def _forgotten(self, event: events.Forgotten) -> None:
        for player, rate in columns(event.players, event.rates):
            self.learner.forget(player, rate=rate)
            self._drop_names(self.players.forget(player))

    def _drop_names(self, players: Iterable[int]) -> None:
        """Forget players whom nobody knows any more, and the names of those whom nobody lists."""
        for player in players:
            if not self.players.knows(player):
                self.recent.forget(player)
                self.fairness.forget(player)
                if self.holdout is not None:
                    self.holdout.forget(player)
            if not self.players.is_named(player):
                self.names.drop(player)

    def _erased(self, event: events.Erased) -> None:
        for player in event.players:
            if self.players.knows(player):
                raise ServiceError(f"player {player} has not left, or is remembered")
            self.players.attributes.erase(player)
            self.names.drop(player)

    def _proposed(self, event: events.Proposed) -> None:
        if event.matching <= self.matching:
            raise ServiceError(f"matching {event.matching} is not later than {self.matching}")
        matching = Matching([game["players"] for game in event.games], event.waiting)
        for player in matching.players:
            if player not in self.players.waiting:
                status = self.players.status(player)
                raise ServiceError(f"player {player} is {status}, not waiting")
        self.learner.record(matching)
        opened = open_matching(event, event.expires_at - self.rules.expiry(0))
        self.games.open(opened)
        self.players.begin_games(opened.games.values())
        self.counters.explored += sum(game.explores for game in opened.games.values())
        self.matching = event.matching
        if event.control is not None and self.holdout is not None:
            self.holdout.begin(self.at)
            control = frozenset(event.control)
            for game in opened.games.values():
                game.arm = arm_of(game.players, control)
        if event.ruled is not None:
            self._note_ruled(event, event.ruled)
        self.counters.worth += event.worth
        self.counters.matchings += 1
        self.counters.proposed += len(event.games)

    def _note_ruled(self, event: events.Proposed, ruled: events.Ruled) -> None:
        """Note what players are owed after a proposal, and who waited for which reason."""
        players = [player for game in event.games for player in game["players"]]
        self._note_shares([*players, *event.waiting], ruled["shares"])
        for cause, times in ruled["unmatched"].items():
            count(self.counters.unmatched, cause, times)

    def _note_shares(self, players: list[int], shares: list[float | None] | None) -> None:
        if shares is not None:
            self.fairness.note(players, np.array(shares, np.float64))  # None is not a number

    def _answered(self, event: events.Answered) -> None:
        for game, (one, other) in columns(event.games, event.answers):
            self.games[GameKey(*game)].answers = one, other
        self.counters.reports += len(event.games)

    def _decided(self, event: events.Decided) -> None:
        games = self._close(event.games)
        self._learn([game.players for game in games], event.played, event.heard)
        self._count_learnt(games, event.played)
        self.counters.reports += len(games)
        self.counters.played += sum(event.played)
        rows = columns(event.played, event.causes)
        for cause, times in Counter(str(cause) for played, cause in rows if not played).items():
            count(self.counters.cancelled, cause, times)
        self._note_played(list(compress((game.players for game in games), event.played)))

    def _learn(
        self,
        couples: list[tuple[int, int]],
        played: list[bool],
        told: list[list[bool | None]] | None,
    ) -> None:
        """Learn what became of couples that were proposed, and what their players answered."""
        heard: dict[Hashable, bool] = {
            player: said
            for couple, both in (columns(couples, told) if told else ())
            for player, said in zip(couple, both, strict=True)
            if said is not None
        }
        self.learner.observe(couples, played, accepted=heard)
        met = self.players.met
        for player in chain.from_iterable(couples):
            met[player] += 1

    def _note_played(self, couples: list[tuple[int, int]]) -> None:
        """Note who met whom, and what players do after their games."""
        if self.rules.remembered is not None:
            for couple in couples:
                self.recent.note(couple, self.at, self.rules.remembered)
        wishes = self.players.wishes
        waited = [player for couple in couples for player in couple if wishes[player] == WAITING]
        self.players.move(waited, self.rules.after_game, self.at)

    def _noted(self, event: events.Noted) -> None:
        self.counters.noted += len(event.games)
        self.counters.reports += len(event.games)

    def _late(self, event: events.Late) -> None:
        self.counters.late += sum(event.first)
        self.counters.reports += len(event.games)
        self.counters.missing -= sum(
            first and missing for first, missing in columns(event.first, event.missing)
        )

    def _repeated(self, event: events.Repeated) -> None:
        reports = len(event.games) + event.more
        self.counters.repeated += reports
        self.counters.reports += reports

    def _contradicted(self, event: events.Contradicted) -> None:
        reports = len(event.games) + event.more
        self.counters.contradicting += reports
        self.counters.reports += reports

    def _released(self, event: events.Released) -> None:
        self.learner.withdraw([game.players for game in self._close(event.games)])
        count(self.counters.released, event.cause, len(event.games))

    def _expired(self, event: events.Expired) -> None:
        games = self._close(event.games)
        self.counters.expired += len(games)
        self.counters.missing += len(games)
        if event.counts_as == "discard":
            self.learner.withdraw([game.players for game in games])
            return
        self._learn([game.players for game in games], [False] * len(games), None)
        count(self.counters.cancelled, "unreported", len(games))
        self._count_learnt(games, [False] * len(games))

    def _imported(self, event: events.Imported) -> None:
        games = PastGames.of(event)
        for player in event.players:
            if player not in self.players:
                self._join(player, AWAY)
        games.teach(self.learner)
        for player, outcomes in games.outcomes_of_players().items():
            self.players.met[player] += outcomes
        before = self.imports.get(event.source, ImportProgress())
        self.imports[event.source] = before.after(event)

    def _loaded(self, event: events.Loaded) -> None:
        self.learner = loaded(event)
        known: dict[Any, None] = dict.fromkeys(self.learner.players)
        for player in self.players:
            if player not in known:
                self.learner.join(player)  # also one whom it has kept, and who is here
        kept: dict[Any, int] = dict.fromkeys(self.learner.kept, 0)
        for player in list(self.players.kept):
            if player not in known and player not in kept:
                self._drop_names(self.players.forget(player))
        for player in known:
            if player not in self.players:
                self.players.join(player, AWAY, self.at)
        self.players.kept, self.players.last = kept, max(self.players.last, *kept, 0)
        self.players.met = dict.fromkeys(self.players, 0)
        for estimate in self.learner.estimates():
            one, other = estimate.couple
            for player in (one, other):
                self.players.met[player] += estimate.proposed
        if self.games:
            self.learner.record(Matching([game.players for game in self.games.values()]))

    def _observed(self, event: events.Observed) -> None:
        couples = [(one, other) for one, other in event.couples]
        self.learner.record(Matching(couples))
        self._learn(couples, event.played, event.heard)
        self.shadow.note(event)
        self._note_played(list(compress(couples, event.played)))
        if (would := event.suggested) is not None:
            players = [player for game in would["games"] for player in game["players"]]
            self._note_shares([*players, *would["waiting"]], would["shares"])

    def _close(self, games: Iterable[events.Game]) -> list[OpenGame]:
        closed = self.games.close(map(GameKey._make, games))
        self.players.end_games(player for game in closed for player in game.players)
        return closed

    def _count_learnt(self, games: Sequence[OpenGame], played: Sequence[bool]) -> None:
        self.counters.learnt += len(games)
        self.counters.decide(
            (was_played, game.explores, game.chance, game.matching.forecast)
            for game, was_played in zip(games, played, strict=True)
        )
        if self.holdout is not None:
            for game, was_played in zip(games, played, strict=True):
                if game.arm is not None:
                    self.holdout.note(game.arm, game.players, was_played)


# Made at import, so that an event without a method fails then.
_APPLY: dict[type[events.Event], Callable[[Pool, Any], None]] = {
    event: getattr(Pool, f"_{event.kind}") for event in events.Event.__subclasses__()
}


def replay(number: int, log: Iterable[Recorded]) -> Pool:
    """Make a pool from its whole log."""
    pool = Pool(number)
    for recorded in log:
        pool.replay(recorded)
    return pool
