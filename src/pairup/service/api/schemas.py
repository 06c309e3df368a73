"""What is sent and answered, as data that the OpenAPI description shows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

# No control characters; nor what stands for bytes that are no text, or two names would be one.
SHOWN = r"^[^\x00-\x1f\x7f-\x9f\ufffd]+$"


def _sayable(player: str) -> str:
    if player != player.strip():
        raise ValueError("a player's name neither begins nor ends with a blank")
    if player in (".", ".."):  # paths of addresses that clients resolve before they send them
        raise ValueError("a player cannot be called . or .., which mean folders in an address")
    return player


POOL_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
PoolName = Annotated[str, StringConstraints(pattern=POOL_NAME), Field(examples=["chess"])]
PlayerId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128, pattern=SHOWN),
    AfterValidator(_sayable),
    Field(examples=["ann"]),
]
_ID = r"^[0-9a-f]{24}$"
Id = Annotated[str, StringConstraints(pattern=_ID), Field(examples=["5f0c2b7e9a1d4c3e8b6f7a10"])]
RULES = {  # what the patterns mean
    POOL_NAME: "it has at most 64 lower-case letters, digits, - and _, the first no - or _",
    SHOWN: "it has no control characters, and is text",
    _ID: "it has 24 hexadecimal digits",
}
Time = Annotated[str, Field(examples=["2026-01-01T12:00:00.000000Z"])]
Declared = Literal["waiting", "away"]
Status = Literal["waiting", "proposed", "playing", "away"]
GameState = Literal["proposed", "played", "cancelled", "released", "expired"]
Said = Literal["accepted", "declined", "timed_out", "unknown"]
Outcome = Literal["played", "cancelled"]
Share = Annotated[float, Field(ge=0, le=1)]


class Body(BaseModel):
    """What is sent: nothing in it is ignored."""

    model_config = ConfigDict(extra="forbid")


_MOST = 2.0**53  # beyond it JSON readers disagree about numbers
_Number = Annotated[float, Field(gt=-_MOST, lt=_MOST, allow_inf_nan=False)]
_Whole = Annotated[int, Field(gt=-_MOST, lt=_MOST)]
Option = bool | _Whole | _Number | Annotated[str, Field(max_length=256)] | None
Options = Annotated[dict[str, Option], Field(max_length=32, examples=[{"period": 2}])]
Seed = Annotated[int, Field(ge=0, lt=2**53, description="Of the policy's own random draws.")]
Lifetime = Annotated[
    float,
    Field(gt=0, le=31 * 86_400, allow_inf_nan=False, description="Seconds until a game expires."),
]


class RulesChange(Body):
    """Rules of a pool, those that change."""

    policy: Annotated[str, Field(max_length=64)] | None = None
    options: Options | None = None
    seed: Seed | None = None
    lifetime_s: Lifetime | None = None
    unreported: Literal["discard", "cancelled"] | None = Field(
        None, description="What an expired game counts as that nobody reported."
    )
    timeout_declines: bool | None = Field(
        None, description="Whether a player who timed out declined."
    )
    after_game: Literal["waiting", "playing"] | None = Field(
        None, description="What players do after a game, until they are said to wait again."
    )

    def given(self) -> dict[str, Any]:
        """Return what was sent."""
        return self.model_dump(exclude_none=True)


class NewPool(RulesChange):
    """A pool to be made."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "chess", "lifetime_s": 60}]},
    )

    name: PoolName

    def rules(self) -> dict[str, Any]:
        """Return the rules that were sent."""
        return self.model_dump(exclude_none=True, exclude={"name"})


class Counts(BaseModel):
    """Players by what they do."""

    waiting: int
    proposed: int
    playing: int
    away: int


class PoolView(BaseModel):
    """A pool."""

    name: PoolName
    policy: str
    options: dict[str, bool | int | float | str | None]
    seed: int
    lifetime_s: float
    unreported: Literal["discard", "cancelled"]
    timeout_declines: bool
    after_game: Literal["waiting", "playing"]
    players: Counts
    open_games: int
    seq: int = Field(description="Number of the last event.")
    updated_at: Time


class DigestView(BaseModel):
    """A digest of all that a pool is, its learner included."""

    seq: int
    digest: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class PoolItem(BaseModel):
    """A pool in a list."""

    name: PoolName
    created_at: Time
    seq: int


class PoolPage(BaseModel):
    """Some pools, by name."""

    pools: list[PoolItem]
    next: str | None = Field(description="Send it as `cursor` for the next page.")


class PlayerChange(Body):
    """What a player does: it waits for a game, or is away."""

    status: Declared = "waiting"


class PlayerView(BaseModel):
    """A player."""

    player: PlayerId
    status: Status
    game: Id | None = Field(description="The game that is proposed to it.")


class PlayerPage(BaseModel):
    """Some players, by name."""

    players: list[PlayerView]
    next: str | None


class NewMatching(Body):
    """What to propose: of everyone who waits, unless said otherwise."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{}, {"apart": [["ann", "bob"]]}]},
    )

    available: list[PlayerId] | None = Field(None, description="Players who wait, some of them.")
    apart: list[Annotated[list[PlayerId], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list, description="Couples that must not meet."
    )


class GameView(BaseModel):
    """A game."""

    id: Id
    matching: Id
    players: list[PlayerId]
    chance: Share | None = Field(description="Estimated when it was proposed, to be played.")
    state: GameState
    outcome: Outcome | None = Field(description="As reported, in time or late.")
    answers: dict[str, Said]
    cause: str | None = Field(description="Why it was cancelled, released or expired.")
    learnt: bool
    late: bool
    expires_at: Time
    closed_at: Time | None


class MatchingView(BaseModel):
    """A matching: games, and who stays waiting."""

    id: Id
    pool: PoolName
    games: list[GameView]
    waiting: list[PlayerId]
    proposed_at: Time
    expires_at: Time


class Reported(Body):
    """What is known of a game: whether it was played, what its players answered, or both."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"outcome": "played"},
                {"answers": {"ann": "accepted", "bob": "declined"}},
            ]
        },
    )

    outcome: Outcome | None = None
    answers: dict[str, Said] = Field(default_factory=dict, max_length=2)


class ReportedGame(Reported):
    """What is known of one game of a batch."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"game": "5f0c2b7e9a1d4c3e8b6f7a10", "outcome": "played"}]},
    )

    game: Annotated[str, StringConstraints(max_length=64, pattern=SHOWN)]


class Batch(Body):
    """Reports of several games; each gets its answer, and none hinders another."""

    outcomes: list[ReportedGame]


class ReceiptView(BaseModel):
    """What a report did: learnt, noted (nothing to learn from), late, or repeated."""

    game: Id
    result: Literal["learnt", "noted", "late", "repeated"]
    state: GameState
    outcome: Outcome | None
    answers: dict[str, Said]
    cause: str | None
    learnt: bool = Field(description="Whether an outcome of this game was learnt, now or before.")


class ProblemView(BaseModel):
    """A refusal (RFC 9457): the value, the rule and the way out are in `detail`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/no-such-pool"])
    title: str
    status: int
    detail: str
    instance: str


class RefusedGame(BaseModel):
    """A report that was refused."""

    game: str
    result: Literal["refused"]
    problem: ProblemView


class BatchView(BaseModel):
    """An answer for each report, in the order of the reports."""

    results: list[ReceiptView | RefusedGame]


class Health(BaseModel):
    """Whether it is well."""

    status: Literal["ok"]
