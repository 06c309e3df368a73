"""Progress of an import: which rows of its source were taken."""

from __future__ import annotations

from typing import NamedTuple

from pairup.service.domain.events import Imported

MAX_IMPORTS = 1_000  # of a pool, which remembers each of them for good


class ImportProgress(NamedTuple):
    """How far an import has come.

    The rows of a source are taken in order, so that a number tells which were: whoever sends them,
    and however often, each is learnt once.

    Examples
    --------
    >>> chunk = Imported("history", 0, 3, ["ann", "bob"], [0, 0], [1, 1], [True, False], None, None)
    >>> ImportProgress().after(chunk)
    ImportProgress(next=3, games=2)
    """

    next: int = 0  # row of the source; all before it were taken, or left out by the sender
    games: int = 0  # learnt from them

    def after(self, event: Imported) -> ImportProgress:
        """Return the progress after the next chunk."""
        if event.first != self.next:
            raise ValueError(f"row {self.next} of import {event.source!r} is next")
        return ImportProgress(event.first + event.rows, self.games + len(event.player_a))
