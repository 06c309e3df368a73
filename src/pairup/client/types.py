"""What the service answers, as types: the very fields of its OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["waiting", "proposed", "playing", "away"]
GameState = Literal["proposed", "played", "cancelled", "released", "expired"]
Said = Literal["accepted", "declined", "timed_out", "unknown"]
Outcome = Literal["played", "cancelled"]


class Counts(TypedDict):
    """Players by what they do."""

    waiting: int
    proposed: int
    playing: int
    away: int


class PoolView(TypedDict):
    """A pool."""

    name: str
    policy: str
    options: dict[str, Any]
    seed: int
    lifetime_s: float
    unreported: Literal["discard", "cancelled"]
    timeout_declines: bool
    after_game: Literal["waiting", "playing"]
    players: Counts
    open_games: int
    seq: int
    updated_at: str


class PoolItem(TypedDict):
    """A pool in a list."""

    name: str
    created_at: str
    seq: int


class PlayerView(TypedDict):
    """A player."""

    player: str
    status: Status
    game: str | None


class GameView(TypedDict):
    """A game."""

    id: str
    matching: str
    players: list[str]
    chance: float | None
    state: GameState
    outcome: Outcome | None
    answers: dict[str, Said]
    cause: str | None
    learnt: bool
    late: bool
    expires_at: str
    closed_at: str | None


class MatchingView(TypedDict):
    """A matching: games, and who stays waiting."""

    id: str
    pool: str
    games: list[GameView]
    waiting: list[str]
    proposed_at: str
    expires_at: str


class ReportedGame(TypedDict):
    """What is known of one game of a batch; sent, not answered."""

    game: str
    outcome: NotRequired[Outcome | None]
    answers: NotRequired[dict[str, Said]]


class ReceiptView(TypedDict):
    """What a report did."""

    game: str
    result: Literal["learnt", "noted", "late", "repeated"]
    state: GameState
    outcome: Outcome | None
    answers: dict[str, Said]
    cause: str | None
    learnt: bool


class ProblemView(TypedDict):
    """A refusal; some kinds have further fields."""

    type: str
    title: str
    status: int
    detail: str
    instance: str


class RefusedGame(TypedDict):
    """A report that was refused."""

    game: str
    result: Literal["refused"]
    problem: ProblemView


class Interval(TypedDict):
    """An estimate with its 95% interval."""

    estimate: float
    low: float
    high: float


class RateView(TypedDict):
    """A player's estimated acceptance rate with its 95% interval."""

    player: str
    rate: float
    low: float
    high: float


class CoupleView(TypedDict):
    """How often a couple was proposed, with known outcome, and played."""

    players: list[str]
    proposed: int
    played: int


class EstimatesView(TypedDict):
    """What was learnt: players, the best first; couples, those proposed most first."""

    policy: str
    players: list[RateView]
    couples: list[CoupleView]
    couples_known: int


class CancelledCounts(TypedDict):
    """Cancelled games by cause."""

    declined: int
    timed_out: int
    unstated: int
    unreported: int


class ReleasedCounts(TypedDict):
    """Released games by cause."""

    released: int
    left: int
    deleted: int


class GamesStats(TypedDict):
    """Games since the pool was made."""

    proposed: int
    open: int
    played: int
    cancelled: CancelledCounts
    released: ReleasedCounts
    expired: int
    learnt: int


class Feedback(TypedDict):
    """How healthy the reports are."""

    late: int
    repeated: int
    contradicting: int
    missing: int
    noted: int


class ExploredOfLate(TypedDict):
    """The same of the games decided last, 100 or a little more."""

    explored: int
    games: int
    share: float | None


class Exploration(TypedDict):
    """Proposed couples that are none of the matching that looked best at that moment."""

    explored: int
    proposed: int
    share: float | None
    latest: ExploredOfLate


class Compared(TypedDict):
    """The latest half of the games with a forecast, against other pairings of the same players."""

    games: int
    played: Interval
    random: float
    best: float | None
    gain: Interval
    of_the_way: float | None


class BucketView(TypedDict):
    """Games decided one after the other."""

    index: int
    games: int
    played: int
    share: Interval
    explored: int
    expected: float | None
    random: float | None
    best: float | None


class Course(TypedDict):
    """The share played over time."""

    width: int
    buckets: list[BucketView]


class StatsView(TypedDict):
    """Everything that a page about a pool shows."""

    pool: str
    policy: str
    seq: int
    at: str
    matchings: int
    players: Counts
    games: GamesStats
    reports: int
    feedback: Feedback
    exploration: Exploration
    played_share: Interval | None
    random_share: Interval | None
    compared: Compared | None
    course: Course
    open_games: list[GameView]


class EventView(TypedDict):
    """An event of the log."""

    seq: int
    at: str
    kind: str
    body: dict[str, Any]
