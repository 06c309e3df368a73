"""Schemas of problems and of the service's health."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ProblemView(BaseModel):
    """A refusal (RFC 9457); its `detail` has the value, the rule and the way out."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["/problems/no-such-pool"])
    title: str
    status: int
    detail: str
    instance: str


class HealthView(BaseModel):
    """The service is well; a problem is answered where it is not."""

    status: Literal["ok", "read-only"]
    detail: str | None = Field(None, description="Why nothing can be stored, if that is so.")
