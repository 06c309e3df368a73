"""The state of a pool: a fold over its events, without clock, chance or disk.

A pool changes by its events only, and events are facts: a replay asks no policy what it would
propose. One that is read from its log, or from a snapshot and the rest of its log, is the pool that
was served, byte for byte, under every version of the policies. Where a policy's sampler stands is
not part of that: it is a cache, which is saved beside a pool and can be made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from pairup.errors import PairupError, ServiceError
from pairup.learning import Learner
from pairup.matching import Matching
from pairup.service.domain import events
from pairup.service.domain.clock import Moment
from pairup.service.domain.counters import Counters, count
from pairup.service.domain.events import Recorded, Version, dumps
from pairup.service.domain.forecast import Forecast, forecast_pairings
from pairup.service.domain.game_record import GameRecord, opened_games
from pairup.service.domain.pool_rules import Rules
from pairup.service.domain.version import current_version

WAITING, AWAY, PLAYING, PROPOSED = "waiting", "away", "playing", "proposed"
_FORMAT = 5
_REPORTS = {"answered", "decided", "noted", "late"}  # events of one report each


@dataclass(frozen=True)
class OpenGame:
    """A game that was proposed and has not ended, with what was expected of it."""

    record: GameRecord
    forecast: Forecast
    explores: bool
    opened_at: Moment  # by the clock that proposed it; an event may be dated later

    def is_due(self, now: Moment) -> bool:
        """Whether it has expired, or was proposed by a clock that was ahead.

        Clocks may differ by the lifetime of a game. A game that is proposed still further ahead
        would keep its players until the clock gets there, so that it expires at once.
        """
        expires_at = self.record.expires_at
        earliest = self.opened_at - (expires_at - self.opened_at)
        return not earliest <= now < expires_at

    @property
    def players(self) -> tuple[str, str]:
        """The players of the game."""
        return self.record.players

    def as_json(self) -> list[Any]:
        """Return all of it in order."""
        record, forecast = self.record, list(astuple(self.forecast))
        head = [record.matching_id, list(record.players), forecast, self.explores]
        return [*head, self.opened_at, record.expires_at, record.answers]

    @classmethod
    def from_json(cls, id: str, pool_id: str, stored: list[Any]) -> OpenGame:
        """Read a game back."""
        matching, (one, other), forecast, explores, opened_at, expires_at, answers = stored
        expected = Forecast(*forecast)
        record = GameRecord(id, pool_id, matching, (one, other), expected.chance, expires_at)
        return cls(replace(record, answers=answers), expected, explores, opened_at)


class Pool:
    """Players, open games, counters and a learner; `id` is its key in the store.

    Examples
    --------
    >>> pool = Pool("p1")
    >>> pool.apply(Recorded(1, 0, events.Created("chess", Rules().as_json())))
    >>> pool.apply(Recorded(2, 0, events.Joined("ann", "waiting")))
    >>> pool.status("ann")
    'waiting'
    >>> Pool.from_bytes("p1", pool.to_bytes()).to_bytes() == pool.to_bytes()
    True
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self.seq = 0
        self.at: Moment = 0
        self.name = ""
        self.deleted = False
        self.version: Version | None = None  # that wrote the log last
        self.rules = Rules()
        self.players: dict[str, str] = {}  # waiting, away or playing, if no game is proposed
        self.busy: dict[str, str] = {}  # the open game of each player who has one
        self.games: dict[str, OpenGame] = {}
        self.matching: str | None = None  # the latest one
        self.met: dict[str, int] = {}  # number of learnt outcomes of each player
        self.counters = Counters()
        self.learner = Rules().make_policy().learner(())

    def status(self, player: str) -> str:
        """Return a player's status: waiting, proposed, playing or away."""
        return PROPOSED if player in self.busy else self.players[player]

    @property
    def waiting(self) -> list[str]:
        """The players who can be proposed a game."""
        return [player for player in self.players if self.status(player) == WAITING]

    def counts(self) -> dict[str, int]:
        """Count the players by status."""
        counted = {WAITING: 0, PROPOSED: 0, PLAYING: 0, AWAY: 0}
        for player in self.players:
            counted[self.status(player)] += 1
        return counted

    def due(self, now: Moment) -> list[str]:
        """List the open games that have expired by now."""
        return [id for id, game in self.games.items() if game.is_due(now)]

    @property
    def digest(self) -> str:
        """A digest of all that follows from the log, what the learner was told included."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def propose(
        self,
        at: Moment,
        expires_at: Moment,
        available: list[str] | None,
        apart: list[list[str]],
        new_id: Callable[[], str],
    ) -> Recorded:
        """Ask the policy for a matching, and apply the event that tells of it, which is returned.

        A replay applies the same event, and asks nobody.
        """
        players = self.waiting if available is None else available
        matching = self.learner.suggest(players, apart)
        leader = self.learner.leader_among(players, apart) if len(players) > 1 else None
        expected = forecast_pairings(self.learner, self.met, players)
        chances = self.learner.play_probabilities(matching)
        games: list[events.ProposedGame] = [
            {
                "id": new_id(),
                "players": list(couple),
                "chance": chance,
                "explores": leader is None or couple not in leader,
            }
            for couple, chance in zip(matching, chances, strict=True)
        ]
        event = events.Proposed(
            games=games,
            matching=new_id(),
            waiting=list(matching.waiting),
            available=available,
            apart=apart,
            expires_at=expires_at,
            random=expected.random,
            random_deviation=expected.deviation,
            best=expected.best,
        )
        recorded = Recorded(self.seq + 1, at, event)
        self.apply(recorded)
        return recorded

    def apply(self, recorded: Recorded) -> None:
        """Take in an event, which must be the next one."""
        if recorded.seq != self.seq + 1:
            raise ServiceError(
                f"event {self.seq + 1} of pool {self.id} is missing, found event {recorded.seq}: "
                "the log is damaged, restore a copy of the database"
            )
        try:
            _APPLY[type(recorded.event)](self, recorded.event)
        except Exception as error:  # whatever a damaged event leads to, only this pool is lost
            said = str(error) if isinstance(error, PairupError) else repr(error)
            raise ServiceError(
                f"event {recorded.seq} of pool {self.id} ({recorded.event.kind}) does not fit what "
                f"happened before it, {said}: the log is damaged, see `pairup repair`"
            ) from error
        self.counters.reports += recorded.event.kind in _REPORTS
        self.seq, self.at = recorded.seq, recorded.at

    def _created(self, event: events.Created) -> None:
        self.name, self.rules = event.name, Rules(**event.rules)
        self.version = event.version
        self.learner = Learner(self.rules.make_policy(), (), self.rules.seed)

    def _continued(self, event: events.Continued) -> None:
        self.version = event.version

    def _configured(self, event: events.Configured) -> None:
        self.rules = self.rules.with_changes(event.changes)
        if {"policy", "options", "seed"} & set(event.changes):
            self.learner = self.learner.with_policy(self.rules.make_policy(), self.rules.seed)

    def _deleted(self, event: events.Deleted) -> None:
        self.deleted = True

    def _joined(self, event: events.Joined) -> None:
        self.learner.join(event.player)
        self.players[event.player] = event.status
        self.met[event.player] = 0

    def _moved(self, event: events.Moved) -> None:
        self.players[event.player] = event.status

    def _left(self, event: events.Left) -> None:
        self.learner.leave(event.player)
        del self.players[event.player], self.met[event.player]

    def _proposed(self, event: events.Proposed) -> None:
        matching = Matching([game["players"] for game in event.games], event.waiting)
        for player in matching.players:
            if self.status(player) != WAITING:
                raise ServiceError(f"player {player!r} is {self.status(player)}, not waiting")
        self.learner.record(matching)
        opened_at = event.expires_at - self.rules.expiry(0)
        for game, record in zip(event.games, opened_games(self.id, event), strict=True):
            expected = Forecast(game["chance"], event.random, event.random_deviation, event.best)
            self.games[record.id] = OpenGame(record, expected, game["explores"], opened_at)
            self.busy |= dict.fromkeys(record.players, record.id)
            self.counters.explored += game["explores"]
        self.matching = event.matching
        self.counters.matchings += 1
        self.counters.proposed += len(event.games)

    def _answered(self, event: events.Answered) -> None:
        game = self.games[event.game]
        self.games[event.game] = replace(game, record=game.record.after(event, self.at))

    def _decided(self, event: events.Decided) -> None:
        game = self._close(event.game)
        heard: dict[Hashable, bool] = dict(event.heard.items())
        self.learner.observe([game.players], [event.played], accepted=heard)
        self._learnt(game, event.played)
        if not event.played:
            count(self.counters.cancelled, str(event.cause))
            return
        self.counters.played += 1
        for player in game.players:
            if self.players[player] == WAITING:
                self.players[player] = self.rules.after_game

    def _noted(self, event: events.Noted) -> None:
        self.counters.noted += 1

    def _late(self, event: events.Late) -> None:
        self.counters.late += event.first
        if event.first and event.missing:
            self.counters.missing -= 1

    def _repeated(self, event: events.Repeated) -> None:
        reports = len(event.games) + event.more
        self.counters.repeated += reports
        self.counters.reports += reports

    def _contradicted(self, event: events.Contradicted) -> None:
        reports = 1 + len(event.others) + event.more
        self.counters.contradicting += reports
        self.counters.reports += reports

    def _released(self, event: events.Released) -> None:
        self.learner.withdraw([self._close(id).players for id in event.games])
        count(self.counters.released, event.cause, len(event.games))

    def _expired(self, event: events.Expired) -> None:
        games = [self._close(id) for id in event.games]
        self.counters.expired += len(games)
        self.counters.missing += len(games)
        if event.counts_as == "discard":
            self.learner.withdraw([game.players for game in games])
            return
        self.learner.observe([game.players for game in games], [False] * len(games))
        count(self.counters.cancelled, "unreported", len(games))
        for game in games:
            self._learnt(game, False)

    def _close(self, id: str) -> OpenGame:
        game = self.games.pop(id)
        for player in game.players:
            del self.busy[player]
        return game

    def _learnt(self, game: OpenGame, played: bool) -> None:
        self.counters.learnt += 1
        for player in game.players:
            self.met[player] += 1
        self.counters.decide(played, game.explores, game.forecast)

    def to_bytes(self) -> bytes:
        """Save what follows from the log: the same bytes for the same events."""
        state = {
            "format": _FORMAT,
            "seq": self.seq,
            "at": self.at,
            "name": self.name,
            "deleted": self.deleted,
            "version": self.version,
            "rules": self.rules.as_json(),
            # In the order in which they came: what is read back must go on alike.
            "players": list(self.players.items()),
            "games": [[id, game.as_json()] for id, game in self.games.items()],
            "matching": self.matching,
            "met": list(self.met.items()),
            "tally": asdict(self.counters),
        }
        return dumps(state).encode() + b"\n" + self.learner.evidence()

    @classmethod
    def from_bytes(
        cls, id: str, data: bytes, cache: bytes | None = None, version: Version | None = None
    ) -> Pool:
        """Load a saved pool, or refuse the bytes with a `ServiceError`.

        With the learner's cache and the version that wrote it, if that is the version of the code
        that runs, the policy goes on as if it had never stopped.
        """
        pool = cls(id)
        try:
            head, _, evidence = data.partition(b"\n")
            pool._restore(json.loads(head))
            usable = version == current_version(pool.rules.make_policy())
            pool.learner = Learner.from_evidence(evidence, cache if usable else None)
        except (AttributeError, LookupError, PairupError, TypeError, ValueError) as error:
            raise ServiceError(
                f"a snapshot of pool {id} cannot be read, {error!r}: the pool is read from its log"
            ) from error
        return pool

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over everything but the learner."""
        if state["format"] != _FORMAT:
            raise ValueError(f"format {state['format']}")
        self.version = state["version"]
        self.seq, self.at = state["seq"], state["at"]
        self.name, self.deleted = state["name"], state["deleted"]
        self.rules = Rules(**state["rules"])
        self.players = dict(state["players"])
        self.games = {id: OpenGame.from_json(id, self.id, game) for id, game in state["games"]}
        self.busy = {player: id for id, game in self.games.items() for player in game.players}
        self.matching = state["matching"]
        self.met = dict(state["met"])
        self.counters = Counters.from_json(state["tally"])


# Made at import, so that an event without a method fails then.
_APPLY: dict[type[events.Event], Callable[[Pool, Any], None]] = {
    event: getattr(Pool, f"_{event.kind}") for event in events.Event.__subclasses__()
}


def replay(id: str, log: Iterable[Recorded]) -> Pool:
    """Make a pool from its whole log."""
    pool = Pool(id)
    for recorded in log:
        pool.apply(recorded)
    return pool
