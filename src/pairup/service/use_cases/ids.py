"""Ids of pools, matchings and games: in the order of time, and impossible to guess.

An id is the time in microseconds (54 bits) and 76 random bits, in 26 digits and lower-case letters
(base32hex). Ids that are drawn later sort later, so that rows are appended to a table instead of
being scattered over all of it, and a commit writes as many pages in a large database as in a small
one. Ids that are drawn together, those of a matching and its games, share the random bits: whoever
knows one was told the others, and in the log they take a few bytes each.
"""

from __future__ import annotations

import base64
import secrets
import threading
import time
from functools import lru_cache

from pairup.service.domain.clock import Moment, format_moment
from pairup.service.problem_details import RefusalError

_RANDOM_BITS, _CHARACTERS = 76, 26
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_PAIRS = [one + other for one in _DIGITS for other in _DIGITS]  # of the numbers below 1,024


class IdSequence:
    """Ids that ascend, whatever the clock does.

    Examples
    --------
    >>> draw = IdSequence()
    >>> one, other = draw(2)
    >>> one < other, len(one), one[-15:] == other[-15:]
    (True, 26, True)
    """

    def __init__(self) -> None:
        self._last, self._lock = 0, threading.Lock()

    def __call__(self, count: int) -> list[str]:
        """Draw the next ids, which share their random bits."""
        with self._lock:
            first = max(time.time_ns() // 1_000, self._last + 1)
            self._last = first + count - 1
        chance = secrets.randbits(_RANDOM_BITS)
        low = _encode(chance & (1 << 75) - 1, 15)  # all but one bit, which shares a character
        return [_head(at << 1 | chance >> 75) + low for at in range(first, first + count)]


def _head(value: int) -> str:
    """Write the first 11 characters of an id, most of which the last id had too."""
    high, rest = divmod(value, 1 << 20)
    return _slow_digits(high) + _PAIRS[rest >> 10] + _PAIRS[rest & 1_023]


@lru_cache(16)
def _slow_digits(value: int) -> str:
    return _encode(value, 7)


def _encode(value: int, characters: int) -> str:
    """Write a number in base32hex, with leading zeros."""
    pairs = []
    for _ in range(characters // 2):
        value, low = divmod(value, 1_024)
        pairs.append(_PAIRS[low])
    return (_DIGITS[value] if characters % 2 else "") + "".join(reversed(pairs))


def drawn_at(id: str) -> Moment | None:
    """Return when an id was drawn, None for one of the first schema, which does not say.

    Examples
    --------
    >>> abs(drawn_at(draw_ids(1)[0]) - time.time_ns() // 1_000) < 60_000_000
    True
    """
    if len(id) != _CHARACTERS:
        return None
    value = int.from_bytes(base64.b32hexdecode(f"{id.upper()}000000"), "big")
    return value >> (30 + _RANDOM_BITS)


def check_not_archived(id: str, before: Moment | None) -> None:
    """Refuse the id of a thing that is not stored, if it is from before what was archived."""
    if before is not None and (drawn_at(id) or 0) < before:
        raise RefusalError(
            "archived",
            f"{id!r} is not stored any more, or never was: games that were closed before "
            f"{format_moment(before)} are in an archive, and reports of them are not taken",
        )


draw_ids = IdSequence()
