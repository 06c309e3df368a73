"""Schemas of players."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from pairup.service.api.schemas.fields import Body, Id, PlayerId, Status


class PlayerChange(Body):
    """A player's wish: to wait for a game, or to be away."""

    status: Literal["waiting", "away"] = "waiting"


class PlayerView(BaseModel):
    """A player."""

    player: PlayerId
    status: Status
    game: Id | None = Field(description="The game that is proposed to the player.")


class PlayerPage(BaseModel):
    """A page of the list of players, sorted by name."""

    players: list[PlayerView]
    next: str | None = Field(description="Cursor of the next page, to be sent as `cursor`.")
