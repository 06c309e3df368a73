"""Events: everything that can happen to a pool, as data, with their dates and words.

The log of a pool's events is the truth; its state is a fold over them (see `pool`). An event holds
whatever was decided when it happened, so that a replay needs no clock, no chance and no setting of
the service. Players are numbers: their names stand in a table of their own, so that a name can be
erased while the log stays as it is.

In one file because it is the list of everything that can happen, with the words for it.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, TypedDict

from typing_extensions import TypeAliasType

from pairup.errors import ServiceError

# Exact, and the same in every database.
Moment = Annotated[int, "microseconds since 1970, UTC"]
SECOND = 1_000_000


class Clock(Protocol):
    """Something that tells the time of day."""

    def now(self) -> Moment:
        """Return the time of day."""


class WallClock:
    """The clock of this machine."""

    def now(self) -> Moment:
        """Return the time of day."""
        return time.time_ns() // 1_000


@lru_cache(1_024)  # a matching shows the same moment for each of its games
def format_moment(moment: Moment) -> str:
    """Write a moment as RFC 3339 does.

    Examples
    --------
    >>> format_moment(1_767_225_602_500_000)
    '2026-01-01T00:00:02.500000Z'
    """
    seconds, rest = divmod(moment, SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"


# The closed sets of words in events, records and answers. Each has a name of its own, which the
# OpenAPI description shows too.
PlayerStatus = TypeAliasType("PlayerStatus", Literal["waiting", "proposed", "playing", "away"])
# What a player can ask for; the other states follow from games.
PlayerWish = TypeAliasType("PlayerWish", Literal["waiting", "away"])
# ... and in a batch.
BatchWish = TypeAliasType("BatchWish", Literal["waiting", "away", "left"])
PlayerResult = TypeAliasType(
    "PlayerResult", Literal["joined", "moved", "changed", "unchanged", "left"]
)
GameState = TypeAliasType(
    "GameState", Literal["proposed", "played", "cancelled", "released", "expired"]
)
Outcome = TypeAliasType("Outcome", Literal["played", "cancelled"])
Answer = TypeAliasType("Answer", Literal["accepted", "declined", "timed_out", "unknown"])
ReportResult = TypeAliasType("ReportResult", Literal["learnt", "noted", "late", "repeated"])
CancelCause = TypeAliasType("CancelCause", Literal["declined", "timed_out", "unstated"])
ReleaseCause = TypeAliasType("ReleaseCause", Literal["released", "left", "deleted"])
# Why a game was not played, in a response.
Cause = TypeAliasType(
    "Cause",
    Literal["declined", "timed_out", "unstated", "released", "left", "deleted", "unreported"],
)
# What becomes of players in a request for a proposal who are not there.
UnknownPlayers = TypeAliasType("UnknownPlayers", Literal["refuse", "skip"])
Unreported = TypeAliasType("Unreported", Literal["discard", "cancelled"])
AfterGame = TypeAliasType("AfterGame", Literal["waiting", "playing"])
Mode = TypeAliasType("Mode", Literal["live", "shadow"])
Arm = Literal["policy", "control", "mixed"]  # of the two players of a game, with a holdout


MAX_NAMED_GAMES = 100  # in an event about reports that changed no game

# How these are stored; callers see names and ids instead.
Player = Annotated[int, "number of a player in its pool"]
Matching = Annotated[int, "key of a matching: the moment at which it was proposed"]
Game = Annotated[list[int], "key of a game: its matching and its place in it"]
Answers = Annotated[list[Answer | None], "of a game's two players in order, null if not known"]


class Event:
    """Something that happened; its kind is stored in the log, and never changes."""

    kind: ClassVar[str]

    @property
    def items(self) -> int:
        """Number of players or games that it is about, at least 1."""
        about = getattr(self, "games", None) or getattr(self, "players", None)
        return max(1, len(about)) if isinstance(about, list) else 1

    def as_json(self) -> dict[str, Any]:
        """Return what is stored: all but what says nothing, which later versions added."""
        absent = {name for name in _ADDED if getattr(self, name, None) is None}
        return {name: value for name, value in vars(self).items() if name not in absent}


# Fields that were added to events: where they are None they are not stored.
_ADDED = ("by", "ruled", "control", "propensities")


class Version(TypedDict):
    """The code that writes for a pool with some policy."""

    package: str  # version of pairup
    code: str  # digest of the policies with their kernels, and of the learner


class ProposedGame(TypedDict):
    """A game as it was proposed."""

    players: list[Player]
    chance: float | None  # estimated probability that it is played
    explores: bool  # whether the couple is not in the leader, or the policy has no leader


class PlayerList(TypedDict):
    """An attribute of a player that lists players, for example whom they block."""

    player: Player
    attribute: str
    players: list[Player]


class Ruled(TypedDict):
    """What the rules of a pool had to do with a proposal."""

    worth: list[float]  # of each game
    unmatched: dict[str, int]  # number of players who wait, by what left them without a partner
    alone: list[Player]  # players who may meet nobody
    # Share of random pairing's chance that each player of the games, in order, and each player who
    # waits got: null for players without a chance. Null in all: there is no floor.
    shares: list[float | None] | None


class SuggestedGame(TypedDict):
    """A game that a pool in shadow would have proposed."""

    players: list[Player]
    chance: float | None  # estimated probability that it is played


class Suggested(TypedDict):
    """What a pool in shadow would have proposed to the players of a round."""

    games: list[SuggestedGame]
    waiting: list[Player]
    observed: float | None  # estimated mean chance of the couples observed
    deviation: float | None  # of the games expected of it less those observed, per game observed
    random: float | None  # as in the event `proposed`
    best: float | None
    shares: list[float | None] | None  # as in the event `proposed`


class SentReport(TypedDict):
    """A report as it was sent."""

    outcome: Outcome | None
    answers: Answers


@dataclass(frozen=True)
class Created(Event):
    """A pool was created."""

    kind: ClassVar[str] = "created"
    name: str
    rules: dict[str, Any]
    version: Version  # of the code that writes from here on
    by: str | None = None  # name of the API key; None, and not stored: none was needed


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
    by: str | None = None  # as in the event `created`


@dataclass(frozen=True)
class Deleted(Event):
    """The pool was deleted."""

    kind: ClassVar[str] = "deleted"
    by: str | None = None  # as in the event `created`


@dataclass(frozen=True)
class Joined(Event):
    """Players joined, who wait or are away."""

    kind: ClassVar[str] = "joined"
    players: list[Player]
    status: PlayerWish


@dataclass(frozen=True)
class Attributed(Event):
    """Attributes of players were set."""

    kind: ClassVar[str] = "attributed"
    players: list[Player]
    # What changed of each player: numbers, texts, lists of texts, numbers by region; null: removed.
    attributes: list[dict[str, float | str | list[str] | dict[str, float] | None]]
    lists: list[PlayerList]  # attributes that list players


@dataclass(frozen=True)
class Moved(Event):
    """Players wait again, or are away."""

    kind: ClassVar[str] = "moved"
    players: list[Player]
    status: PlayerWish


@dataclass(frozen=True)
class Left(Event):
    """Players left; what was learnt about them is forgotten, or kept until they return."""

    kind: ClassVar[str] = "left"
    players: list[Player]
    forget: bool
    # As estimated for players who are forgotten: against them partners keep what they learnt in
    # common games. None: they forget it.
    rates: list[float] | None


@dataclass(frozen=True)
class Forgotten(Event):
    """Records of players who had left were forgotten."""

    kind: ClassVar[str] = "forgotten"
    players: list[Player]
    rates: list[float] | None  # see the event `left`


@dataclass(frozen=True)
class Erased(Event):
    """The names of players who had left were erased."""

    kind: ClassVar[str] = "erased"
    players: list[Player]


@dataclass(frozen=True)
class Proposed(Event):
    """A matching was proposed."""

    kind: ClassVar[str] = "proposed"
    matching: Matching
    games: list[ProposedGame]  # the place of each is its number in this list, from 0
    waiting: list[Player]
    available: list[Player] | None  # None: all players who waited
    apart: list[list[Player]]
    expires_at: Moment
    random: float | None  # estimated mean chance of couples of these players drawn at random
    random_deviation: float | None  # of what is expected of the games less `random`
    best: float | None  # estimated mean chance in the best matching of these players
    ruled: Ruled | None = None  # None, and not stored: the policy alone decided
    # Players who are in the control arm, of those matched here. None, and not stored: no holdout.
    control: list[Player] | None = None
    # Given a few more draws; see `propensities`. None, and not stored: nothing was left to chance.
    propensities: list[float] | None = None  # how likely each game was to be proposed

    @property
    def worth(self) -> float:
        """What the games are worth together; 1 each without rules."""
        return sum(self.ruled["worth"]) if self.ruled else float(len(self.games))


@dataclass(frozen=True)
class Answered(Event):
    """Answers to open games came, which do not decide whether they are played."""

    kind: ClassVar[str] = "answered"
    games: list[Game]
    answers: list[Answers]  # all that are known, here and in the events below


@dataclass(frozen=True)
class Decided(Event):
    """Games were played or cancelled, which was learnt.

    Each list has an item per game; instead of a list of nothing but nulls there is null.
    """

    kind: ClassVar[str] = "decided"
    games: list[Game]
    played: list[bool]
    causes: list[CancelCause | None] | None  # of cancellations
    answers: list[Answers] | None
    heard: list[list[bool | None]] | None  # whether each player accepted, as the learner is told


@dataclass(frozen=True)
class Noted(Event):
    """Answers that agree with the outcomes came after them: stored, not learnt."""

    kind: ClassVar[str] = "noted"
    games: list[Game]
    answers: list[Answers]


@dataclass(frozen=True)
class Late(Event):
    """Reports came after the games expired or were released: stored, not learnt."""

    kind: ClassVar[str] = "late"
    games: list[Game]
    played: list[bool | None]  # as far as it is known now
    answers: list[Answers]
    first: list[bool]  # whether it is the first report of this game after its end
    missing: list[bool]  # whether the game had expired without a report


@dataclass(frozen=True)
class Repeated(Event):
    """Reports of a request say nothing new."""

    kind: ClassVar[str] = "repeated"
    games: list[Game]  # at most 100 of them
    more: int  # number of reports whose games are not named


@dataclass(frozen=True)
class Contradicted(Event):
    """Reports of a request were refused because they contradict what is stored."""

    kind: ClassVar[str] = "contradicted"
    games: list[Game]  # at most 100 of them
    sent: list[SentReport]  # the report about each of these games
    more: int  # number of reports whose games are not named


@dataclass(frozen=True)
class Released(Event):
    """Open games were taken back: nothing is learnt."""

    kind: ClassVar[str] = "released"
    games: list[Game]
    cause: ReleaseCause


@dataclass(frozen=True)
class Expired(Event):
    """Games were not reported in time."""

    kind: ClassVar[str] = "expired"
    games: list[Game]
    counts_as: Unreported


@dataclass(frozen=True)
class Imported(Event):
    """Games of the past were learnt, the next ones of an import; unknown players joined, away."""

    kind: ClassVar[str] = "imported"
    source: str  # id of the import
    first: int  # row of the source at which these begin; the first row of all is 0
    rows: int  # number of rows of the source, those that were left out included
    players: list[Player]
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
    by: str | None = None  # as in the event `created`


@dataclass(frozen=True)
class Observed(Event):
    """A pool in shadow learnt a round of another matchmaker; each list has an item per game."""

    kind: ClassVar[str] = "observed"
    couples: list[list[Player]]
    played: list[bool]
    heard: list[list[bool | None]] | None  # as in the event `decided`
    suggested: Suggested | None  # decided before it learnt; null: the rules do not fit the players

    @property
    def items(self) -> int:
        """Number of games that it is about."""
        return max(1, len(self.couples))


_KINDS = {each.kind: each for each in Event.__subclasses__()}
KINDS = tuple(_KINDS)
UNKNOWN = "unknown"  # kind of an event as it is shown, never as it is stored


class Head(NamedTuple):
    """The end of a log, which tells it from every other log.

    `chain` is a hash of all its events, each of which extends the hash of those before it. Two logs
    with the same head are the same log.

    Examples
    --------
    >>> one, other = Recorded.of(1, 0, Deleted()), Recorded.of(1, 1, Deleted())
    >>> START.after(one).seq, START.after(one) == START.after(other)
    (1, False)
    """

    seq: int  # number of the last event
    chain: bytes

    def after(self, recorded: Recorded) -> Head:
        """Return the head of the log with one more event."""
        seq, at, event, body = recorded
        text = f"{seq} {at} {event.kind} {body}".encode()
        return Head(seq, hashlib.blake2b(self.chain + text, digest_size=CHAIN_BYTES).digest())


CHAIN_BYTES = 16
START = Head(0, bytes(CHAIN_BYTES))


class Recorded(NamedTuple):
    """An event in the log of a pool."""

    seq: int  # 1, 2, ... in each pool
    at: Moment
    event: Event
    body: str  # the event as JSON

    @classmethod
    def of(cls, seq: int, at: Moment, event: Event) -> Recorded:
        """Record an event."""
        return cls(seq, at, event, dumps(event.as_json()))


def unpack(pool: int, seq: int, kind: str, body: str) -> Event:
    """Read an event back, or refuse one that is damaged.

    Examples
    --------
    >>> unpack(1, 1, "joined", Recorded.of(1, 0, Joined([1], "waiting")).body)
    Joined(players=[1], status='waiting')
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
