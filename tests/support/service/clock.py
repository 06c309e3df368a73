"""A clock that stands still until a test moves it."""

from pairup.service.domain.events import SECOND


class SettableClock:
    """The first moment of 2026, until it is moved."""

    def __init__(self, moment=1_767_225_600 * SECOND):
        self.moment = moment

    def now(self):
        return self.moment

    def advance(self, seconds):
        """Move the clock, back if `seconds` is negative."""
        self.moment += round(seconds * SECOND)
