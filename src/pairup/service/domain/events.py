"""Events: everything that can happen to a pool, as data.

The log of a pool's events is the truth; its state is a fold over them (see `pool`). An event holds
whatever was decided when it happened, so that a replay needs no clock, no chance and no setting of
the service.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypedDict

from pairup.errors import ServiceError
from pairup.service.domain.clock import Moment
from pairup.service.domain.states import Answer, CancelCause, PlayerWish, ReleaseCause, Unreported

MAX_NAMED_GAMES = 100  # in an event about reports that changed no game


class Event:
    """Something that happened; its kind is stored in the log, and never changes."""

    kind: ClassVar[str]

    @property
    def items(self) -> int:
        """Number of players or games that it tells of, at least 1."""
        about = getattr(self, "games", None) or getattr(self, "players", None)
        return max(1, len(about)) if isinstance(about, list) else 1


class Version(TypedDict):
    """The code that writes for a pool with some policy."""

    package: str  # version of pairup
    code: str  # digest of the policies with their kernels, and of the learner


class ProposedGame(TypedDict):
    """A game as it was proposed."""

    id: str
    players: list[str]
    chance: float | None  # estimated probability that it is played
    explores: bool  # whether the couple is not in the leader, or the policy has no leader


@dataclass(frozen=True)
class Created(Event):
    """A pool was created."""

    kind: ClassVar[str] = "created"
    name: str
    rules: dict[str, Any]
    version: Version | None = None  # of the code that writes from here on; None: pairup 0.1


@dataclass(frozen=True)
class Continued(Event):
    """Another version of pairup, or of its policies, writes the log from here on."""

    kind: ClassVar[str] = "continued"
    version: Version


@dataclass(frozen=True)
class Configured(Event):
    """Some rules of the pool changed."""

    kind: ClassVar[str] = "configured"
    changes: dict[str, Any]


@dataclass(frozen=True)
class Deleted(Event):
    """The pool was deleted."""

    kind: ClassVar[str] = "deleted"


@dataclass(frozen=True)
class Joined(Event):
    """A player joined, who waits or is away."""

    kind: ClassVar[str] = "joined"
    player: str
    status: PlayerWish


@dataclass(frozen=True)
class Moved(Event):
    """A player waits again, or is away."""

    kind: ClassVar[str] = "moved"
    player: str
    status: PlayerWish


@dataclass(frozen=True)
class Left(Event):
    """A player left; what was learnt about them is forgotten, or kept until they return."""

    kind: ClassVar[str] = "left"
    player: str
    forget: bool = True
    # As estimated for a player who is forgotten: against it partners keep what they learnt in
    # common games. None: they forget it.
    rate: float | None = None


@dataclass(frozen=True)
class PlayersJoined(Event):
    """Players of a batch joined."""

    kind: ClassVar[str] = "players_joined"
    players: list[str]
    status: PlayerWish


@dataclass(frozen=True)
class PlayersMoved(Event):
    """Players of a batch wait again, or are away."""

    kind: ClassVar[str] = "players_moved"
    players: list[str]
    status: PlayerWish


@dataclass(frozen=True)
class PlayersLeft(Event):
    """Players of a batch left; what was learnt about them is forgotten, or kept."""

    kind: ClassVar[str] = "players_left"
    players: list[str]
    forget: bool = True
    rates: list[float] | None = None  # of players who are forgotten; see the event `left`


@dataclass(frozen=True)
class Erased(Event):
    """The record of a player who had left was erased."""

    kind: ClassVar[str] = "erased"
    player: str
    rate: float | None  # see the event `left`


@dataclass(frozen=True)
class Proposed(Event):
    """A matching was proposed."""

    kind: ClassVar[str] = "proposed"
    matching: str
    games: list[ProposedGame]
    waiting: list[str]
    available: list[str] | None  # None: all players who waited
    apart: list[list[str]]
    expires_at: Moment
    random: float | None  # estimated mean chance of couples of these players drawn at random
    random_deviation: float | None  # standard deviation of that estimate
    best: float | None  # estimated mean chance in the best matching of these players


@dataclass(frozen=True)
class Answered(Event):
    """Answers to an open game came, which do not decide whether it is played."""

    kind: ClassVar[str] = "answered"
    game: str
    answers: dict[str, Answer]  # all that are known, here and in the events below


@dataclass(frozen=True)
class Decided(Event):
    """A game was played or cancelled, which was learnt."""

    kind: ClassVar[str] = "decided"
    game: str
    played: bool
    cause: CancelCause | None  # of a cancellation
    answers: dict[str, Answer]
    heard: dict[str, bool]  # the answers that the learner is told: whether a player accepted


@dataclass(frozen=True)
class GamesDecided(Event):
    """Games of a batch of reports were played or cancelled, which was learnt.

    Each list has an item per game. Answers are in the order of the game's players, null where one
    is not known; instead of a list of nothing but nulls there is null.
    """

    kind: ClassVar[str] = "games_decided"
    games: list[str]
    played: list[bool]
    causes: list[CancelCause | None]  # of cancellations
    answers: list[list[Answer | None]] | None
    heard: list[list[bool | None]] | None  # the answers that the learner is told


@dataclass(frozen=True)
class Noted(Event):
    """Answers that agree with the outcome came after it: stored, not learnt."""

    kind: ClassVar[str] = "noted"
    game: str
    answers: dict[str, Answer]


@dataclass(frozen=True)
class Late(Event):
    """A report came after the game expired or was released: stored, not learnt."""

    kind: ClassVar[str] = "late"
    game: str
    played: bool | None  # as far as it is known now
    answers: dict[str, Answer]
    first: bool  # whether it is the first report of this game after its end
    missing: bool  # whether the game had expired without a report


@dataclass(frozen=True)
class Repeated(Event):
    """Reports of a request say nothing new."""

    kind: ClassVar[str] = "repeated"
    games: list[str]  # at most 100 of them
    more: int = 0  # number of reports whose games are not named


@dataclass(frozen=True)
class Contradicted(Event):
    """Reports of a request were refused because they contradict what is stored."""

    kind: ClassVar[str] = "contradicted"
    game: str  # of the first report
    sent: dict[str, Any]  # the first report
    others: list[str] = field(default_factory=list)  # games of the other reports, at most 100
    more: int = 0  # number of reports whose games are not named


@dataclass(frozen=True)
class Released(Event):
    """Open games were taken back: nothing is learnt."""

    kind: ClassVar[str] = "released"
    games: list[str]
    cause: ReleaseCause


@dataclass(frozen=True)
class Expired(Event):
    """Games were not reported in time."""

    kind: ClassVar[str] = "expired"
    games: list[str]
    counts_as: Unreported


@dataclass(frozen=True)
class Imported(Event):
    """Games of the past were learnt, the next ones of an import; unknown players joined, away."""

    kind: ClassVar[str] = "imported"
    source: str  # id of the import
    first: int  # row of the source at which these begin; the first row of all is 0
    rows: int  # number of rows of the source, those that were left out included
    players: list[str]
    player_a: list[int]  # of each game the place of a player in `players`
    player_b: list[int]
    played: list[bool | None] | None  # of each game; None: not known, of one or of any
    accepted_a: list[bool | None] | None
    accepted_b: list[bool | None] | None


@dataclass(frozen=True)
class Loaded(Event):
    """A saved learner took the place of the pool's; unknown players of it joined, away."""

    kind: ClassVar[str] = "loaded"
    evidence: str  # what it was told, as `Learner.evidence` saves it, compressed, in base64


