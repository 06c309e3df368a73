"""Problem details (RFC 9457): every refusal of the service.

Each type of problem is called by the path of a page that explains it, which never changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class RefusalError(Exception):
    """A refusal of a request, raised wherever its reason is found."""

    slug: str
    detail: str  # the value, the rule and the way out
    fields: dict[str, Any] = field(default_factory=dict)
    retry_s: int | None = None  # seconds after which it may help to try again

    @property
    def problem(self) -> ProblemType:
        """The type of the problem."""
        return PROBLEM_TYPES[self.slug]

    def __str__(self) -> str:
        return self.detail

    def as_json(self, instance: str) -> dict[str, Any]:
        """Return the body of the answer."""
        problem = self.problem
        head = {"type": problem.path, "title": problem.title, "status": problem.status}
        return {**head, "detail": self.detail, "instance": instance, **self.fields}


class MisdirectedError(RefusalError):
    """A request for a pool that another process serves, which may answer it."""

    def __init__(self, pool: str, owner: str, address: str) -> None:
        super().__init__("misdirected", f"another process serves pool {pool!r}: ask again", {}, 1)
        self.pool, self.owner, self.address = pool, owner, address


def players_path(pool: str) -> str:
    """Return the address of the players of a pool, to which a refusal in a batch refers."""
    return f"/v1/pools/{pool}/players"


def outcome_path(game: str) -> str:
    """Return the address of the outcome of a game, to which a refusal in a batch refers."""
    return f"/v1/games/{game}/outcome"
