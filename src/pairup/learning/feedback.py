"""What players answered to a proposal, and what follows from it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from pairup.errors import ObservationError
from pairup.learning.roster import Roster, Row

YES, NO, UNKNOWN = 1, 0, -1


class Answers:
    """The answers of the players of some couples, as far as they are known.

    A couple plays when both of its players accept. So a declined proposal was not played, whoever
    else accepted; and if a couple did not play though one of its players accepted, the other did
    not.
    """

    def __init__(
        self, roster: Roster, rows: list[Row], accepted: Mapping[Hashable, bool] | None
    ) -> None:
        self._roster = roster
        self._accepted: dict[int, int] = {}
        proposed = {slot for row in rows for slot in row}
        if not isinstance(accepted, Mapping | None):
            raise ObservationError(
                f"answers are a mapping from players to True or False, got {accepted!r}: write "
                "accepted={player: True}"
            )
        for player, value in (accepted or {}).items():
            slot = roster.slot(player)
            if slot not in proposed:
                raise ObservationError(
                    f"player {player!r} answered but is in no couple of the matching: observe the "
                    "matching that proposed the game"
                )
            if not isinstance(value, bool | np.bool_):
                raise ObservationError(
                    f"the answer of player {player!r} must be True or False, got {value!r}: leave "
                    "out a player whose answer is not known"
                )
            self._accepted[slot] = YES if value else NO

    def of(self, row: Row) -> bool:
        """Whether an answer of one of the couple is known."""
        return any(slot in self._accepted for slot in row)

    def outcomes(self, rows: list[Row]) -> list[tuple[Row, bool]]:
        """List the couples of which the answers tell whether they played."""
        told = [(row, self.played(row)) for row in rows]
        return [(row, played) for row, played in told if played is not None]

    def played(self, row: Row) -> bool | None:
        """Whether the couple played, as far as answers tell."""
        answers = self._of_both(row)
        if NO in answers:
            return False
        return True if answers == (YES, YES) else None

    def check(self, row: Row, played: bool) -> None:
        """Refuse an outcome that contradicts the answers."""
        if self.played(row) not in (None, bool(played)):
            answers = self._of_both(row)
            said = "both accepted" if NO not in answers else "one of them declined"
            outcome = "played" if played else "did not play"
            raise ObservationError(
                f"{self._roster.named(row)} {outcome} although {said}: a couple plays when both "
                "accept, correct one of the two"
            )

    def answers(self, row: Row, played: bool) -> tuple[int, int]:
        """Return the answer of each of the couple, with what its outcome adds."""
        if played:
            return YES, YES
        first, second = self._of_both(row)
        if first == YES:
            second = NO
        elif second == YES:
            first = NO
        return first, second

    def _of_both(self, row: Row) -> tuple[int, int]:
        first, second = row
        return self._accepted.get(first, UNKNOWN), self._accepted.get(second, UNKNOWN)
