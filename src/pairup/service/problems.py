"""Refusals: why a request is not carried out, raised wherever the reason is found.

Each has a name, which never changes; `api.schemas.problems` says how each is answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class RefusalError(Exception):
    """A refusal of a request."""

    slug: str
    detail: str  # the value, the rule and the way out
    fields: dict[str, Any] = field(default_factory=dict)
    retry_s: int | None = None  # seconds after which it may help to try again

    def __str__(self) -> str:
        return self.detail

    def as_json(self) -> dict[str, Any]:
        """Return the refusal as a part of a reply, of which `RefusalError` can be made again."""
        return {"slug": self.slug, "detail": self.detail, "fields": self.fields}


class MisdirectedError(RefusalError):
    """A request for a pool that another process serves, which may answer it."""

    def __init__(self, pool: str, owner: str, address: str) -> None:
        super().__init__("misdirected", f"another process serves pool {pool!r}: ask again", {}, 1)
        self.pool, self.owner, self.address = pool, owner, address
