"""Types of fields that several schemas share."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

# No control characters, nor the character that replaces undecodable bytes: two names would be one.
PRINTABLE = r"^[^\x00-\x1f\x7f-\x9f\ufffd]+$"
POOL_NAME = r"^[a-z0-9][a-z0-9_-]{0,63}$"
_ID = r"^([0-9a-v]{26}|[0-9a-f]{24})$"  # those of the first schema were shorter
PATTERN_RULES = {  # the patterns in words
    POOL_NAME: "it has at most 64 lower-case letters, digits, - and _, and begins with neither - "
    "nor _",
    PRINTABLE: "it is text without control characters",
    _ID: "it has 26 digits and letters from a to v, as it was answered",
}


def _check_player(player: str) -> str:
    if player != player.strip():
        raise ValueError("a player's name neither begins nor ends with a blank")
    if player in (".", ".."):  # clients resolve these in an address before they send it
        raise ValueError("a player cannot be called . or .., which mean folders in an address")
    return player


PoolName = Annotated[str, StringConstraints(pattern=POOL_NAME), Field(examples=["chess"])]
PlayerId = Annotated[
    str,
    StringConstraints(min_length=1, max_length=128, pattern=PRINTABLE),
    AfterValidator(_check_player),
    Field(examples=["ann"]),
]
Id = Annotated[str, StringConstraints(pattern=_ID), Field(examples=["1h4k0n3v8q2m5r7t9c6d0f4g2j"])]
Time = Annotated[str, Field(examples=["2026-01-01T12:00:00.000000Z"])]
Share = Annotated[float, Field(ge=0, le=1)]
Status = Literal["waiting", "proposed", "playing", "away"]
GameState = Literal["proposed", "played", "cancelled", "released", "expired"]
Answer = Literal["accepted", "declined", "timed_out", "unknown"]
Outcome = Literal["played", "cancelled"]
MAX_INTEGER = 2**53  # beyond it JSON readers disagree about numbers


class Body(BaseModel):
    """A body of a request: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")
