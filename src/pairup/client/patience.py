"""Patience: how often a request is sent before it counts as lost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Number of tries, and how long each of them and the pauses between them last.

    Attributes
    ----------
    tries : int
        Number of times that a request is sent.
    pause_s : float
        Seconds of the first pause; each pause is twice as long as the one before.
    timeout_s : float
        Seconds that a try may take to connect, to send or to receive something.
    max_pause_s : float
        Seconds of the longest pause.

    Examples
    --------
    >>> patience = Patience(tries=4, pause_s=0.1, max_pause_s=0.3)
    >>> [patience.pause_after(attempt) for attempt in (1, 2, 3)]
    [0.1, 0.2, 0.3]
    """

    tries: int = 5
    pause_s: float = 0.1
    timeout_s: float = 30.0
    max_pause_s: float = 5.0

    def pause_after(self, attempt: int) -> float:
        """Return the seconds to wait after a failed attempt; the first is attempt 1."""
        return min(self.pause_s * 2.0 ** min(attempt - 1, 32), self.max_pause_s)
