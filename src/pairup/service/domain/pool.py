"""The state of a pool: a fold over its events, without clock, chance or disk.

`Pool.apply` is the only way in which a pool changes. So a pool read from its log, or from a
snapshot and the rest of its log, is the pool that was served, byte for byte.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Hashable, Iterable
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

from pairup.errors import PairupError, ServiceError
from pairup.learning import Learner
from pairup.matching import Matching
from pairup.service.domain import events as happened
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Event, Recorded, dumps
from pairup.service.domain.reports import Report
from pairup.service.domain.rules import Rules
from pairup.service.domain.tally import Forecast, Tally, count

WAITING, AWAY, PLAYING, PROPOSED = "waiting", "away", "playing", "proposed"
_FORMAT = 3
_REPORTS = {"answered", "decided", "noted", "late", "contradicted"}  # each is of one


@dataclass
class OpenGame:
    """A game that was proposed and is neither decided nor over."""

    matching: str
    players: tuple[str, str]
    forecast: Forecast
    explores: bool
    expires_at: Moment
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def known(self) -> Report:
        """What was reported so far."""
        return Report(None, self.answers)

    def as_json(self) -> list[Any]:
        """Return all of it in order."""
        return [
            self.matching,
            list(self.players),
            list(astuple(self.forecast)),
            self.explores,
            self.expires_at,
            self.answers,
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> OpenGame:
        """Read a game back."""
        matching, (one, other), forecast, *rest = stored
        return cls(matching, (one, other), Forecast(*forecast), *rest)


class Draft(NamedTuple):
    """A matching that the learner has proposed and no event tells of yet."""

    matching: Matching
    leader: Matching | None


class Pool:
    """Players, open games, counters and a learner.

    Parameters
    ----------
    id : str
        Its key in the store.

    Examples
    --------
    >>> pool = Pool("p1")
    >>> pool.apply(Recorded(1, 0, happened.Created("chess", Rules().as_json())))
    >>> pool.apply(Recorded(2, 0, happened.Joined("ann", "waiting")))
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
        self.rules = Rules()
        self.players: dict[str, str] = {}  # waiting, away or playing, if no game is proposed
        self.busy: dict[str, str] = {}  # the open game of each player who has one
        self.games: dict[str, OpenGame] = {}
        self.matching: str | None = None  # the latest
        self.met: dict[str, int] = {}  # how many outcomes of each player were learnt
        self.tally = Tally()
        self.learner = Rules().make_policy().learner(())
        self._draft: Draft | None = None

    def status(self, player: str) -> str:
        """Say what a player does: waiting, proposed, playing or away."""
        return PROPOSED if player in self.busy else self.players[player]

    @property
    def waiting(self) -> list[str]:
        """Who can be proposed a game."""
        return [
            player
            for player, status in self.players.items()
            if status == WAITING and player not in self.busy
        ]

    def counts(self) -> dict[str, int]:
        """Count the players by what they do."""
        counted = {WAITING: 0, PROPOSED: 0, PLAYING: 0, AWAY: 0}
        for player in self.players:
            counted[self.status(player)] += 1
        return counted

    def due(self, now: Moment) -> list[str]:
        """List the open games that have expired by now."""
        return [id for id, game in self.games.items() if game.expires_at <= now]

    def draft(self, available: list[str] | None, apart: Iterable[list[str]]) -> Draft:
        """Let the learner propose; the next event must be the one that tells of it."""
        players = self.waiting if available is None else available
        matching = self.learner.propose(players, apart)
        # In the fold too, so that what asking for it does to the learner is done by a replay.
        leader = self.learner.leader_among(players) if len(players) > 1 else None
        self._draft = Draft(matching, leader)
        return self._draft

    def apply(self, recorded: Recorded) -> None:
        """Take an event in; it must be the next one."""
        if recorded.seq != self.seq + 1:
            raise ServiceError(
                f"event {self.seq + 1} of pool {self.id} is missing, found event {recorded.seq}: "
                "the log is damaged, restore a copy of the database"
            )
        try:
            _APPLY[recorded.event.kind](self, recorded.event)
        except (KeyError, PairupError) as error:
            raise ServiceError(
                f"event {recorded.seq} of pool {self.id} ({recorded.event.kind}) does not fit what "
                f"happened before it, {error}: the log is damaged, or a pairup of another version "
                "wrote it and was not shut down in order"
            ) from error
        self.tally.reports += recorded.event.kind in _REPORTS
        self.seq, self.at = recorded.seq, recorded.at

    def _created(self, event: happened.Created) -> None:
        self.name, self.rules = event.name, Rules(**event.rules)
        self.learner = Learner(self.rules.make_policy(), (), self.rules.seed)

    def _configured(self, event: happened.Configured) -> None:
        self.rules = self.rules.changed(event.changes)
        if {"policy", "options", "seed"} & set(event.changes):
            self.learner = self.learner.with_policy(self.rules.make_policy(), self.rules.seed)

    def _deleted(self, event: happened.Deleted) -> None:
        self.deleted = True

    def _joined(self, event: happened.Joined) -> None:
        self.learner.join(event.player)
        self.players[event.player] = event.status
        self.met[event.player] = 0

    def _moved(self, event: happened.Moved) -> None:
        self.players[event.player] = event.status

    def _left(self, event: happened.Left) -> None:
        self.learner.leave(event.player)
        del self.players[event.player], self.met[event.player]

    def _proposed(self, event: happened.Proposed) -> None:
        drafted = self._draft or self.draft(event.available, event.apart)
        self._draft = None
        told = Matching([game["players"] for game in event.games], event.waiting)
        if drafted.matching != told:
            raise ServiceError(f"{drafted.matching} is proposed instead of {told}")
        for game in event.games:
            one, other = game["players"]
            forecast = Forecast(game["chance"], event.random, event.random_deviation, event.best)
            self.games[game["id"]] = OpenGame(
                event.matching, (one, other), forecast, game["explores"], event.expires_at
            )
            self.busy[one] = self.busy[other] = game["id"]
            self.tally.explored += game["explores"]
        self.matching = event.matching
        self.tally.matchings += 1
        self.tally.proposed += len(event.games)

    def _answered(self, event: happened.Answered) -> None:
        self.games[event.game].answers = event.answers

    def _decided(self, event: happened.Decided) -> None:
        game = self._close(event.game)
        heard: dict[Hashable, bool] = dict(event.heard.items())
        self.learner.observe([game.players], [event.played], accepted=heard)
        self._learnt(game, event.played)
        if not event.played:
            count(self.tally.cancelled, str(event.cause))
            return
        self.tally.played += 1
        for player in game.players:
            if self.players[player] == WAITING:
                self.players[player] = self.rules.after_game

    def _noted(self, event: happened.Noted) -> None:
        self.tally.noted += 1

    def _late(self, event: happened.Late) -> None:
        self.tally.late += event.first
        self.tally.missing -= event.first and event.missing

    def _repeated(self, event: happened.Repeated) -> None:
        self.tally.repeated += len(event.games)
        self.tally.reports += len(event.games)

    def _contradicted(self, event: happened.Contradicted) -> None:
        self.tally.contradicting += 1

    def _released(self, event: happened.Released) -> None:
        self.learner.withdraw([self._close(id).players for id in event.games])
        count(self.tally.released, event.cause, len(event.games))

    def _expired(self, event: happened.Expired) -> None:
        games = [self._close(id) for id in event.games]
        self.tally.expired += len(games)
        self.tally.missing += len(games)
        if event.counts_as == "discard":
            self.learner.withdraw([game.players for game in games])
            return
        self.learner.observe([game.players for game in games], [False] * len(games))
        count(self.tally.cancelled, "unreported", len(games))
        for game in games:
            self._learnt(game, False)

    def _close(self, id: str) -> OpenGame:
        game = self.games.pop(id)
        for player in game.players:
            del self.busy[player]
        return game

    def _learnt(self, game: OpenGame, played: bool) -> None:
        self.tally.learnt += 1
        for player in game.players:
            self.met[player] += 1
        self.tally.decide(played, game.explores, game.forecast)

    def to_bytes(self) -> bytes:
        """Save the pool: the same bytes for the same events."""
        if self._draft is not None:
            raise AssertionError("a matching is drafted that no event tells of")
        state = {
            "format": _FORMAT,
            "seq": self.seq,
            "at": self.at,
            "name": self.name,
            "deleted": self.deleted,
            "rules": self.rules.as_json(),
            # In the order in which they came, as the fold has them: what is read goes on alike.
            "players": list(self.players.items()),
            "games": [[id, game.as_json()] for id, game in self.games.items()],
            "matching": self.matching,
            "met": list(self.met.items()),
            "tally": self.tally.as_json(),
            "learner": base64.b64encode(self.learner.to_bytes()).decode(),
        }
        return dumps(state).encode()

    @classmethod
    def from_bytes(cls, id: str, data: bytes) -> Pool:
        """Load a saved pool, or refuse the bytes with a `ServiceError`."""
        pool = cls(id)
        try:
            pool._restore(json.loads(data))
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ServiceError(
                f"a snapshot of pool {id} cannot be read, {error!r}: it is made anew from the log"
            ) from error
        return pool

    def _restore(self, state: dict[str, Any]) -> None:
        if state["format"] != _FORMAT:
            raise ValueError(f"format {state['format']}")
        self.seq, self.at = state["seq"], state["at"]
        self.name, self.deleted = state["name"], state["deleted"]
        self.rules = Rules(**state["rules"])
        self.players = dict(state["players"])
        self.games = {id: OpenGame.from_json(game) for id, game in state["games"]}
        self.busy = {player: id for id, game in self.games.items() for player in game.players}
        self.matching = state["matching"]
        self.met = dict(state["met"])
        self.tally = Tally.from_json(state["tally"])
        self.learner = Learner.from_bytes(base64.b64decode(state["learner"]))


_APPLY: dict[str, Any] = {kind: getattr(Pool, f"_{kind}") for kind in happened.KINDS}


def replayed(id: str, log: Iterable[Recorded]) -> Pool:
    """Make a pool from its whole log."""
    pool = Pool(id)
    for recorded in log:
        pool.apply(recorded)
    return pool


__all__ = ["AWAY", "PLAYING", "PROPOSED", "WAITING", "Event", "OpenGame", "Pool", "replayed"]
