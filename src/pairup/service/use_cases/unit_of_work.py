"""Changes: what a request does to a pool, event by event."""

from __future__ import annotations

from pairup.service.domain import events as happened
from pairup.service.domain.clock import Moment
from pairup.service.domain.events import Event, Recorded
from pairup.service.domain.pool import Pool


class Changes:
    """The events of one request, applied to the pool as they are found.

    Time never runs backwards in a log, whatever the clocks of several machines say: events are
    dated no earlier than those before them. When games expire is decided by the clock alone, or one
    clock that was ahead would keep games open until the others have caught up. Games that are due
    expire first.

    Parameters
    ----------
    pool
        Changed in place. Until the events are committed it is ahead of its log: whoever fails to
        commit them throws it away.
    now
        The time of day.
    """

    def __init__(self, pool: Pool, now: Moment) -> None:
        self.pool = pool
        self.now = now
        self.at = max(now, pool.at)
        self.log: list[Recorded] = []
        due = pool.due(now)
        if due:
            self.add(happened.Expired(due, pool.rules.unreported))

    def add(self, event: Event) -> None:
        """Let an event happen."""
        recorded = Recorded(self.pool.seq + 1, self.at, event)
        self.pool.apply(recorded)
        self.log.append(recorded)
