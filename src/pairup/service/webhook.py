"""Webhook: an address of the studio is told of games that expired and of pools that need attention.

Messages are signed as the Standard Webhooks describe (https://www.standardwebhooks.com). What the
log says is told at least once and in its order, pool by pool: how far that has come is in the
database, and only the process that serves a pool tells of it. A message that is refused holds up
its own pool only, and is sent again after a pause that grows; while nobody answers, none is sent.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpcore
import structlog

from pairup.service.domain.counters import compare
from pairup.service.domain.events import Clock, Expired, Moment, dumps, format_moment
from pairup.service.domain.pool import Pool
from pairup.service.observability.metrics import Metrics
from pairup.service.pools.access import PoolAccess
from pairup.service.pools.cache import CachedPool
from pairup.service.settings import Settings
from pairup.service.store import PoolRow, Store

_TOLD = {Expired.kind: "games.expired"}  # type of the message, by kind of event
_ATTENTION = "pool.attention"
_TIMEOUT_S = 5.0
_PAUSE_S, _MAX_PAUSE_S = 1.0, 600.0
_BATCH = 50  # messages of a pool, after which it is the turn of others
_FAR = 100  # events that nobody is told of, after which the database says that they were passed
_LOOK_S = 30.0  # between two looks at how pools fare
log = structlog.get_logger()


@dataclass
class _Pause:
    """When to try again what failed."""

    failures: int = 0
    until: float = 0.0  # by the monotonic clock

    @property
    def is_over(self) -> bool:
        """Whether it is time to try again."""
        return time.monotonic() >= self.until

    def note(self, taken: bool) -> None:
        """Note whether it worked; each failure doubles the pause, some of which is random."""
        longest = min(_PAUSE_S * 2.0 ** min(self.failures, 32), _MAX_PAUSE_S)
        self.failures = 0 if taken else self.failures + 1
        self.until = 0.0 if taken else time.monotonic() + longest * random.uniform(0.5, 1.0)


@dataclass
class _Need:
    """Why a pool needs attention, as long as it does."""

    id: str  # of the message, the same at every try
    at: Moment
    detail: str
    told: bool = False


@dataclass
class _Known:
    """What this process knows of a pool beside the database."""

    pause: _Pause = field(default_factory=_Pause)
    needs: dict[tuple[str, int], _Need] = field(default_factory=dict)  # by reason, which time it is
    fares: dict[tuple[str, int], str] = field(default_factory=dict)  # when last looked at


class _AwayError(Exception):
    """Nobody answers at the address."""


class Webhook:
    """Tells the address of the settings; of one thread."""

    def __init__(
        self, settings: Settings, store: Store, pools: PoolAccess, clock: Clock, metrics: Metrics
    ) -> None:
        self._url, self._key = settings.webhook_url, settings.webhook_key
        self._store, self._pools, self._clock, self._metrics = store, pools, clock, metrics
        self._connections = httpcore.ConnectionPool(max_connections=1, keepalive_expiry=_TIMEOUT_S)
        self._away, self._look_at, self._begun = _Pause(), 0.0, False
        self._known: defaultdict[int, _Known] = defaultdict(_Known)

    def tell(self) -> None:
        """Tell what has not been told, as far as the address takes it."""
        if not self._away.is_over:
            return
        if not self._begun:  # pools that were there before the webhook: from now on
            with self._store.writing(into_reserve=True) as transaction:
                transaction.begin_telling()
            self._begun = True
        with self._store.reading() as transaction:
            untold = transaction.untold_pools()
        try:
            for row, told in untold:
                if self._is_ours(row) and self._known[row.number].pause.is_over:
                    self._tell_events(row, told)
            self._tell_needs()
        except _AwayError as error:
            self._metrics.webhook.labels("unreachable").inc()
            self._away.note(taken=False)
            log.warning("webhook not reached", url=self._url, why=str(error))

    def _is_ours(self, row: PoolRow) -> bool:
        """Return whether this process tells of a pool: it serves it, or would be the next to."""
        ownership = self._pools.cache.ownership
        if ownership is None or row.owner == ownership.id:
            return True
        return ownership.peer(row.owner) is None and ownership.prefers(row.number) == ownership.id

    def _tell_events(self, row: PoolRow, told: int) -> None:
        """Tell the next events of a pool, in their order."""
        for _ in range(_BATCH):
            with self._store.reading() as transaction:
                event = transaction.next_event(row, told, _TOLD)
            if event is None:
                if row.seq - told >= _FAR:
                    self._move_on(row.number, told, row.seq)
                return
            id = f"{row.number}-{event['seq']}-{_digest(event)}"
            data = {"pool": row.name, "event": event}
            if not self._send(id, _TOLD[event["kind"]], event["at"], data):
                self._known[row.number].pause.note(taken=False)
                return
            self._known[row.number].pause.note(taken=True)
            if not self._move_on(row.number, told, event["seq"]):
                return  # another process has told of it
            told = event["seq"]

    def _move_on(self, pool: int, told: int, seq: int) -> bool:
        with self._store.writing(into_reserve=True) as transaction:
            return transaction.note_told(pool, told, seq)

    # Attention

    def _tell_needs(self) -> None:
        """Tell which of the pools in memory need attention, once for as long as they do."""
        now, look = self._clock.now(), time.monotonic() >= self._look_at
        if look:
            self._look_at = time.monotonic() + _LOOK_S
        for cached in self._pools.cache:
            known = self._known[cached.number]
            if look:
                known.fares = {}
                self._pools.glance(cached, partial(_note_fares, known.fares), update=True)
            found = _needs(cached) | known.fares
            known.needs = {reason: known.needs[reason] for reason in known.needs.keys() & found}
            for reason, detail in found.items():
                id = f"{cached.number}-{reason[0]}-{now}"
                need = known.needs.setdefault(reason, _Need(id, now, detail))
                if not need.told and known.pause.is_over:
                    data = {"pool": cached.name, "why": reason[0], "detail": need.detail}
                    need.told = self._send(need.id, _ATTENTION, format_moment(need.at), data)
                    known.pause.note(need.told)

    # Messages

    def _send(self, id: str, kind: str, at: str, data: dict[str, Any]) -> bool:
        """Send a message, and return whether it was taken."""
        body = dumps({"type": kind, "timestamp": at, "data": data}).encode()
        now = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "pairup",
            "webhook-id": id,
            "webhook-timestamp": now,
            "webhook-signature": sign(self._key, id, now, body),
        }
        seconds = dict.fromkeys(("connect", "read", "write", "pool"), _TIMEOUT_S)
        try:
            answer = self._connections.request(
                "POST",
                self._url,
                headers=list(headers.items()),
                content=body,
                extensions={"timeout": seconds},
            )
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            raise _AwayError(str(error) or type(error).__name__) from error
        taken = 200 <= answer.status < 300
        self._away.note(taken=True)
        self._metrics.webhook.labels("taken" if taken else "refused").inc()
        if not taken:
            log.warning("webhook refused", id=id, status=answer.status)
        return taken

    def close(self) -> None:
        """Close the connection."""
        self._connections.close()


def sign(key: bytes, id: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a message, by which its receiver knows who sent it.

    Examples
    --------
    >>> sign(b"a key", "3-17-0f", "1767225600", b"{}")
    'v1,D0zWx7TKKoUFvrPZ6putBhPZ4Ac/1hZm9CUIOcqWx4g='
    """
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256)
    return f"v1,{base64.b64encode(signed.digest()).decode()}"


def _digest(event: dict[str, Any]) -> str:
    """Return what tells an event from one that took its number in a log that was replaced."""
    return hashlib.blake2b(dumps(event).encode(), digest_size=4).hexdigest()


def _needs(cached: CachedPool) -> dict[tuple[str, int], str]:
    """Return why a pool in memory needs attention, whatever it says itself."""
    found, failure = dict[tuple[str, int], str](), cached.failure
    if failure is not None:
        found["unreadable", 0] = f"the pool cannot be read, {failure.why}"
    if cached.replaced:
        found["log-replaced", cached.replaced] = (
            "the end of the log was replaced, by a failover or a copy that was restored: what was "
            "acknowledged lately may be lost"
        )
    return found


def _note_fares(fares: dict[tuple[str, int], str], pool: Pool) -> None:
    """Note whether a pool does worse than random pairing, and not by chance."""
    compared = compare(pool.counters.buckets)
    gain = compared.gain if compared else None
    if gain is not None and gain["high"] < 0:
        fares["worse-than-random", 0] = (
            f"of its games, a share of {-gain['high']:.3f} to {-gain['low']:.3f} less is played "
            "than of random pairs"
        )
