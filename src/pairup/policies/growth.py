"""Tables of a policy's state that grow when a step finds them full, but not endlessly."""

from __future__ import annotations

from typing import Any

from pairup.errors import PolicyError
from pairup.policies.base import Policy

_MAX_GROWS = 16  # in a row; a table that doubles is then 65,536 times as large


class Growth:
    """The tables of a policy's state, which grow when a step finds them full, but not endlessly.

    A proposal that finds the table full after several grows in a row will find it so forever.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy, self._round, self._times = policy, -1, 0

    def grown(self, state: Any, round: int) -> Any:
        """Return the state with a larger table, after a proposal of this round found it full."""
        self._times = self._times + 1 if round == self._round else 1
        self._round = round
        if self._times > _MAX_GROWS:
            raise PolicyError(
                f"the step propose of {self._policy.name} returns FULL in round {round + 1} even "
                f"after its tables grew {_MAX_GROWS} times: grow(state) must return a state with "
                "room, and propose must return OK when there is room"
            )
        return self._policy.grow(state)
