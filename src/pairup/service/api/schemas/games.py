"""Schemas of matchings, their games, and the reports about them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pairup.service.api.schemas.fields import (
    Body,
    Couple,
    GameId,
    Items,
    MatchingId,
    PlayerId,
    PoolName,
    SentCouple,
    SentPlayer,
    Share,
    Time,
)
from pairup.service.api.schemas.problems import ProblemView
from pairup.service.domain.events import (
    Answer,
    Cause,
    GameState,
    Outcome,
    ReportResult,
    UnknownPlayers,
)
from pairup.service.domain.names import PRINTABLE


class GameView(BaseModel):
    """A game."""

    id: GameId
    matching: MatchingId
    players: Couple
    chance: Share | None = Field(
        description="Probability that it is played, as estimated when it was proposed."
    )
    state: GameState
    outcome: Outcome | None = Field(description="Outcome as reported, in time or late.")
    answers: dict[str, Answer]
    cause: Cause | None = Field(description="Why it was cancelled, released or expired.")
    learnt: bool
    late: bool
    expires_at: Time
    closed_at: Time | None


class NewMatching(Body):
    """A matching to be proposed, by default of everyone who waits."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}, {"apart": [["ann", "bob"]]}]})

    available: Items[SentPlayer] | None = Field(
        None, description="Players to be matched, all of them waiting; by default all who wait."
    )
    apart: Items[SentCouple] = Field(
        default_factory=list, description="Couples that must not meet."
    )
    unknown: UnknownPlayers = Field(
        "refuse",
        description="What becomes of players in `available` and `apart` who are not in the pool, "
        "or not waiting: the request is refused, or they are skipped.",
    )


class MatchingView(BaseModel):
    """A matching: its games, and the players who stay waiting."""

    id: MatchingId
    pool: PoolName
    games: list[GameView]
    waiting: list[PlayerId]
    proposed_at: Time
    expires_at: Time


class ProposalView(MatchingView):
    """A matching as it was proposed."""

    skipped: list[PlayerId] = Field(
        description="Players who were sent and skipped, because they are not in the pool or not "
        "waiting."
    )


class NewReport(Body):
    """What is known of a game: whether it was played, what its players answered, or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"outcome": "played"}, {"answers": {"ann": "accepted", "bob": "declined"}}]
        }
    )

    outcome: Outcome | None = None
    answers: dict[SentPlayer, Answer] = Field(default_factory=dict, max_length=2)


class NewGameReport(NewReport):
    """What is known of one of several games."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"game": "3-647a1b2c3d4e5-a6b2fe6d56ecc1f5-0", "outcome": "played"}]
        }
    )

    game: Annotated[str, StringConstraints(max_length=64, pattern=PRINTABLE)]


class ReportBatch(Body):
    """Reports of several games; each is answered as if it had been sent alone."""

    outcomes: Items[NewGameReport]


class ReceiptView(BaseModel):
    """What became of a report: learnt, noted (nothing to learn from), late, or repeated."""

    game: GameId
    result: ReportResult
    state: GameState
    outcome: Outcome | None
    answers: dict[str, Answer]
    cause: Cause | None
    learnt: bool = Field(description="Whether an outcome of this game was learnt, now or before.")


class RefusedReport(BaseModel):
    """A report that was refused."""

    game: str
    result: Literal["refused"]
    problem: ProblemView


class ReceiptBatch(BaseModel):
    """An answer to each report, in the order of the reports."""

    results: list[Annotated[ReceiptView | RefusedReport, Field(discriminator="result")]]
