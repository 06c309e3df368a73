"""Schemas of pools and their players."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
    model_validator,
)
from typing_extensions import TypeVar

from pairup.service.api.schemas.fields import (
    MAX_INTEGER,
    Body,
    GameId,
    Items,
    PlayerId,
    PoolName,
    SentPlayer,
    Share,
    Time,
)
from pairup.service.api.schemas.problems import ProblemView
from pairup.service.domain.events import (
    AfterGame,
    BatchWish,
    Mode,
    PlayerResult,
    PlayerStatus,
    PlayerWish,
    Unreported,
)
from pairup.service.domain.matchmaking.attributes import (
    ATTRIBUTE_NAME,
    MAX_ATTRIBUTES,
    MAX_ITEMS,
    MAX_TEXT,
    type_of,
)
from pairup.service.domain.matchmaking.constraints import (
    MAX_CONSTRAINTS,
    MAX_FACTORS,
    MAX_HOLDOUT,
    MAX_RELAXATIONS,
    Constraint,
    ConstraintError,
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


AttributeName = Annotated[
    str, StringConstraints(pattern=ATTRIBUTE_NAME), Field(examples=["rating"])
]
Seconds = Annotated[float, Field(ge=0, le=31 * 86_400, allow_inf_nan=False)]
_Limit = Annotated[float, Field(ge=0, lt=MAX_INTEGER, allow_inf_nan=False)]
_Games = Annotated[int, Field(ge=0, le=1_000)]
_AfterS = Annotated[
    float,
    Field(
        gt=0,
        le=31 * 86_400,
        allow_inf_nan=False,
        description="Seconds of waiting after which this holds for a player and whom they meet.",
    ),
]
T = TypeVar("T")
_Relax = Annotated[list[T], Field(default_factory=list, max_length=MAX_RELAXATIONS)]


class Relaxation(Body):
    """A time after which a constraint is lifted."""

    after_s: _AfterS


class LimitRelaxation(Relaxation):
    """A wider limit after some time; null, or none: the constraint is lifted."""

    at_most: _Limit | None = None


class CooldownRelaxation(Relaxation):
    """A shorter cooldown after some time; none: the constraint is lifted."""

    games: _Games | None = None
    within_s: Seconds | None = None


class _Constraint(Body):
    @model_validator(mode="after")
    def check(self) -> Self:
        """Refuse a constraint that contradicts itself."""
        try:
            Constraint.of(self.model_dump())
        except ConstraintError as error:
            raise ValueError(str(error)) from None
        return self


class _Attributed(_Constraint):
    attribute: AttributeName


class DistanceConstraint(_Attributed):
    """Two players meet if their numbers differ by at most `at_most`."""

    kind: Literal["distance"]
    at_most: _Limit
    relax: _Relax[LimitRelaxation]


class LatencyConstraint(_Attributed):
    """Two players meet if there is a region in which neither exceeds `at_most`."""

    kind: Literal["latency"]
    at_most: _Limit
    relax: _Relax[LimitRelaxation]


class EqualConstraint(_Attributed):
    """Two players meet if their attributes are equal."""

    kind: Literal["equal"]
    relax: _Relax[Relaxation]


class DifferentConstraint(_Attributed):
    """Two players meet if their attributes differ: hosts and guests, drivers and riders."""

    kind: Literal["different"]
    relax: _Relax[Relaxation]


class OverlapConstraint(_Attributed):
    """Two players meet if their lists have an element in common."""

    kind: Literal["overlap"]
    relax: _Relax[Relaxation]


class BlockConstraint(_Attributed):
    """Two players do not meet if one lists the other; without the attribute, nobody is listed."""

    kind: Literal["block"]
    relax: _Relax[Relaxation]


class CooldownConstraint(_Constraint):
    """Two players who played do not meet again within some games of either, or some seconds."""

    kind: Literal["cooldown"]
    games: _Games | None = None
    within_s: Seconds | None = None
    relax: _Relax[CooldownRelaxation]


AnyConstraint = Annotated[
    DistanceConstraint
    | LatencyConstraint
    | EqualConstraint
    | DifferentConstraint
    | OverlapConstraint
    | BlockConstraint
    | CooldownConstraint,
    Field(discriminator="kind"),
]
Constraints = Annotated[
    list[AnyConstraint],
    Field(
        max_length=MAX_CONSTRAINTS,
        description="Who may meet: two players for whom all of these hold. Each may relax with the "
        "time that the one who waited longer has waited.",
        examples=[
            [
                {
                    "kind": "distance",
                    "attribute": "rating",
                    "at_most": 100,
                    "relax": [{"after_s": 10, "at_most": 200}],
                },
                {"kind": "equal", "attribute": "region"},
            ]
        ],
    ),
]


class DistanceWorth(Body):
    """A game is worth half as much for each `half_at` by which its players' numbers differ."""

    kind: Literal["distance"]
    attribute: AttributeName
    half_at: Annotated[float, Field(gt=0, lt=MAX_INTEGER, allow_inf_nan=False)]


