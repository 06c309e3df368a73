"""Types of fields that several schemas share."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
)

from pairup.service.domain.matchmaking.attributes import ATTRIBUTE_NAME
from pairup.service.domain.names import (
    GAME_ID,
    MATCHING_ID,
    MAX_NAME,
    POOL_NAME,
    PRINTABLE,
    normalized_name,
)

PATTERN_RULES = {  # the patterns in words
    POOL_NAME: "it has at most 64 lower-case letters, digits, - and _, and begins with neither - "
    "nor _",
    PRINTABLE: "it is text without invisible or control characters",
    MATCHING_ID: "it is the id of a matching, as it was answered",
    GAME_ID: "it is the id of a game, as it was answered",
    ATTRIBUTE_NAME: "the name of an attribute has at most 64 letters of ASCII, digits, _, . and -, "
    "and begins with a letter or _",
}
T = TypeVar("T")
# Ends at the first wrong item: a long list of nonsense would have as many errors as items.
Items = Annotated[list[T], Field(fail_fast=True)]

PoolName = Annotated[str, StringConstraints(pattern=POOL_NAME), Field(examples=["chess"])]
PlayerId = Annotated[str, Field(examples=["ann"])]  # names were free before they had a rule
Couple = Annotated[list[PlayerId], Field(min_length=2, max_length=2, examples=[["ann", "bob"]])]
SentPlayer = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_NAME),
    AfterValidator(normalized_name),  # which says more than that the pattern was not met
    Field(examples=["ann"], json_schema_extra={"pattern": PRINTABLE}),
]
SentCouple = Annotated[list[SentPlayer], Field(min_length=2, max_length=2)]
MatchingId = Annotated[
    str,
    StringConstraints(pattern=MATCHING_ID),
    Field(examples=["3-647a1b2c3d4e5-a6b2fe6d56ecc1f5"]),
]
GameId = Annotated[
    str, StringConstraints(pattern=GAME_ID), Field(examples=["3-647a1b2c3d4e5-a6b2fe6d56ecc1f5-0"])
]
Time = Annotated[AwareDatetime, Field(examples=["2026-01-01T12:00:00.000000Z"])]
Share = Annotated[float, Field(ge=0, le=1)]
MAX_INTEGER = 2**53  # beyond it JSON readers disagree about numbers


class Body(BaseModel):
    """A body of a request: a field that is not known is refused."""

    model_config = ConfigDict(extra="forbid")
