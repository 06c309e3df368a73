"""Schemas of matchings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from pairup.service.api.schemas.fields import Body, Id, PlayerId, PoolName, Time
from pairup.service.api.schemas.games import GameView


class NewMatching(Body):
    """A matching to be proposed, by default of everyone who waits."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{}, {"apart": [["ann", "bob"]]}]}
    )

    available: list[PlayerId] | None = Field(
        None, description="Players to be matched, all of them waiting; by default all who wait."
    )
    apart: list[Annotated[list[PlayerId], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, description="Couples that must not meet."
    )


class MatchingView(BaseModel):
    """A matching: its games, and the players who stay waiting."""

    id: Id
    pool: PoolName
    games: list[GameView]
    waiting: list[PlayerId]
    proposed_at: Time
    expires_at: Time