_KINDS = {each.kind: each for each in Event.__subclasses__()}
KINDS = tuple(_KINDS)
UNKNOWN = "unknown"  # kind of an event as it is shown, never as it is stored


class Recorded(NamedTuple):
    """An event in the log of a pool."""

    seq: int  # 1, 2, ... in each pool
    at: Moment
    event: Event


def pack(event: Event) -> str:
    """Write an event's body as JSON, the same text for the same event."""
    return dumps(vars(event))


def unpack(pool: str, seq: int, kind: str, body: str) -> Event:
    """Read an event back, or refuse one that is damaged.

    Examples
    --------
    >>> unpack("p", 1, "joined", pack(Joined("ann", "waiting")))
    Joined(player='ann', status='waiting')
    """
    try:
        return _KINDS[kind](**json.loads(body))
    except (KeyError, TypeError, ValueError) as error:
        raise ServiceError(
            f"event {seq} of pool {pool} cannot be read, {error!r} in a {kind!r}: the log is "
            "damaged or was written by a newer pairup, restore a copy of the database"
        ) from error


def show_unknown(event: Any) -> Any:
    """Show an event of a kind that this version does not know as one of the kind `unknown`.

    A newer version wrote it. What is not such an event is returned as it is.

    Examples
    --------
    >>> show_unknown({"seq": 1, "kind": "promoted", "body": {"player": "ann"}})
    {'seq': 1, 'kind': 'unknown', 'body': {'kind': 'promoted', 'body': {'player': 'ann'}}}
    """
    if not isinstance(event, dict) or event.get("kind") in (*KINDS, UNKNOWN, None):
        return event
    body = {"kind": event["kind"], "body": event.get("body")}
    return {**event, "kind": UNKNOWN, "body": body}


def dumps(value: Any) -> str:
    """Write JSON without spaces, in ASCII: the same bytes in every database."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
