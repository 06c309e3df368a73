"""Types of fields that several schemas share."""

from __future__ import annotations

from typing import Annotated

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
)

from pairup.service.domain.names import MAX_NAME, POOL_NAME, PRINTABLE, normalized_name

_ID = r"^([0-9a-v]{26}|[0-9a-f]{24})$"  # those of the first schema were shorter
PATTERN_RULES = {  # the patterns in words
    POOL_NAME: "it has at most 64 lower-case letters, digits, - and _, and begins with neither - "
    "nor _",
    PRINTABLE: "it is text without control characters, line breaks or invisible marks",
    _ID: "it has 26 digits and letters from a to v, as it was answered",
}


PoolName = Annotated[str, StringConstraints(pattern=POOL_NAME), Field(examples=["chess"])]
PlayerId = Annotated[str, Field(examples=["ann"])]  # names were free before they had a rule
Couple = Annotated[list[PlayerId], Field(min_length=2, max_length=2, examples=[["ann", "bob"]])]
SentPlayer = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME, pattern=PRINTABLE),
    AfterValidator(normalized_name),
    Field(examples=["ann"]),
]
SentCouple = Annotated[list[SentPlayer], Field(min_length=2, max_length=2)]
Id = Annotated[str, StringConstraints(pattern=_ID), Field(examples=["1h4k0n3v8q2m5r7t9c6d0f4g2j"])]
Time = Annotated[AwareDatetime, Field(examples=["2026-01-01T12:00:00.000000Z"])]
Share = Annotated[float, Field(ge=0, le=1)]
MAX_INTEGER = 2**53  # beyond it JSON readers disagree about numbers


class Body(BaseModel):
    """A body of a request: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")
