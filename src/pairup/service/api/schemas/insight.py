"""Schemas of what a pool learnt and of its statistics."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from pairup.service.api.schemas.fields import Couple, PlayerId, PoolName, Share, Time
from pairup.service.api.schemas.games import GameView
from pairup.service.api.schemas.pools import PlayerCounts

Difference = Annotated[float, Field(ge=-1, le=1)]


class Interval(BaseModel):
    """A share with its 95% interval."""

    estimate: Share
    low: Share
    high: Share


class DifferenceInterval(BaseModel):
    """A difference of two shares with its 95% interval."""

    estimate: Difference
    low: Difference
    high: Difference


class RateView(BaseModel):
    """A player's estimated acceptance rate with its 95% interval."""

    player: PlayerId
    rate: Share
    low: Share
    high: Share


class CoupleView(BaseModel):
    """How many games of a couple have a known outcome, and how many of them were played."""

    players: Couple
    proposed: int
    played: int


class EstimatesView(BaseModel):
    """What was learnt: the players by rate, the couples by number of games, both descending."""

    policy: str
    players: list[RateView]
    couples: list[CoupleView]
    couples_known: int = Field(
        description="Number of couples with a known outcome; `couples` has at most `limit` of them."
    )


class CancelledCounts(BaseModel):
    """Numbers of cancelled games by cause; unreported: expired, where that counts as cancelled."""

    declined: int
    timed_out: int
    unstated: int
    unreported: int


class ReleasedCounts(BaseModel):
    """Numbers of released games by cause."""

    released: int
    left: int
    deleted: int


class GameCounts(BaseModel):
    """Numbers of games since the pool was created."""

    proposed: int
    open: int
    played: int
    cancelled: CancelledCounts
    released: ReleasedCounts
    expired: int
    learnt: int


class ReportCounts(BaseModel):
    """Numbers of reports that were out of the ordinary."""

    late: int
    repeated: int
    contradicting: int
    missing: int = Field(description="Expired games without any report, in time or late.")
    noted: int


class RecentExploration(BaseModel):
    """Exploration in the games decided last, 100 or a few more."""

    explored: int
    games: int
    share: Share | None


class Exploration(BaseModel):
    """Proposed couples that were not in the matching that looked best at that moment."""

    explored: int
    proposed: int
    share: Share | None
    latest: RecentExploration


class ComparisonView(BaseModel):
    """The latest half of the games with a forecast, against other pairings of the same players."""

    games: int
    played: Interval
    expected: Share = Field(
        description="Share expected of what was proposed, by the estimates of each moment."
    )
    random: Share = Field(
        description="Share that random pairing would have given, by the estimates of each moment."
    )
    best: Share | None = Field(description="Share that the best matchings would have given.")
    gain: DifferenceInterval = Field(
        description="Share expected less that of random pairing, with doubts about rates, and with "
        "what the games played differ from the share expected."
    )
    of_the_way: float | None = Field(
        description="Part of the way from random pairing to the best; null while games are too "
        "few, the two too close, or the gain too uncertain."
    )


class ShadowComparisonView(BaseModel):
    """The latest half of the compared games, against what the pool would have proposed."""

    games: int
    played: Interval = Field(description="Share of the games observed that were played.")
    observed: Share = Field(
        description="Share expected of the games observed, by the estimates of each moment."
    )
    expected: Share = Field(
        description="Share expected of what the pool would have proposed, by the same estimates; "
        "players whom it would have let wait play nothing."
    )
    random: Share = Field(description="The same for couples drawn at random.")
    best: Share = Field(description="The same for the best matching by those estimates.")
    gain: DifferenceInterval = Field(
        description="`expected` less `observed`; the interval covers errors of the estimates."
    )


class ShadowView(BaseModel):
    """What a pool in shadow observed since it was put there, or a rule on who meets changed."""

    rounds: int
    uncompared: int = Field(
        description="Rounds that were learnt, but for which nothing was suggested or estimated."
    )
    games: int
    played: int
    compared: ShadowComparisonView | None = Field(description="Null before the first comparison.")


class ArmView(BaseModel):
    """Decided games in which both players are in the same arm."""

    games: int
    played: int
    share: Share | None = Field(description="Share of them that were played; null without games.")
    units: int = Field(description="Players, counted once for each day on which they had games.")


class HoldoutView(BaseModel):
    """Players who are paired by the policy, against those of the control arm, paired at random."""

    since: Time = Field(description="Games proposed later count: when a rule on who meets changed.")
    policy: ArmView
    control: ArmView
    mixed_games: int = Field(description="Decided games of players of different arms.")
    gain: DifferenceInterval | None = Field(
        description="Share played of the policy's games less that of the control arm. The interval "
        "follows from the random draw of the arms, not from estimated rates; null below 5 units."
    )
    more_games: int | None = Field(
        description="About how many more games of both arms decide which is better, if the "
        "difference stays as it is; 0: it is decided; null: too early to predict."
    )


class BucketView(BaseModel):
    """Games decided one after the other."""

    index: int = Field(description="Number of games decided before.")
    games: int
    played: int
    share: Interval = Field(description="Share played, with its Wilson interval.")
    explored: int = Field(description="Games of couples that were not in the leader.")
    expected: Share | None = Field(
        description="Mean probability of the games by the estimates of the moment."
    )
    random: Share | None = Field(description="The same for couples drawn at random.")
    best: Share | None = Field(description="The same for the best matching by those estimates.")


class Course(BaseModel):
    """The share played over time."""

    width: int = Field(description="Number of games in a full bucket.")
    buckets: list[BucketView]


class WaitsView(BaseModel):
    """How long players who wait have waited, in seconds."""

    median: float
    p95: float = Field(description="95% of them have waited for at most this long.")
    longest: float


class StatsView(BaseModel):
    """Everything that a page about a pool shows."""

    pool: PoolName
    policy: str
    seq: int
    at: Time
    matchings: int
    players: PlayerCounts
    waits_s: WaitsView | None = Field(
        description="How long those who wait have waited; null if nobody waits."
    )
    unmatched: dict[str, int] = Field(
        description="Number of players who stayed waiting after a proposal of a pool with rules, "
        "counted once for each proposal, by the first constraint that left them nobody to meet, or "
        "`odd`.",
        examples=[{"odd": 12, "distance:rating": 3}],
    )
    worth: float | None = Field(
        description="Mean worth of the games proposed, 1 without rules; null before the first."
    )
    games: GameCounts
    imported: int = Field(description="Number of games of the past that were imported.")
    reports: int = Field(description="Number of reports that could be read, each about one game.")
    feedback: ReportCounts
    exploration: Exploration
    played_share: Interval | None = Field(
        description="Share of the learnt games that were played, with its Wilson interval."
    )
    random_share: Interval | None = Field(
        description="Share that random pairing of the players present would give, by the current "
        "estimates; the interval follows to first order from those of the players' rates, taken "
        "as independent."
    )
    couple_deviation: Interval | None = Field(
        description="By how much the chances of couples differ from the products of their players' "
        "rates, as a root mean square over all couples of players present: the median and the "
        "interval of what is likely, 0 at its low end if no deviation has shown. Null under "
        "policies that do not learn it, and for fewer than two players."
    )
    compared: ComparisonView | None = Field(
        description="Null where no game has a forecast, as under policies without players' rates."
    )
    shadow: ShadowView | None = Field(
        description="What was observed of another matchmaker; null if the pool was never in shadow."
    )
    holdout: HoldoutView | None = Field(description="Null for a pool without a holdout.")
    course: Course
    open_games: list[GameView] = Field(description="Open games, at most a page of them.")
