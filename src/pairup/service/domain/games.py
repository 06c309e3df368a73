"""Games: their keys and ids, the open ones, and the records of all of them.

A matching is known by the moment at which it was proposed, which is unique in its pool, and a game
by its matching and its place in it. The id that callers see has the number of the pool in front and
a code behind, which follows from them and from a secret of the pool. So nothing of an id is stored,
nobody can guess one, and whoever sends one has said which pool it is about.

A pool keeps only its open games in memory; what became of the others is in the store, in records of
matchings and games, the one projection of the log that outlives the games. Records follow from the
log alone: `project` updates them by the next event, for requests, pools and `verify` alike.
"""

from __future__ import annotations

import hashlib
import heapq
import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from pairup.service.domain.counters import Forecast
from pairup.service.domain.events import (
    Answered,
    Arm,
    Decided,
    Event,
    Expired,
    GameState,
    Late,
    Moment,
    Noted,
    Proposed,
    Recorded,
    Released,
)
from pairup.service.domain.reports import AnswerPair, Report

_CODE_BYTES = 8


class GameKey(NamedTuple):
    """A game of a pool."""

    matching: Moment  # at which it was proposed
    place: int  # in its matching


class Ids:
    """The ids of the matchings and games of a pool.

    Examples
    --------
    >>> ids = Ids(3, "a secret")
    >>> ids.game(GameKey(1_024, 7))
    '3-400-a5ad2135519db806-7'
    >>> ids.find_game("3-400-a5ad2135519db806-7"), ids.find_game("3-400-0000000000000000-7")
    (GameKey(matching=1024, place=7), None)
    """

    def __init__(self, pool: int, secret: str) -> None:
        self._pool, self._secret = pool, secret

    def matching(self, matching: Moment) -> str:
        """Return the id of a matching."""
        return _matching_id(self._pool, self._secret, matching)

    def game(self, game: GameKey) -> str:
        """Return the id of a game."""
        return f"{_matching_id(self._pool, self._secret, game.matching)}-{game.place:x}"

    def find_matching(self, id: str) -> Moment | None:
        """Return the matching that has an id, None if none of this pool can have it."""
        return _find_matching(self._pool, self._secret, id)

    def find_game(self, id: str) -> GameKey | None:
        """Return the game that has an id, None if none of this pool can have it."""
        head, _, last = id.rpartition("-")
        matching, place = self.find_matching(head), _find_place(last)
        return None if matching is None or place is None else GameKey(matching, place)


def pool_of(id: str) -> int | None:
    """Return the number of the pool that the id of a matching or a game names.

    Examples
    --------
    >>> pool_of("1f-400-a5ad2135519db806-7"), pool_of("nonsense")
    (31, None)
    """
    return _number(id.partition("-")[0])


def new_secret() -> str:
    """Draw the secret of a pool, which also tells it from all others."""
    return secrets.token_hex(16)


def _number(digits: str) -> int | None:
    """Read a number that a database can have; None if it is not one."""
    try:
        value = int(digits, 16)
    except ValueError:
        return None
    return value if 0 <= value < 1 << 63 else None


@lru_cache(1_024)  # the games of a matching are named and found one after the other
def _matching_id(pool: int, secret: str, matching: Moment) -> str:
    text = f"{pool} {matching}".encode()
    code = hashlib.blake2b(text, digest_size=_CODE_BYTES, key=secret.encode()).hexdigest()
    return f"{pool:x}-{matching:x}-{code}"


@lru_cache(1_024)
def _find_matching(pool: int, secret: str, id: str) -> Moment | None:
    _, _, rest = id.partition("-")
    matching = _number(rest.partition("-")[0])
    known = matching is not None and _matching_id(pool, secret, matching) == id
    return matching if known else None


@lru_cache(4_096)
def _find_place(digits: str) -> int | None:
    place = _number(digits)
    return None if place is None or f"{place:x}" != digits else place


OPEN: GameState = "proposed"
STATES: dict[bool | None, GameState] = {True: "played", False: "cancelled"}
CHANGING = (Answered, Decided, Expired, Late, Noted, Released)  # events that change records


class MatchingRecord(NamedTuple):
    """A matching as it was proposed."""

    key: Moment
    expires_at: Moment
    waiting: list[int]  # players

    @classmethod
    def of(cls, event: Proposed) -> MatchingRecord:
        """Make the record of a matching from the event that proposed it."""
        return cls(event.matching, event.expires_at, event.waiting)


