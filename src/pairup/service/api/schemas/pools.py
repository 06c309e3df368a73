"""Schemas of pools and their players."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pairup.service.api.schemas.fields import (
    MAX_INTEGER,
    Body,
    GameId,
    Items,
    PlayerId,
    PoolName,
    SentPlayer,
    Time,
)
from pairup.service.api.schemas.problems import ProblemView
from pairup.service.domain.events import (
    AfterGame,
    BatchWish,
    PlayerResult,
    PlayerStatus,
    PlayerWish,
    Unreported,
)

_Number = Annotated[float, Field(gt=-MAX_INTEGER, lt=MAX_INTEGER, allow_inf_nan=False)]
_Integer = Annotated[int, Field(gt=-MAX_INTEGER, lt=MAX_INTEGER)]
_Numbers = Annotated[list[_Number], Field(max_length=8)]
Option = bool | _Integer | _Number | Annotated[str, Field(max_length=256)] | _Numbers | None
_OptionName = Annotated[str, Field(max_length=64)]
Options = Annotated[dict[_OptionName, Option], Field(max_length=32, examples=[{"period": 2}])]
Seed = Annotated[
    int, Field(ge=0, lt=MAX_INTEGER, description="Seed of the policy's own random draws.")
]
Lifetime = Annotated[
    float,
    Field(gt=0, le=31 * 86_400, allow_inf_nan=False, description="Seconds until a game expires."),
]


Memory = Annotated[
    float,
    Field(
        ge=1,
        le=100 * 366 * 86_400,
        allow_inf_nan=False,
        description="Half-life in seconds of what was learnt; null: it does not fade.",
    ),
]


class RulesChange(Body):
    """The rules of a pool that change."""

    policy: Annotated[str, Field(max_length=64)] | None = None
    options: Options | None = None
    seed: Seed | None = None
    lifetime_s: Lifetime | None = None
    unreported: Unreported | None = Field(
        None, description="What a game counts as that expires without a report."
    )
    timeout_declines: bool | None = Field(
        None, description="Whether a player who timed out counts as one who declined."
    )
    after_game: AfterGame | None = Field(
        None, description="Status of players after a game, until they are said to wait again."
    )

    keep_records: bool | None = Field(
        None, description="Whether records of players who leave are kept until they return."
    )
    memory_s: Memory | None = None

    def given(self) -> dict[str, Any]:
        """Return the rules that were sent."""
        given = self.model_dump(exclude_none=True, exclude={"name"})
        if "memory_s" in self.model_fields_set:  # where null has a meaning
            given["memory_s"] = self.memory_s
        return given


class NewPool(RulesChange):
    """A pool to be created."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "chess", "lifetime_s": 60}]})

    name: PoolName


class PlayerCounts(BaseModel):
    """Numbers of players by status."""

    waiting: int
    proposed: int
    playing: int
    away: int


class PoolView(BaseModel):
    """A pool."""

    name: PoolName
    policy: str
    options: dict[str, bool | int | float | str | list[float] | None]
    seed: int
    lifetime_s: float
    unreported: Unreported
    timeout_declines: bool
    after_game: AfterGame
    keep_records: bool
    memory_s: float | None
    players: PlayerCounts
    open_games: int
    seq: int = Field(description="Number of the last event.")
    updated_at: Time


class DigestView(BaseModel):
    """A digest of the whole state of a pool, its learner included."""

    seq: int
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class PoolItem(BaseModel):
    """A pool in a list."""

    name: PoolName
    created_at: Time
    seq: int


class PoolPage(BaseModel):
    """A page of the list of pools, sorted by name."""

    pools: list[PoolItem]
    next: str | None = Field(description="Cursor of the next page, to be sent as `cursor`.")


class PlayerChange(Body):
    """A player's wish: to wait for a game, or to be away."""

    status: PlayerWish = "waiting"


class PlayerBatchItem(Body):
    """What one of several players wishes."""

    player: SentPlayer
    status: BatchWish = "waiting"


class PlayerBatch(Body):
    """Wishes of several players, each named once; those who leave do so first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"players": [{"player": "ann"}, {"player": "bob", "status": "left"}]}]
        }
    )

    players: Items[PlayerBatchItem]


class TakenPlayer(BaseModel):
    """What became of a player's wish."""

    player: PlayerId
    result: PlayerResult


class RefusedPlayer(BaseModel):
    """A player whose wish was refused."""

    player: str
    result: Literal["refused"]
    problem: ProblemView


class PlayerResults(BaseModel):
    """An answer to each player of a batch, in its order."""

    results: list[Annotated[TakenPlayer | RefusedPlayer, Field(discriminator="result")]]


class PlayerView(BaseModel):
    """A player."""

    player: PlayerId
    status: PlayerStatus
    game: GameId | None = Field(description="The game that is proposed to the player.")


class PlayerPage(BaseModel):
    """A page of the list of players, sorted by name."""

    players: list[PlayerView]
    next: str | None = Field(description="Cursor of the next page, to be sent as `cursor`.")
