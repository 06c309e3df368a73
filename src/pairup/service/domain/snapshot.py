"""Snapshots: a pool as it was after some event, sealed by a checksum.

A snapshot is a line that names its format, a header of one line of JSON, the durable part of the
pool, a cache, and a SHA-256 of all that, in which it ends in every format. The durable part is a
fold of the log and is read by every version that knows its format. The cache, the rest of the
policy's state, is used by the very version that wrote it, and made again by others.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

from pairup.errors import ServiceError
from pairup.service.domain.events import dumps
from pairup.service.domain.pool import Pool
from pairup.service.domain.version import current_version

_NAME = b"pairup snapshot "
_FORMAT = b"2\n"
_FIRST_VERSION = b'{"format":'  # how snapshots of pairup 0.1 begin, which have no checksum
_CHECKSUM = 32


class SnapshotError(ServiceError):
    """A snapshot is of no use: the pool is read from an older one, or from its log."""


class DamagedSnapshotError(SnapshotError):
    """A snapshot is not what was written."""


def write_snapshot(pool: Pool) -> bytes:
    """Make a snapshot of a pool."""
    parts = [zlib.compress(part, 1) for part in (pool.to_bytes(), pool.learner.cache())]
    header = {
        "pool": pool.id,
        "seq": pool.seq,
        "version": current_version(pool.learner.policy),
        "sizes": [len(part) for part in parts],
    }
    body = _NAME + _FORMAT + dumps(header).encode() + b"\n" + b"".join(parts)
    return body + hashlib.sha256(body).digest()


def read_snapshot(pool_id: str, seq: int, body: bytes) -> Pool:
    """Read the snapshot of a pool after an event, or refuse it with a `SnapshotError`."""
    header, durable, cache = open_snapshot(pool_id, seq, body)
    try:
        pool = Pool.from_bytes(pool_id, durable, cache, header["version"])
    except ServiceError as error:
        raise SnapshotError(_unused(pool_id, seq, str(error))) from error
    if pool.seq != seq:
        raise DamagedSnapshotError(_unused(pool_id, seq, f"it is of event {pool.seq}"))
    return pool


def open_snapshot(pool_id: str, seq: int, body: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the header of a snapshot, its durable part and its cache, or refuse it."""
    if body.startswith(_FIRST_VERSION):
        raise SnapshotError(_unused(pool_id, seq, "pairup 0.1 wrote it"))
    if hashlib.sha256(body[:-_CHECKSUM]).digest() != body[-_CHECKSUM:]:
        raise DamagedSnapshotError(_unused(pool_id, seq, "its checksum does not match"))
    if not body.startswith(_NAME + _FORMAT):
        raise SnapshotError(_unused(pool_id, seq, "another version of pairup wrote it"))
    start = len(_NAME + _FORMAT)
    end = body.index(b"\n", start) + 1
    header = json.loads(body[start:end])
    if (header["pool"], header["seq"]) != (pool_id, seq):
        said = f"it is of event {header['seq']} of pool {header['pool']}"
        raise DamagedSnapshotError(_unused(pool_id, seq, said))
    first, second = header["sizes"]
    durable, cache = body[end : end + first], body[end + first : end + first + second]
    return header, zlib.decompress(durable), zlib.decompress(cache)


def _unused(pool_id: str, seq: int, why: str) -> str:
    return (
        f"the snapshot of pool {pool_id} after event {seq} is not used, {why}: the pool is read "
        "from an older one, or from its log"
    )