class GameRecord(NamedTuple):
    """A game, and all that is known of it."""

    key: GameKey
    players: tuple[int, int]
    chance: float | None
    expires_at: Moment
    state: GameState = OPEN
    played: bool | None = None  # as reported, in time or late
    cause: str | None = None
    answers: AnswerPair = (None, None)  # in the order of the players
    learnt: bool = False
    late: bool = False
    closed_at: Moment | None = None

    @property
    def known(self) -> Report:
        """What was reported about it."""
        return Report(self.played, self.answers)


def opened_games(event: Proposed) -> list[GameRecord]:
    """List the records of the games that a matching opens, in its order."""
    matching, expires_at = event.matching, event.expires_at
    return [
        GameRecord(GameKey(matching, place), (one, other), game["chance"], expires_at)
        for place, game in enumerate(event.games)
        for one, other in [game["players"]]
    ]


def changed_games(event: Event) -> list[GameKey]:
    """List the games whose records an event changes."""
    return list(map(GameKey._make, event.games)) if isinstance(event, CHANGING) else []


def project(records: dict[GameKey, GameRecord], recorded: Recorded) -> None:
    """Update records of games by the next event, in place; those that are not there stay out.

    Examples
    --------
    >>> game = {"players": [1, 2], "chance": 0.5, "explores": False}
    >>> records = {}
    >>> project(records, Recorded.of(1, 7, Proposed(7, [game], [], None, [], 60, None, None, None)))
    >>> project(records, Recorded.of(2, 9, Released([[7, 0]], "left")))
    >>> records[7, 0].state, records[7, 0].cause, records[7, 0].closed_at
    ('released', 'left', 9)
    """
    event = recorded.event
    if isinstance(event, Proposed):
        records |= {game.key: game for game in opened_games(event)}
    changes = record_changes(recorded)
    for key, *values in zip(changed_games(event), *changes.values(), strict=True):
        if key in records:
            records[key] = records[key]._replace(**dict(zip(changes, values, strict=True)))


def record_changes(recorded: Recorded) -> dict[str, Sequence[Any]]:
    """Return what an event changes in the records of its games: by field, a value for each.

    Fields are in their order in a record. None are there if the event changes no records.
    """
    at, event = recorded.at, recorded.event
    each = len(event.games) if isinstance(event, CHANGING) else 0
    ended: dict[str, Any] = {}
    match event:
        case Answered() | Noted():
            return {"answers": _pairs(event.answers)}
        case Decided():
            return {
                "state": [STATES[played] for played in event.played],
                "played": event.played,
                "cause": event.causes or [None] * each,
                "answers": _pairs(event.answers) if event.answers else [(None, None)] * each,
                "learnt": [True] * each,
                "closed_at": [at] * each,
            }
        case Late():
            answers, late = _pairs(event.answers), [True] * each
            return {"played": event.played, "answers": answers, "late": late}
        case Released():
            ended = {"state": "released", "cause": event.cause, "learnt": False, "closed_at": at}
        case Expired():
            learnt = event.counts_as == "cancelled"
            ended = {"state": "expired", "cause": "unreported", "learnt": learnt, "closed_at": at}
    return {field: [value] * each for field, value in ended.items()}


def columns(first: list[Any], *others: list[Any] | None) -> Iterator[tuple[Any, ...]]:
    """Yield rows of columns of the same length; a column that is None has nothing but None."""
    nothing: list[Any] = [None] * len(first)
    return zip(first, *(nothing if each is None else each for each in others), strict=True)


