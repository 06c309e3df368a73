"""Matchings drawn at random: what is reached without any knowledge."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.state_layout import ROUND, new_counters
from pairup.kernels.uniform import UniformGraphState, UniformState
from pairup.policies.base import Policy, StartContext
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers


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
        players, shuffled = np.zeros((2, context.slots), np.int64)
        return UniformState(players, shuffled, new_counters(), np.array([context.key]))

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        return  # nothing is learnt of players

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> UniformGraphState:
        return UniformGraphState(state, matcher)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        return {"round": state.now[[ROUND]]}

    def load(self, state: Any, arrays: Arrays) -> UniformState:
        (state.now[ROUND],) = numbers(arrays, "round")
        return state

    def catch_up(self, state: Any, rounds: int) -> UniformState:
        state.now[ROUND] = max(state.now[ROUND], rounds)
        return state
