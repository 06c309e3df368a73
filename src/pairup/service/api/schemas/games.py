"""Schemas of matchings, their games, and the reports about them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from pairup.service.api.schemas.fields import (
    MAX_INTEGER,
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


_Place = Annotated[int, Field(ge=0, lt=MAX_INTEGER)]
_Worth = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class AllowedCouples(Body):
    """Who may meet in one proposal: couples by name, couples by place, or groups."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"couples": [["ann", "bob"], ["bob", "cyd"]], "worth": [1, 0.5]},
                {"groups": [["ann", "bob"], ["cyd", "dan", "eve"]]},
            ]
        }
    )

    couples: Items[SentCouple] | None = Field(None, description="Couples who may meet.")
    player_a: Items[_Place] | None = Field(
        None, description="The first player of each couple, as a place in `available`, from 0."
    )
    player_b: Items[_Place] | None = Field(None, description="The other player of each couple.")
    groups: Items[Items[SentPlayer]] | None = Field(
        None, description="Groups, each player in one at most, who meet within their group only."
    )
    worth: Items[_Worth] | None = Field(
        None, description="What a game of each couple is worth; 1 by default."
    )

    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse what contradicts itself."""
        columns = [None if each is None else len(each) for each in (self.player_a, self.player_b)]
        if columns[0] != columns[1]:
            raise ValueError("player_a and player_b have an item for each couple")
        ways = (self.couples, self.player_a, self.groups)
        if ways.count(None) != 2:
            raise ValueError("there are either couples, or player_a and player_b, or groups")
        couples = self.player_a if self.couples is None else self.couples
        if self.worth is not None and len(self.worth) != len(couples or ()):
            raise ValueError("worth has an item for each couple, and none for groups")
        return self

    @property
    def size(self) -> int:
        """Number of couples, or of players in groups."""
        return len(self.couples or self.player_a or ()) + sum(map(len, self.groups or ()))


class NewMatching(Body):
    """A matching to be proposed, by default of everyone who waits."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {},
                {"apart": [["ann", "bob"]]},
                {"allowed": {"couples": [["ann", "bob"]], "worth": [2]}},
            ]
        }
    )

    available: Items[SentPlayer] | None = Field(
        None, description="Players to be matched, all of them waiting; by default all who wait."
    )
    apart: Items[SentCouple] = Field(
        default_factory=list, description="Couples that must not meet."
    )
    allowed: AllowedCouples | None = Field(
        None,
        description="Who may meet, within the constraints of the pool; by default all of them.",
    )
    unknown: UnknownPlayers = Field(
        "refuse",
        description="What becomes of players in `available`, `apart` and `allowed` who are not in "
        "the pool, or not waiting: the request is refused, or they are skipped.",
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
    unmatched: dict[str, int] = Field(
        description="Number of players who stay waiting, by the first constraint that leaves them "
        "nobody to meet (`distance:rating`, `cooldown`, `allowed`, `apart`), or `odd`: there are "
        "players whom they may meet, but none was left.",
        examples=[{"odd": 1, "distance:rating": 2}],
    )
    alone: list[PlayerId] = Field(description="Players who may meet nobody of those who wait.")


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


class ObservedGame(NewReport):
    """A game that another matchmaker proposed, and what became of it."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"players": ["ann", "bob"], "outcome": "played"}]}
    )

    players: SentCouple


class ObservedRound(Body):
    """A round of another matchmaker: games that were proposed together, each player once."""

    games: Items[ObservedGame] = Field(min_length=1)


class SuggestedGameView(BaseModel):
    """A game that the pool would have proposed."""

    players: Couple
    chance: Share | None = Field(description="Probability that it is played, as estimated.")


class SuggestedMatching(BaseModel):
    """The matching that the pool would have proposed to the same players."""

    games: list[SuggestedGameView]
    waiting: list[PlayerId]


class ObservedView(BaseModel):
    """What was learnt of a round, and what the pool would have proposed instead."""

    games: int = Field(description="Number of games that were learnt.")
    played: int
    joined: list[PlayerId] = Field(description="Players who were not in the pool; they are away.")
    suggested: SuggestedMatching | None = Field(
        description="Decided before the round was learnt; null where the rules do not fit the "
        "players."
    )
    why: str | None = Field(description="Why nothing is suggested, null if something is.")


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
    """A result for each report, in the order of the reports."""

    results: list[Annotated[ReceiptView | RefusedReport, Field(discriminator="result")]]
