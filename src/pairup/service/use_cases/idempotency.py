"""Idempotency keys: a request that is sent twice is done once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pairup.service.domain.clock import Moment
from pairup.service.domain.events import dumps
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction


@dataclass(frozen=True)
class Reply:
    """The answer to a request that may be sent again."""

    view: dict[str, Any]
    replayed: bool = False

    @cached_property
    def text(self) -> str:
        """The same as JSON."""
        return dumps(self.view)


@dataclass(frozen=True)
class KeyedRequest:
    """A request with an idempotency key."""

    owner: str  # of the API key: the keys of other owners are their own
    key: str
    digest: str  # of its method, path and body

    def stored_reply(self, transaction: Transaction) -> Reply | None:
        """Find the first answer; refuse a key that another request was sent with."""
        answer = transaction.answer(self.owner, self.key)
        if answer is None:
            return None
        if answer.digest != self.digest:
            raise RefusalError(
                "key-reused",
                f"the idempotency key {self.key!r} was sent before with another request: send the "
                "very same request again, or give this one a key of its own",
            )
        return Reply(json.loads(answer.body), replayed=True)

    def keep(self, transaction: Transaction, reply: Reply, at: Moment) -> None:
        """Store the answer together with what the request changed."""
        transaction.keep_answer(self.owner, self.key, self.digest, reply.text, at)
