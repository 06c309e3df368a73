"""Epsilon-greedy, the simplest policy that never stops exploring."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pairup.errors import PolicyError
from pairup.kernels import epsilon_greedy as kernel
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.greedy_leader import new_leader
from pairup.kernels.state_layout import DECAYS, new_counters
from pairup.policies.base import StartContext
from pairup.policies.greedy_leader import GreedyLeaderPolicy
from pairup.policies.registry import register

_DEFAULTS = {"decaying": 30.0, "constant": 0.05}


@register
@dataclass(frozen=True)
class EpsilonGreedy(GreedyLeaderPolicy):
    """Propose a matching drawn at random with a small probability, otherwise the leader.

    The leader is the greedy matching by empirical means, as for `Unimodal`.

    Parameters
    ----------
    schedule : {"decaying", "constant"}
        How likely round t is to explore: epsilon * (2L - 1) / t, at most 1, or epsilon throughout.
    epsilon : float, optional
        Decaying: how many round robins (of 2L - 1 rounds each) to explore, times log(T): positive,
        by default 30. Constant: a probability, by default 0.05.

    Examples
    --------
    >>> from pairup import EpsilonGreedy, Problem, simulate
    >>> problem = Problem.around(0.5, 4, 0.1)
    >>> run = simulate(problem, EpsilonGreedy(epsilon=10), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 100
    np.True_
    """

    schedule: Literal["decaying", "constant"] = "decaying"
    epsilon: float | None = None

    name: ClassVar[str] = "epsilon_greedy"
    nominal_ns: ClassVar[int] = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            return
        max_epsilon = 1.0 if self.schedule == "constant" else math.inf
        try:
            epsilon = float(self.epsilon)
        except (TypeError, ValueError):
            epsilon = math.nan
        if isinstance(self.epsilon, bool) or not 0 < epsilon <= max_epsilon or math.isinf(epsilon):
            rule = "a probability above 0" if self.schedule == "constant" else "a positive number"
            raise PolicyError(
                f"epsilon of epsilon_greedy, {self.schedule}, must be {rule}, got "
                f"{self.epsilon!r}: try {_DEFAULTS[self.schedule]:g}"
            )
        object.__setattr__(self, "epsilon", epsilon)

    def start(self, context: StartContext) -> kernel.EpsilonGreedyState:
        epsilon = _DEFAULTS[self.schedule] if self.epsilon is None else self.epsilon
        players, shuffled = np.zeros((2, context.slots), np.int64)
        return kernel.EpsilonGreedyState(
            stats=new_couple_statistics(context.slots),
            leader=new_leader(context.slots),
            keys=context.keys(3),
            now=new_counters({DECAYS: self.schedule == "decaying"}),
            epsilon=np.array([epsilon]),
            players=players,
            shuffled=shuffled,
        )

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> kernel.EpsilonGreedyGraphState:
        degree = np.diff(matcher.graph.start).max(initial=1)
        return kernel.EpsilonGreedyGraphState(state, matcher, np.array([degree]))
