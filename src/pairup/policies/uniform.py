"""Matchings drawn at random: what is reached without any knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.counters import ROUND, new_counters
from pairup.kernels.uniform import UniformState
from pairup.policies.base import Policy, Slots, StartContext, register
from pairup.states.saved_arrays import Arrays, numbers


@register
@dataclass(frozen=True)
class Uniform(Policy):
    """Propose a matching drawn uniformly at random, whatever was played.

    Examples
    --------
    >>> from pairup import Uniform
    >>> Uniform().learner("abcd").propose() == Uniform().learner("abcd").propose()
    True
    """

    name: ClassVar[str] = "uniform"
    nominal_ns: ClassVar[int] = 10

    def start(self, context: StartContext) -> UniformState:
        """See `Policy.start`."""
        players, shuffled = np.zeros((2, context.slots), np.int64)
        return UniformState(players, shuffled, new_counters(), np.array([context.key]))

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`."""

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        return {"round": state.now[[ROUND]]}

    def load(self, state: Any, arrays: Arrays) -> UniformState:
        """See `Policy.load`."""
        (state.now[ROUND],) = numbers(arrays, "round")
        return state
