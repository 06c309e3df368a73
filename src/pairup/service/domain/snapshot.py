"""Snapshots: a pool as it was at some head of its log, sealed by a checksum.

A snapshot is a line that names its format, a header of one line of JSON, the durable part of the
pool, a cache, and a SHA-256 of all that, in which it ends in every format. The durable part, a line
of JSON and the learner's evidence, is a fold of the log: it is read by every version that knows the
format. The cache, the rest of the policy's state, is used by the very version that wrote it, and
made again by others.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any, NamedTuple

from pairup.errors import PairupError, ServiceError
from pairup.learning import Learner
from pairup.learning.fairness import Fairness
from pairup.service.domain.counters import Counters
from pairup.service.domain.events import Head, Version, dumps
from pairup.service.domain.games import OpenGames
from pairup.service.domain.imports import ImportProgress
from pairup.service.domain.matchmaking.holdout import Holdout
from pairup.service.domain.matchmaking.recent_games import RecentGames
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.players import Players
from pairup.service.domain.pool import Pool
from pairup.service.domain.shadow import Shadow
from pairup.service.domain.version import current_version

_NAME = b"pairup snapshot "
_FORMAT = b"6\n"
_CHECKSUM = 32


class SnapshotError(ServiceError):
    """A snapshot cannot be used: the pool is read from an older one, or from its log."""


class DamagedSnapshotError(SnapshotError):
    """A snapshot is not what was written."""


class OpenedSnapshot(NamedTuple):
    """The parts of a snapshot whose checksum is right."""

    version: Version  # of the code that wrote it
    durable: bytes
    cache: bytes


def write_snapshot(pool: Pool) -> bytes:
    """Make a snapshot of a pool.

    Examples
    --------
    >>> from pairup.service.domain.events import Created, Joined, Recorded
    >>> pool, version = Pool(1), {"package": "1", "code": "0"}
    >>> pool.apply(Recorded.of(1, 0, Created("chess", Rules().as_json(), version)))
    >>> pool.apply(Recorded.of(2, 0, Joined([1], "waiting")))
    >>> again = read_snapshot(1, pool.head, write_snapshot(pool))
    >>> durable_part(again) == durable_part(pool)
    True
    """
    parts = [zlib.compress(part, 1) for part in (durable_part(pool), pool.learner.cache())]
    header = {
        "pool": pool.number,
        "head": [pool.head.seq, pool.head.chain.hex()],
        "version": current_version(pool.learner.policy),
        "sizes": [len(part) for part in parts],
    }
    body = _NAME + _FORMAT + dumps(header).encode() + b"\n" + b"".join(parts)
    return body + hashlib.sha256(body).digest()


def durable_part(pool: Pool) -> bytes:
    """Save what follows from the log: the same bytes for the same events."""
    state = {
        "head": [pool.head.seq, pool.head.chain.hex()],
        "items": pool.items,
        "at": pool.at,
        "faded_at": pool.faded_at,
        "name": pool.name,
        "deleted": pool.deleted,
        "version": pool.version,
        "rules": pool.rules.stored(),
        # In the order in which they came: what is read back must stay identical.
        "players": pool.players.as_json(),
        "games": pool.games.as_json(),
        "matching": pool.matching,
        "imports": list(pool.imports.items()),
        "counters": pool.counters.as_json(),
        "recent": pool.recent.as_json(),
        "debts": list(pool.fairness.debts.items()),
        **({"holdout": pool.holdout.as_json()} if pool.holdout else {}),
    }
    if pool.shadow.rounds:  # others are stored as they were before there was a shadow
        state["shadow"] = pool.shadow.as_json()
    return dumps(state).encode() + b"\n" + pool.learner.evidence()


def digest_of(pool: Pool) -> str:
    """Return a digest of all that follows from the log, what the learner was told included."""
    return hashlib.sha256(durable_part(pool)).hexdigest()


def read_snapshot(number: int, head: Head, body: bytes) -> Pool:
    """Read the snapshot of a pool at a head of its log, or refuse it with a `SnapshotError`.

    If the version that wrote it is that of the code that runs, the policy goes on as if it had
    never stopped.
    """
    opened = open_snapshot(number, head, body)
    pool = Pool(number)
    try:
        state, _, evidence = opened.durable.partition(b"\n")
        _restore(pool, json.loads(state))
        usable = opened.version == current_version(pool.rules.make_policy())
        pool.learner = Learner.from_evidence(evidence, opened.cache if usable else None)
    except (AttributeError, LookupError, PairupError, TypeError, ValueError) as error:
        raise SnapshotError(_unused(number, head, f"it cannot be read ({error!r})")) from error
    if pool.head != head:
        raise DamagedSnapshotError(_unused(number, head, f"it is of event {pool.seq}"))
    return pool


def open_snapshot(number: int, head: Head, body: bytes) -> OpenedSnapshot:
    """Return the parts of a snapshot of a pool at a head of its log, or refuse it."""
    if hashlib.sha256(body[:-_CHECKSUM]).digest() != body[-_CHECKSUM:]:
        raise DamagedSnapshotError(_unused(number, head, "its checksum does not match"))
    if not body.startswith(_NAME + _FORMAT):
        raise SnapshotError(_unused(number, head, "another version of pairup wrote it"))
    start = len(_NAME + _FORMAT)
    end = body.index(b"\n", start) + 1
    header = json.loads(body[start:end])
    seq, chain = header["head"]
    if (header["pool"], seq, chain) != (number, head.seq, head.chain.hex()):
        said = f"it is of event {seq} of pool {header['pool']}, or of another log"
        raise DamagedSnapshotError(_unused(number, head, said))
    first, second = header["sizes"]
    durable, cache = body[end : end + first], body[end + first : end + first + second]
    return OpenedSnapshot(header["version"], zlib.decompress(durable), zlib.decompress(cache))


def _restore(pool: Pool, state: dict[str, Any]) -> None:
    """Restore everything of a pool but its learner."""
    seq, chain = state["head"]
    pool.head = Head(seq, bytes.fromhex(chain))
    for name in ("items", "at", "faded_at", "name", "deleted", "version", "matching"):
        setattr(pool, name, state[name])
    pool.rules = Rules(**state["rules"])
    pool.games = OpenGames.from_json(state["games"])
    pool.players = Players.from_json(state["players"], pool.games)
    pool.imports = {source: ImportProgress(*each) for source, each in state["imports"]}
    pool.counters = Counters.from_json(state["counters"])
    pool.recent = RecentGames.from_json(state["recent"])
    pool.fairness = Fairness(pool.rules.floor, debts=state["debts"])
    pool.shadow = Shadow(**state.get("shadow", {}))
    pool.holdout = Holdout.from_json(state["holdout"]) if "holdout" in state else None


def _unused(number: int, head: Head, why: str) -> str:
    return (
        f"the snapshot of pool {number} after event {head.seq} is not used, {why}: the pool is "
        "read from an older one, or from its log"
    )
