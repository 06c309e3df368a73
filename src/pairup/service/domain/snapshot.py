"""Snapshots: a pool as it was at some head of its log, sealed by a checksum.

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
from pairup.service.domain.events import Head, dumps
from pairup.service.domain.pool import Pool
from pairup.service.domain.version import current_version

_NAME = b"pairup snapshot "
_FORMAT = b"3\n"
_CHECKSUM = 32


class SnapshotError(ServiceError):
    """A snapshot is of no use: the pool is read from an older one, or from its log."""


class DamagedSnapshotError(SnapshotError):
    """A snapshot is not what was written."""


def write_snapshot(pool: Pool) -> bytes:
    """Make a snapshot of a pool."""
    parts = [zlib.compress(part, 1) for part in (pool.to_bytes(), pool.learner.cache())]
    header = {
        "pool": pool.number,
        "head": [pool.head.seq, pool.head.chain.hex()],
        "version": current_version(pool.learner.policy),
        "sizes": [len(part) for part in parts],
    }
    body = _NAME + _FORMAT + dumps(header).encode() + b"\n" + b"".join(parts)
    return body + hashlib.sha256(body).digest()


def read_snapshot(number: int, head: Head, body: bytes) -> Pool:
    """Read the snapshot of a pool at a head of its log, or refuse it with a `SnapshotError`."""
    header, durable, cache = open_snapshot(number, head, body)
    try:
        pool = Pool.from_bytes(number, durable, cache, header["version"])
    except ServiceError as error:
        raise SnapshotError(_unused(number, head, str(error))) from error
    if pool.head != head:
        raise DamagedSnapshotError(_unused(number, head, f"it is of event {pool.seq}"))
    return pool


def open_snapshot(number: int, head: Head, body: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Return the header of a snapshot, its durable part and its cache, or refuse it."""
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
    return header, zlib.decompress(durable), zlib.decompress(cache)


def _unused(number: int, head: Head, why: str) -> str:
    return (
        f"the snapshot of pool {number} after event {head.seq} is not used, {why}: the pool is "
        "read from an older one, or from its log"
    )
