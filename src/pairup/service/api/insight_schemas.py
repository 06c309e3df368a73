"""What is answered about what was learnt and what happened, as the OpenAPI description shows it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from pairup.service.api.schemas import Counts, GameView, PlayerId, PoolName, Share, Time


class Interval(BaseModel):
    """An estimate with its 95% interval."""

    estimate: Share
    low: Share
    high: Share


class RateView(BaseModel):
    """A player's estimated acceptance rate with its 95% interval."""

    player: PlayerId
    rate: Share
    low: Share
    high: Share


class CoupleView(BaseModel):
    """How often a couple was proposed, with known outcome, and played."""

    players: list[PlayerId]
    proposed: int
    played: int


class EstimatesView(BaseModel):
    """What was learnt: players, the best first; couples, those proposed most first."""

    policy: str
    players: list[RateView]
    couples: list[CoupleView]
    couples_known: int = Field(description="Of which `couples` lists at most `limit`.")


class CancelledCounts(BaseModel):
    """Cancelled games by cause; unreported: expired, where the pool counts that so."""

    declined: int
    timed_out: int
    unstated: int
    unreported: int


class ReleasedCounts(BaseModel):
    """Released games by cause."""

    released: int
    left: int
    deleted: int


class GamesStats(BaseModel):
    """Games since the pool was made."""

    proposed: int
    open: int
    played: int
    cancelled: CancelledCounts
    released: ReleasedCounts
    expired: int
    learnt: int


class Feedback(BaseModel):
    """How healthy the reports are."""

    late: int
    repeated: int
    contradicting: int
    missing: int = Field(description="Expired games of which no report came, nor came late.")
    noted: int


class ExploredOfLate(BaseModel):
    """The same of the games decided last, 100 or a little more."""

    explored: int
    games: int
    share: Share | None


class Exploration(BaseModel):
    """Proposed couples that are none of the matching that looked best at that moment."""

    explored: int
    proposed: int
    share: Share | None
    latest: ExploredOfLate


Difference = Annotated[float, Field(ge=-1, le=1)]


class Gain(BaseModel):
    """A difference of shares with its 95% interval."""

    estimate: Difference
    low: Difference
    high: Difference


class Compared(BaseModel):
    """The latest half of the games with a forecast, against other pairings of the same players."""

    games: int
    played: Interval
    random: Share = Field(
        description="What random pairing would have given, by the estimates of each moment."
    )
    best: Share | None = Field(description="The same of the best matching.")
    gain: Gain = Field(description="Played less random; the interval covers both.")
    of_the_way: float | None = Field(
        description="Part of the way from random pairing to the best; null while it says nothing: "
        "too few games, too little room, or a gain too unsure."
    )


class BucketView(BaseModel):
    """Games decided one after the other."""

    index: int = Field(description="Number of games decided before.")
    games: int
    played: int
    share: Interval = Field(description="Played, with its Wilson interval.")
    explored: int = Field(description="Of couples that were not of the leader.")
    expected: Share | None = Field(description="Mean chance by the estimates of the moment.")
    random: Share | None = Field(description="The same of couples drawn at random.")
    best: Share | None = Field(description="The same in the best matching by those estimates.")


class Course(BaseModel):
    """The share played over time."""

    width: int = Field(description="Games of a full bucket.")
    buckets: list[BucketView]


class StatsView(BaseModel):
    """Everything that a page about a pool shows."""

    pool: PoolName
    policy: str
    seq: int
    at: Time
    matchings: int
    players: Counts
    games: GamesStats
    reports: int = Field(description="All that came and could be read, of a game each.")
    feedback: Feedback
    exploration: Exploration
    played_share: Interval | None = Field(description="Of the games learnt, Wilson interval.")
    random_share: Interval | None = Field(
        description="What random pairing of the players present would give, by the estimates of "
        "now; interval to first order from those of the players' rates, taken as independent."
    )
    compared: Compared | None = Field(
        description="Null where no game has a forecast, as under policies without players' rates."
    )
    course: Course
    open_games: list[GameView] = Field(description="The matching now; at most a page of it.")


class EventView(BaseModel):
    """An event of the log."""

    seq: int
    at: Time
    kind: str
    body: dict[str, Any]


class EventPage(BaseModel):
    """Some events, in order."""

    events: list[EventView]
    last: int = Field(description="Send it as `after` for what comes next.")
    more: bool
