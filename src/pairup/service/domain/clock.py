"""The time of day, which tests set as they like."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol

Moment = int  # microseconds since 1970, UTC: exact, and the same in every database
SECOND = 1_000_000


class Clock(Protocol):
    """What tells the time."""

    def now(self) -> Moment:
        """Return the time of day."""


class WallClock:
    """The clock of this machine."""

    def now(self) -> Moment:
        """Return the time of day."""
        return time.time_ns() // 1_000


class SetClock:
    """A clock that stands still until it is moved, for tests.

    Examples
    --------
    >>> clock = SetClock()
    >>> clock.advance(2.5)
    >>> written(clock.now())
    '2026-01-01T00:00:02.500000Z'
    """

    def __init__(self, moment: Moment = 1_767_225_600 * SECOND) -> None:
        self.moment = moment

    def now(self) -> Moment:
        """Return the time of day."""
        return self.moment

    def advance(self, seconds: float) -> None:
        """Move the clock, back if `seconds` is negative."""
        self.moment += round(seconds * SECOND)


def written(moment: Moment) -> str:
    """Write a moment as RFC 3339 has it."""
    seconds, rest = divmod(moment, SECOND)
    day = datetime.fromtimestamp(seconds, UTC)
    return f"{day:%Y-%m-%dT%H:%M:%S}.{rest:06d}Z"
