"""The saved form of a learner: portable bytes, checked when they are read.

The bytes are a magic word, the version, a JSON header and the policy's arrays (little-endian), the
last two compressed; then a digest of all that. Nothing in them is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.errors import ArchiveError

VERSION = 1
_MAGIC = b"pairup learner\n"
_PREFIX = struct.Struct("<HQQ")  # version, bytes of the header, bytes of the whole body
_DIGEST = 32


def pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Make the bytes."""
    stored = {name: _little_endian(array) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    text = json.dumps(header | {"arrays": listed}, sort_keys=True).encode()
    body = text + b"".join(array.tobytes() for array in stored.values())
    data = _MAGIC + _PREFIX.pack(VERSION, len(text), len(body)) + zlib.compress(body, 1)
    return data + hashlib.sha256(data).digest()


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the bytes back, or refuse them."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise ArchiveError(
            f"a saved learner is bytes, got {type(data).__name__}: give what to_bytes() returned"
        )
    data = bytes(data)
    start = len(_MAGIC) + _PREFIX.size
    if not data.startswith(_MAGIC) or len(data) < start + _DIGEST:
        raise ArchiveError(
            f"these {len(data)} bytes are no saved learner: give what to_bytes() returned"
        )
    version, header_size, size = _PREFIX.unpack(data[len(_MAGIC) : start])
    if version != VERSION:
        raise ArchiveError(
            f"the learner was saved in version {version} of the format, this pairup reads "
            f"version {VERSION}: load it with the pairup that wrote it"
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise ArchiveError(
            "the saved learner is damaged: its digest does not match, take an older copy"
        )
    body = zlib.decompress(data[start:-_DIGEST], bufsize=max(size, 1))
    header = json.loads(body[:header_size])
    return header, _arrays(header.pop("arrays"), body, header_size)


def _arrays(listed: list[Any], body: bytes, start: int) -> dict[str, NDArray[Any]]:
    arrays = {}
    for name, dtype, shape in listed:
        count = int(np.prod(shape, dtype=np.int64))
        array = np.frombuffer(body, dtype, count, start)
        arrays[name] = array.reshape(shape).astype(array.dtype.newbyteorder("="))
        start += array.nbytes
    return arrays


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<"))


def pack_name(name: Hashable) -> Any:
    """Turn a player's name into JSON: a string or integer as it is, a tuple as a list."""
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return name
    if isinstance(name, tuple):
        return [pack_name(part) for part in name]
    raise ArchiveError(
        f"player {name!r} cannot be saved: a saved player's name is a string, an integer or a "
        f"tuple of those, not a {type(name).__name__}"
    )


def unpack_name(stored: Any) -> Hashable:
    """Turn JSON back into a player's name."""
    return tuple(unpack_name(part) for part in stored) if isinstance(stored, list) else stored
