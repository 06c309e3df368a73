"""Bodies of events as they are stored: JSON, compressed, with a checksum.

A stored body is a byte that names its form, the CRC-32 of the JSON, and the JSON deflated with a
preset dictionary: most bodies are so short that only what is known beforehand makes them shorter.
`zlib.decompressobj(-15, DICTIONARY)` inflates what follows the first five bytes.
"""

from __future__ import annotations

import zlib

_DEFLATED = 1  # another dictionary takes another number: this one is in databases
DICTIONARY = (
    b'"status":"away"}"status":"waiting"}{"players":["forget":true,"rates":[0."cause":"released"}'
    b'"answers":[["accepted","timed_out"],["declined",null],["accepted","declined"],["accepted",'
    b'"accepted"]],"heard":[[true,false],[true,true]]}"counts_as":"discard"}'
    b'"waiting":[],"available":null,"apart":[],"expires_at":17,"random":0.,"random_deviation":0.,'
    b'"best":0.}{"matching":17,"games":[{"players":[,"chance":0.,"explores":true},{"players":['
    b',"chance":0.,"explores":false}],"waiting":[],"available":null,"apart":[],"expires_at":17'
    b'{"games":[[17,0]],"played":[false],"causes":["declined"],"answers":null,"heard":null}'
    b'{"games":[[17,0]],"played":[false],"causes":["unstated"],"answers":null,"heard":null}'
    b'{"games":[[17,0]],"played":[true],"causes":null,"answers":null,"heard":null}'
)
_SHORT = 4_096  # bytes; a small window is set up faster, and the body fits in it


def encode_body(body: str) -> bytes:
    """Compress the JSON of an event, which is ASCII.

    Examples
    --------
    >>> body = '{"games":[[1767225600000000,0]],"played":[true],"causes":null,"answers":null}'
    >>> len(body), len(encode_body(body)), decode_body(encode_body(body)) == body
    (77, 21, True)
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
        raise ValueError("a body that is text, edited by hand")
    if stored[:1] != bytes([_DEFLATED]):
        raise ValueError(f"a body of form {stored[:1].hex()!r}, expected 1")
    try:
        text = zlib.decompressobj(-15, DICTIONARY).decompress(stored[5:])
    except zlib.error as error:
        raise ValueError(f"a body that cannot be inflated ({error})") from error
    if zlib.crc32(text) != int.from_bytes(stored[1:5], "big"):
        raise ValueError("a body that differs from its checksum")
    return text.decode("ascii")
