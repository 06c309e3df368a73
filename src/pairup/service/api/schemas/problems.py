"""Schemas of problems and of the service's health.

Each type of problem is called by the path of a page that explains it, which never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypeAliasType

from pairup.service.problems import RefusalError

MEDIA_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemType:
    """A type of problem."""

    slug: str
    status: int
    title: str

    @property
    def path(self) -> str:
        """The path of the page that explains it, which is its stable name."""
        return f"/problems/{self.slug}"


_TYPES = (
    ("malformed-request", 400, "The request cannot be read"),
    ("key-needed", 401, "An API key is needed"),
    ("scope-needed", 403, "The API key does not allow this"),
    ("foreign-page", 403, "The request comes from a page of another site"),
    ("forwarded", 403, "The request was passed on by a proxy"),
    ("unknown-host", 403, "The request was meant for another host"),
    ("no-such-page", 404, "There is nothing at this address"),
    ("no-such-pool", 404, "There is no such pool"),
    ("no-such-player", 404, "There is no such player in the pool"),
    ("no-such-matching", 404, "There is no such matching"),
    ("no-such-game", 404, "There is no such game"),
    ("no-such-import", 404, "There is no such import"),
    ("method-not-allowed", 405, "This address does not take this method"),
    ("too-slow", 408, "The request took too long to arrive"),
    ("pool-exists", 409, "A pool of this name exists"),
    ("too-many-pools", 409, "The service takes no more pools"),
    ("too-few-players", 409, "Fewer than two players are waiting"),
    ("players-not-waiting", 409, "Some of the players are not waiting"),
    ("contradicting-outcome", 409, "Another outcome is stored"),
    ("pool-full", 409, "The pool takes no more players"),
    ("wrong-mode", 409, "The mode of the pool does not allow this"),
    ("rows-missing", 409, "Earlier rows of the import are missing"),
    ("too-many-imports", 409, "The pool takes no more imports"),
    ("learner-unfit", 409, "The saved learner does not fit the pool"),
    ("busy", 409, "Another request changed the same thing"),
    ("archived", 410, "This was moved to an archive"),
    ("reply-erased", 410, "The reply to this request was erased"),
    ("misdirected", 421, "Another process serves the pool"),
    ("too-large", 413, "The request is too large"),
    ("invalid-request", 422, "The request breaks a rule"),
    ("key-reused", 422, "The idempotency key belongs to another request"),
    ("too-many-requests", 429, "Too many requests were sent in a short time"),
    ("too-many-events", 429, "Too much was changed in a short time"),
    ("too-many-replies", 429, "Too many idempotent replies are kept"),
    ("headers-too-large", 431, "The address and headers of the request are too large"),
    ("internal-error", 500, "An internal error occurred"),
    ("pool-unreadable", 503, "The pool cannot be read"),
    ("pool-busy", 503, "Too many requests are waiting for the pool"),
    ("too-much-at-once", 503, "Too many bytes are being sent at once"),
    ("too-many-streams", 503, "Too many streams of events are open"),
    ("owner-lost", 503, "The process that serves the pool does not answer"),
    ("not-ready", 503, "The service is starting, stopping or unable to store anything"),
    ("store-unavailable", 503, "The database cannot be used now"),
    ("store-damaged", 503, "The database is damaged"),
    ("store-full", 507, "The disk of the database is full"),
)
PROBLEM_TYPES = {slug: ProblemType(slug, status, title) for slug, status, title in _TYPES}
_ENUMERATION: dict[str, Any] = {"enum": [each.path for each in PROBLEM_TYPES.values()]}
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
            json_schema_extra=_ENUMERATION,
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


def problem_of(refusal: RefusalError, instance: str) -> dict[str, Any]:
    """Return what is answered to a refused request for the address `instance`."""
    kind = PROBLEM_TYPES[refusal.slug]
    head = {"type": kind.path, "title": kind.title, "status": kind.status}
    return {**head, "detail": refusal.detail, "instance": instance, **refusal.fields}


class HealthView(BaseModel):
    """The service is well; a problem is answered where it is not."""

    status: Literal["ok"]
    unreadable_pools: int = Field(0, description="Number of pools that this process cannot read.")
    unsafe: list[str] = Field(
        [], description="Settings of PostgreSQL by which what was acknowledged may be lost."
    )
