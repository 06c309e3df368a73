"""Schemas of problems and of the service's health."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from pairup.service.problems import PROBLEM_TYPES

_TYPES: dict[str, Any] = {"enum": [each.path for each in PROBLEM_TYPES.values()]}
# A client must read types that a newer service has: the enumeration is in the description only.
ProblemKind = TypeAliasType(
    "ProblemKind",
    Annotated[
        str,
        Field(
            description="Stable name of a problem, and the path of a page that explains it:\n"
            + "".join(
                f"\n- [`{each.path}`]({each.path}) ({each.status}): {each.title}."
                for each in PROBLEM_TYPES.values()
            ),
            json_schema_extra=_TYPES,
        ),
    ],
)


class ProblemView(BaseModel):
    """A refusal (RFC 9457); its `detail` has the value, the rule and the way out."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/no-such-pool",
                    "title": PROBLEM_TYPES["no-such-pool"].title,
                    "status": 404,
                    "detail": "no pool is called 'ches': create it first",
                    "instance": "/v1/pools/ches",
                }
            ]
        },
    )

    type: ProblemKind
    title: str
    status: int
    detail: str
    instance: str


class HealthView(BaseModel):
    """The service is well; a problem is answered where it is not."""

    status: Literal["ok"]
    unreadable_pools: int = Field(0, description="Number of pools that this process cannot read.")
    unsafe: list[str] = Field(
        [], description="Settings of PostgreSQL by which what was acknowledged may be lost."
    )
