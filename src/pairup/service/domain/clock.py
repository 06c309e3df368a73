"""Clocks: the time of day, in microseconds."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Protocol

# Exact, and the same in every database.
Moment = Annotated[int, "microseconds since 1970, UTC"]
SECOND = 1_000_000


class Clock(Protocol):
    """Something that tells the time of day."""

    def now(self) -> Moment:
        """Return the time of day."""


class WallClock:
    """The clock of this machine."""

    def now(self) -> Moment:
        """Return the time of day."""
        return time.time_ns() // 1_000


@lru_cache(1_024)  # a matching shows the same moment for each of its games
def format_moment(moment: Moment) -> str:
    """Write a moment as RFC 3339 does.

    Examples
    --------
    >>> format_moment(1_767_225_602_500_000)
    '2026-01-01T00:00:02.500000Z'
    """
    seconds, rest = divmod(moment, SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"
