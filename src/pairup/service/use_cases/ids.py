"""Ids of pools, matchings and games: in the order of time, and impossible to guess.

An id is the time in microseconds (54 bits) and 76 random bits, in 26 digits and lower-case letters
(base32hex). Ids that are drawn later sort later, so that rows are appended to a table instead of
being scattered over all of it, and a commit writes as many pages in a large database as in a small
one.
"""

from __future__ import annotations

import base64
import secrets
import threading
import time

from pairup.service.domain.clock import Moment, format_moment
from pairup.service.problem_details import RefusalError

_RANDOM_BITS, _CHARACTERS = 76, 26


class IdSequence:
    """Ids that ascend, whatever the clock does.

    Examples
    --------
    >>> draw = IdSequence()
    >>> one, other = draw(), draw()
    >>> one < other, len(one)
    (True, 26)
    """

    def __init__(self) -> None:
        self._last, self._lock = 0, threading.Lock()

    def __call__(self) -> str:
        """Draw the next id."""
        with self._lock:
            self._last = max(time.time_ns() // 1_000, self._last + 1)
            value = self._last << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
        padded = (value << 30).to_bytes(20, "big")  # the coding takes five bytes at a time
        return base64.b32hexencode(padded)[:_CHARACTERS].decode().lower()


def drawn_at(id: str) -> Moment | None:
    """Return when an id was drawn, None for one of the first schema, which does not say.

    Examples
    --------
    >>> abs(drawn_at(draw_id()) - time.time_ns() // 1_000) < 60_000_000
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


draw_id = IdSequence()
