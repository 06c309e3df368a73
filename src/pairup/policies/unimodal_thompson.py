"""Thompson sampling around the leader."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from pairup.kernels import leader_counts
from pairup.kernels import unimodal_thompson as kernel
from pairup.kernels.allocation import new_arrays
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.greedy_leader import new_leader
from pairup.kernels.state_layout import BY_PLAYERS, PERIOD, new_counters
from pairup.policies.base import StartContext, check_integer_option
from pairup.policies.greedy_leader import GreedyNeighbourPolicy
from pairup.policies.registry import register


@register
@dataclass(frozen=True)
class UnimodalThompson(GreedyNeighbourPolicy):
    """Play the leader or the neighbour that is best in a draw from the posterior.

    As `Unimodal`, but with draws in place of optimistic indices (after Trinh et al., 2020): each
    couple of the leader and of its neighbours draws a rate from Beta(1 + games, 1 + proposals
    without a game) once per round. The leader is played every `period`-th time that it leads, and
    whenever no neighbour draws better.

    Parameters
    ----------
    compare : {"players", "matchings"}
        As for `Unimodal`: whether a swapped player draws better than the one it replaces (the
        paper's V2), or the neighbour's number of games against the leader's (V1).
    period : int
        How often a leader is played without a look at its neighbours, at least 2.

    Notes
    -----
    No regret bound is known for matchings; where one arm is played per round, the rule is
    asymptotically optimal for every period.

    Examples
    --------
    >>> from pairup import Problem, UnimodalThompson, simulate
    >>> problem = Problem.around(0.5, 4, 0.1)
    >>> run = simulate(problem, UnimodalThompson(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 100
    np.True_
    """

    compare: Literal["players", "matchings"] = "players"
    period: int = 2

    name: ClassVar[str] = "unimodal_thompson"
    nominal_ns: ClassVar[int] = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer_option(self, "period", minimum=2)

    def start(self, context: StartContext) -> kernel.UnimodalThompsonState:
        draws = 5 * (context.slots // 2 + 1)
        return kernel.UnimodalThompsonState(
            stats=new_couple_statistics(context.slots),
            leader=new_leader(context.slots),
            counts=leader_counts.new_counts(),
            keys=context.keys(2),
            now=new_counters({BY_PLAYERS: self.compare == "players", PERIOD: self.period}),
            **new_arrays(("alpha", "beta"), draws, value=1),
            draw=np.zeros(draws),
        )
