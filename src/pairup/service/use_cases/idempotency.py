"""Idempotency keys: a request that is sent twice is done once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import dumps
from pairup.service.problem_details import RefusalError
from pairup.service.store import StoredAnswer, Transaction


@dataclass(frozen=True)
class Answer:
    """What is answered to a request."""

    status: int
    text: str = ""  # JSON
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, body: Any, headers: dict[str, str] | None = None) -> Answer:
        """Answer with a body."""
        return cls(status, dumps(body), headers or {})


@dataclass(frozen=True)
class Repeatable:
    """A request with an idempotency key."""

    owner: str  # of the API key: keys of others are their own
    key: str
    digest: str

    @classmethod
    def of(cls, owner: str, key: str, method: str, path: str, body: bytes) -> Repeatable:
        """Describe a request."""
        told = f"{method} {path}\n".encode() + body
        return cls(owner, key, hashlib.sha256(told).hexdigest())

    def stored(self, transaction: Transaction) -> Answer | None:
        """Find what was answered the first time; refuse the key of another request."""
        answer = transaction.answer(self.owner, self.key)
        if answer is not None and answer.digest != self.digest:
            raise RefusalError(
                "key-reused",
                f"the idempotency key {self.key!r} was sent before with another request: send the "
                "very same request again, or give this one a key of its own",
            )
        if answer is None:
            return None
        return Answer(answer.status, answer.body, answer.headers | {"Idempotent-Replay": "true"})

    def keep(self, transaction: Transaction, answer: Answer, at: Moment) -> None:
        """Store the answer with what the request changed."""
        stored = StoredAnswer(self.digest, answer.status, answer.headers, answer.text)
        transaction.keep_answer(self.owner, self.key, stored, at)