def _pairs(rows: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [(one, other) for one, other in rows]


@dataclass(slots=True)
class OpenMatching:
    """A matching with open games, and what was expected of it."""

    key: Moment
    opened_at: Moment  # by the clock that proposed it; an event may be dated later
    expires_at: Moment
    forecast: Forecast
    games: dict[GameKey, OpenGame] = field(default_factory=dict)

    @property
    def earliest(self) -> Moment:
        """The moment before which its games are due as well.

        Clocks may differ by the lifetime of a game. A game that is proposed still further ahead
        would keep its players until the clock gets there, so that it expires at once.
        """
        return self.opened_at - (self.expires_at - self.opened_at)

    def is_due(self, now: Moment) -> bool:
        """Return whether its games have expired, or were proposed by a clock that was ahead."""
        return not self.earliest <= now < self.expires_at


_NOTHING = Report()


@dataclass(slots=True)
class OpenGame:
    """A game that was proposed and has not ended; what is not known yet is as in its record."""

    state: ClassVar[GameState] = OPEN
    played: ClassVar[bool | None] = None
    cause: ClassVar[str | None] = None
    learnt: ClassVar[bool] = False
    late: ClassVar[bool] = False
    key: GameKey
    matching: OpenMatching
    players: tuple[int, int]
    chance: float | None
    explores: bool
    answers: AnswerPair = (None, None)
    arm: Arm | None = None  # that it counts for; None: no holdout

    @property
    def known(self) -> Report:
        """What was reported about it."""
        return Report(None, self.answers) if any(self.answers) else _NOTHING

    @property
    def record(self) -> GameRecord:
        """The game as the store has it."""
        expires_at, answers = self.matching.expires_at, self.answers
        return GameRecord(self.key, self.players, self.chance, expires_at, answers=answers)


class OpenGames(dict[GameKey, OpenGame]):
    """Open games by key. Finding those that are due does not take a scan of all."""

    def __init__(self) -> None:
        super().__init__()
        self.matchings: dict[Moment, OpenMatching] = {}
        self._expiries: list[tuple[Moment, Moment]] = []  # heaps, from which matchings that have
        self._earliest: list[tuple[Moment, Moment]] = []  # ended are taken when they come up

    def open(self, matching: OpenMatching) -> None:
        """Add the games of a matching."""
        if not matching.games:
            return
        self.update(matching.games)
        self.matchings[matching.key] = matching
        heapq.heappush(self._expiries, (matching.expires_at, matching.key))
        heapq.heappush(self._earliest, (-matching.earliest, matching.key))

    def close(self, keys: Iterable[GameKey]) -> list[OpenGame]:
        """Remove games that ended."""
        closed = [self.pop(key) for key in keys]
        for game in closed:
            del game.matching.games[game.key]
            if not game.matching.games:
                del self.matchings[game.matching.key]
        return closed

    def due(self, now: Moment) -> list[GameKey]:
        """List the games that have expired by now."""
        due_at = self.due_at
        if due_at is None or (now < due_at and -self._earliest[0][0] <= now):
            return []
        found = (each for each in self.matchings.values() if each.is_due(now))
        return [key for matching in found for key in matching.games]

    @property
    def due_at(self) -> Moment | None:
        """The moment at which the next game expires, None without open games."""
        for heap in (self._expiries, self._earliest):
            while heap and heap[0][1] not in self.matchings:
                heapq.heappop(heap)
        return self._expiries[0][0] if self.matchings else None

    def as_json(self) -> list[Any]:
        """Return all of them, matching by matching, in the order in which they were proposed."""
        return [
            [
                [each.key, each.opened_at, each.expires_at, list(each.forecast)],
                [
                    [
                        *(game.key.place, game.players, game.chance, game.explores, game.answers),
                        *([game.arm] if game.arm else ()),  # as before there were arms
                    ]
                    for game in each.games.values()
                ],
            ]
            for each in self.matchings.values()
        ]

    @classmethod
    def from_json(cls, stored: list[Any]) -> OpenGames:
        """Read open games back."""
        games = cls()
        for (key, opened_at, expires_at, forecast), rows in stored:
            matching = OpenMatching(key, opened_at, expires_at, Forecast(*forecast))
            for place, (one, other), chance, explores, (said, replied), *arm in rows:
                game = OpenGame(GameKey(key, place), matching, (one, other), chance, explores)
                game.answers, game.arm = (said, replied), arm[0] if arm else None
                matching.games[game.key] = game
            games.open(matching)
        return games


def open_matching(event: Proposed, opened_at: Moment) -> OpenMatching:
    """Make a matching with its games from the event that proposed it."""
    forecast = Forecast(event.random, event.random_deviation, event.best)
    matching = OpenMatching(event.matching, opened_at, event.expires_at, forecast)
    for place, game in enumerate(event.games):
        key, (one, other) = GameKey(event.matching, place), game["players"]
        made = OpenGame(key, matching, (one, other), game["chance"], game["explores"])
        matching.games[key] = made
    return matching
