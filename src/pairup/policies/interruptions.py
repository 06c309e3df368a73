"""Interruptions: a step that cannot go on asks the host to change the state, but not endlessly."""

from __future__ import annotations

from typing import Any

from pairup.compiled.steps import FULL, STALE
from pairup.errors import PolicyError
from pairup.policies.contract import Policy

_MAX_TIMES = 16  # in a row; a table that doubles is then 65,536 times as large


class Interruptions:
    """The interruptions of a policy's steps, after each of which the step is called again.

    A proposal that is interrupted several times in a row will be so forever.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy, self._round, self._times = policy, -1, 0

    @staticmethod
    def is_one(status: int) -> bool:
        """Whether a step returned with an interruption."""
        return status in (FULL, STALE)

    def resolved(self, state: Any, status: int, round: int) -> Any:
        """Return the state with which the proposal of this round can go on."""
        self._times = self._times + 1 if round == self._round else 1
        self._round = round
        if self._times > _MAX_TIMES:
            self._give_up(status, round)
        return self._policy.grow(state) if status == FULL else self._policy.replan(state)

    def _give_up(self, status: int, round: int) -> None:
        cause, way_out = {
            FULL: (
                f"returns FULL in round {round + 1} even after its tables grew {_MAX_TIMES} times",
                "grow(state) must return a state with room, and propose must return OK when there "
                "is room",
            ),
            STALE: (
                f"returns STALE in round {round + 1} even after {_MAX_TIMES} new plans",
                "replan(state) must return a state with a plan for the players available, and "
                "propose must return OK when it has one",
            ),
        }[status]
        raise PolicyError(f"the step propose of {self._policy.name} {cause}: {way_out}")
