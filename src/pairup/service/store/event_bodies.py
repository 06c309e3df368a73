"""Bodies of events as they are stored: JSON, compressed, with a checksum.

A stored body is a byte that names its form, the CRC-32 of the JSON, and the JSON deflated with a
preset dictionary: most bodies are so short that only what is known beforehand makes them shorter.
Plain JSON, which begins with a brace, is read too. `zlib.decompressobj(-15, DICTIONARY)` inflates
what follows the first five bytes.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from pairup.service.domain.clock import Moment

_DEFLATED = 1  # another dictionary takes another number: this one is in databases
DICTIONARY = (
    b'"random":0.,"random_deviation":0.,"best":0.}"waiting":[],"available":null,"apart":[],'
    b'"expires_at":17"explores":true},{"id":"0","players":["player-","player-"],"chance":0.,'
    b'"explores":false},{"id":"0{"matching":"0","games":[{"id":"0{"games":["0","0{"player":"'
    b'player-","status":"away"}{"player":"player-","status":"waiting"}{"game":"0","answers":{'
    b'"player-":"timed_out","player-":"declined","player-":"accepted"},"heard":{"player-":false,'
    b'"player-":true}}{"game":"0","played":false,"cause":"declined","answers":{},"heard":{}}'
    b'{"game":"0","played":false,"cause":"unstated","answers":{},"heard":{}}'
    b'{"game":"0","played":true,"cause":null,"answers":{},"heard":{}}'
)
_SHORT = 4_096  # bytes; a small window is set up faster, and the body fits in it


class RawEvent(NamedTuple):
    """An event as the log has it, with its body as JSON."""

    seq: int
    at: Moment
    kind: str
    body: str


def encode_body(body: str) -> bytes:
    """Compress the JSON of an event, which is ASCII.

    Examples
    --------
    >>> stored = encode_body('{"game":"5f0c","played":true,"cause":null,"answers":{},"heard":{}}')
    >>> len(stored), decode_body(stored)
    (15, '{"game":"5f0c","played":true,"cause":null,"answers":{},"heard":{}}')
    """
    text = body.encode("ascii")
    window, memory = (-12, 5) if len(text) < _SHORT else (-15, 8)
    deflating = zlib.compressobj(6, zlib.DEFLATED, window, memory, zdict=DICTIONARY)
    check = zlib.crc32(text).to_bytes(4, "big")
    return bytes([_DEFLATED]) + check + deflating.compress(text) + deflating.flush()


def is_intact(stored: bytes | str) -> bool:
    """Whether a stored body can be read and fits its checksum."""
    try:
        decode_body(stored)
    except ValueError:
        return False
    return True


def decode_body(stored: bytes | str) -> str:
    """Return the JSON of an event as it was given, or raise a `ValueError`."""
    if isinstance(stored, str):
        return stored
    if stored[:1] == b"{":
        return stored.decode("ascii")
    if stored[:1] != bytes([_DEFLATED]):
        raise ValueError(f"a body of form {stored[:1].hex()!r}, expected 1")
    try:
        text = zlib.decompressobj(-15, DICTIONARY).decompress(stored[5:])
    except zlib.error as error:
        raise ValueError(f"a body that cannot be inflated ({error})") from error
    if zlib.crc32(text) != int.from_bytes(stored[1:5], "big"):
        raise ValueError("a body that differs from its checksum")
    return text.decode("ascii")
