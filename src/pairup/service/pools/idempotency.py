"""Idempotency keys: a request that is sent twice is done once."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic_core import to_json

from pairup.service.domain.events import Moment
from pairup.service.observability.metrics import Metrics
from pairup.service.problems import RefusalError
from pairup.service.settings import Settings
from pairup.service.store import Transaction


@dataclass(frozen=True)
class Reply:
    """The reply to a request that may be sent again."""

    view: dict[str, Any]
    replayed: bool = False

    @cached_property
    def text(self) -> str:
        """The same as JSON, in UTF-8 where the log has ASCII: large replies are made faster."""
        return to_json(self.view).decode()


class ReplyQuota:
    """How many replies, and how many bytes of them, are kept for each owner.

    What this process adds is counted as it happens; what others add, and what is forgotten, when
    the replies in the store are counted again.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._max_replies, self._max_bytes = settings.max_replies, settings.max_replies_bytes
        self._metrics = metrics
        self._kept: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def recount(self, kept: Mapping[str, tuple[int, int]]) -> None:
        """Replace what is known by what was found in the store."""
        with self._lock:
            self._kept = dict(kept)

    def add(self, owner: str, size: int) -> None:
        """Count a reply that was kept."""
        with self._lock:
            replies, total = self._kept.get(owner, (0, 0))
            self._kept[owner] = (replies + 1, total + size)

    def full(self, owner: str) -> bool:
        """Return whether no more replies are kept for an owner."""
        replies, size = self._kept.get(owner, (0, 0))
        return replies >= self._max_replies or size >= self._max_bytes

    @property
    def any_full(self) -> bool:
        """Whether a recount soon is worth it."""
        return any(self.full(owner) for owner in list(self._kept))

    def check(self, request: KeyedRequest | None) -> None:
        """Refuse a request whose reply cannot be kept."""
        if request and self.full(request.owner):
            self._metrics.limits.labels("max_replies").inc()
            raise RefusalError(
                "too-many-replies",
                f"at most {self._max_replies} replies and {self._max_bytes} bytes are kept for the "
                "idempotency keys of one API key: use fewer keys, wait until old replies are "
                "forgotten, or raise the settings max_replies and max_replies_bytes",
                retry_s=60,
            )


@dataclass(frozen=True)
class KeyedRequest:
    """A request with an idempotency key."""

    owner: str  # of the API key: the keys of other owners are their own
    key: str
    digest: str  # of its method, path and body

    def stored_reply(self, transaction: Transaction) -> Reply | None:
        """Return the first reply, if any; refuse a key that another request was sent with."""
        stored = transaction.reply(self.owner, self.key)
        if stored is None:
            return None
        digest, body = stored
        if digest != self.digest:
            raise RefusalError(
                "key-reused",
                f"the idempotency key {self.key!r} was sent before with another request: send the "
                "very same request again, or give this one a key of its own",
            )
        if not body:
            raise RefusalError(
                "reply-erased",
                f"the request with the idempotency key {self.key!r} was carried out, and its "
                "reply was erased with the name of a player: look at the pool instead",
            )
        return Reply(json.loads(body), replayed=True)

    def keep(self, transaction: Transaction, pool: int, reply: Reply, at: Moment) -> int:
        """Store the reply together with what the request changed; returns the bytes it takes."""
        return transaction.keep_reply(self.owner, self.key, pool, self.digest, reply.text, at)


def names_player(reply: str, name: str) -> bool:
    r"""Return whether a reply as JSON names a player, also as a key or in a message.

    Examples
    --------
    >>> names_player('{"results":[{"player":"ann"}]}', "ann")
    True
    >>> names_player('{"detail":"player \'ann\' is named twice"}', "ann")
    True
    >>> names_player('{"results":[{"player":"joanna"}]}', "ann")
    False
    """
    if not any(to_json(each).decode()[1:-1] in reply for each in (name, repr(name))):
        return False  # at once: most do not
    return _names(json.loads(reply), name)


def _names(value: Any, name: str) -> bool:
    if isinstance(value, dict):
        return any(_names(each, name) for pair in value.items() for each in pair)
    if isinstance(value, list):
        return any(_names(each, name) for each in value)
    return isinstance(value, str) and (value == name or repr(name) in value)  # as messages quote it
