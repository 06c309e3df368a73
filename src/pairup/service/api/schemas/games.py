"""Schemas of matchings, their games, and the reports about them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pairup.service.api.schemas.fields import (
    Body,
    Couple,
    Id,
    PlayerId,
    PoolName,
    SentCouple,
    SentPlayer,
    Share,
    Time,
)
from pairup.service.api.schemas.problems import ProblemView
from pairup.service.domain.names import PRINTABLE
from pairup.service.domain.states import Answer, Cause, GameState, Outcome, ReportResult


class GameView(BaseModel):
    """A game."""

    id: Id
    matching: Id
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

    available: list[SentPlayer] | None = Field(
        None, description="Players to be matched, all of them waiting; by default all who wait."
    )
    apart: list[SentCouple] = Field(default_factory=list, description="Couples that must not meet.")


class MatchingView(BaseModel):
    """A matching: its games, and the players who stay waiting."""

    id: Id
    pool: PoolName
    games: list[GameView]
    waiting: list[PlayerId]
    proposed_at: Time
    expires_at: Time


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
            "examples": [{"game": "1h4k0n3v8q2m5r7t9c6d0f4g2j", "outcome": "played"}]
        }
    )

    game: Annotated[str, StringConstraints(max_length=64, pattern=PRINTABLE)]


class ReportBatch(Body):
    """Reports of several games; each is answered as if it had been sent alone."""

    outcomes: list[NewGameReport]


class ReceiptView(BaseModel):
    """What became of a report: learnt, noted (nothing to learn from), late, or repeated."""

    game: Id
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