class WaitingWorth(Body):
    """A game is worth twice as much after `double_after_s`, three times after twice that time.

    By the time that the one who waited longer has waited.
    """

    kind: Literal["waiting"]
    double_after_s: Annotated[float, Field(ge=0.001, le=31 * 86_400, allow_inf_nan=False)]


Worth = Annotated[
    list[Annotated[DistanceWorth | WaitingWorth, Field(discriminator="kind")]],
    Field(
        max_length=MAX_FACTORS,
        description="What a game is worth: the product of these. Proposals aim at the most worth "
        "times chance.",
        examples=[[{"kind": "distance", "attribute": "rating", "half_at": 100}]],
    ),
]


class FairnessRule(Body):
    """Share of random pairing's chance of a game that each player is promised; 0: none."""

    floor: Share = Field(examples=[0.5])


MaxWait = Annotated[
    float,
    Field(
        gt=0,
        le=31 * 86_400,
        allow_inf_nan=False,
        description="Seconds, after which a player is matched before others, if there is anyone "
        "whom the player may meet; null: never.",
    ),
]


Holdout = Annotated[
    float,
    Field(
        ge=0,
        le=MAX_HOLDOUT,
        allow_inf_nan=False,
        description="Share of players, drawn again every day, who are paired at random: a control "
        "arm, with which `stats` compares the others; 0: none.",
        examples=[0.1],
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
    constraints: Constraints | None = None
    worth: Worth | None = None
    fairness: FairnessRule | None = None
    max_wait_s: MaxWait | None = None
    mode: Mode | None = Field(
        None,
        description="`shadow`: the pool proposes nothing, learns the rounds of another matchmaker, "
        "and compares them with what it would have proposed. `live` by default.",
    )
    holdout: Holdout | None = None

    def given(self) -> dict[str, Any]:
        """Return the rules that were sent."""
        given = self.model_dump(exclude_none=True, exclude={"name"})
        for name in {"memory_s", "max_wait_s"} & self.model_fields_set:  # where null has a meaning
            given[name] = getattr(self, name)
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
    constraints: list[AnyConstraint]
    worth: list[Annotated[DistanceWorth | WaitingWorth, Field(discriminator="kind")]]
    fairness: FairnessRule
    max_wait_s: float | None
    mode: Mode
    holdout: float
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


_Text = Annotated[str, Field(max_length=MAX_TEXT)]
_Texts = Annotated[list[_Text], Field(max_length=MAX_ITEMS)]
_ByRegion = Annotated[dict[_Text, _Number], Field(max_length=MAX_ITEMS)]
_Value = Annotated[
    Annotated[_Number, Field(strict=True), Tag("number")]
    | Annotated[_Text, Tag("text")]
    | Annotated[_Texts, Tag("list")]
    | Annotated[_ByRegion, Tag("numbers")],
    Discriminator(type_of),
]
Attributes = Annotated[
    dict[AttributeName, _Value | None],
    Field(
        max_length=MAX_ATTRIBUTES,
        description="Attributes to set: numbers, texts, lists of texts, numbers by region; null "
        "removes one. Others stay as they are.",
        examples=[{"rating": 1500, "region": "eu", "languages": ["en"], "ping": {"eu": 30}}],
    ),
]


W = TypeVar("W")


class _Change(Body, Generic[W]):
    status: W | None = Field(
        None,
        description="By default `waiting`; where attributes are sent, what it was before.",
    )
    attributes: Attributes | None = None

    @property
    def wish(self) -> W | Literal["waiting"] | None:
        """The status that is wished for; None: as it is."""
        return self.status if self.status or self.attributes is not None else "waiting"


class PlayerChange(_Change[PlayerWish]):
    """A player's wish, to wait for a game or to be away, and attributes of the player."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"status": "waiting"}, {"attributes": {"rating": 1500, "region": "eu"}}]
        }
    )


class PlayerBatchItem(_Change[BatchWish]):
    """What one of several players wishes."""

    player: SentPlayer


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
    """A result for each player of a batch, in its order."""

    results: list[Annotated[TakenPlayer | RefusedPlayer, Field(discriminator="result")]]


class PlayerView(BaseModel):
    """A player."""

    player: PlayerId
    status: PlayerStatus
    game: GameId | None = Field(description="The game that is proposed to the player.")
    attributes: dict[str, float | str | list[str] | dict[str, float]]


class PlayerPage(BaseModel):
    """A page of the list of players, sorted by name."""

    players: list[PlayerView]
    next: str | None = Field(description="Cursor of the next page, to be sent as `cursor`.")
