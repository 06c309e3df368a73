"""Combinatorial Thompson sampling: a draw for each couple, and the exact best matching."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pairup.kernels import comb_thompson as kernel
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.exact_matching.max_matching import new_matching_workspace
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.state_layout import GAUSSIAN, new_counters
from pairup.policies.base import StartContext, register
from pairup.policies.exact_matching import ExactMatchingPolicy
from pairup.saved_arrays import Arrays


@register
@dataclass(frozen=True)
class CombThompson(ExactMatchingPolicy):
    """Play the best matching by one posterior draw for each couple (Wang and Chen, 2018).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used.

    Parameters
    ----------
    prior : {"beta", "gaussian"}
        Posterior of a couple that played S times of N: Beta(1 + S, 1 + N - S), or normal with mean
        S/N and variance 1/(4N), where couples not seen yet come first.

    Examples
    --------
    >>> from pairup import CombThompson, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombThompson(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    prior: Literal["beta", "gaussian"] = "beta"

    name: ClassVar[str] = "comb_thompson"
    nominal_ns: ClassVar[int] = 450

    def start(self, context: StartContext) -> kernel.CombThompsonState:
        shape, couples = (context.slots, context.slots), context.slots * (context.slots - 1) // 2
        first, second = self._unseen
        return kernel.CombThompsonState(
            stats=new_couple_statistics(context.slots),
            workspace=new_matching_workspace(context.slots),
            players=np.zeros(context.slots + 1, np.int64),
            now=new_counters({GAUSSIAN: self.prior == "gaussian"}),
            key=np.array([context.key]),
            first=np.full(shape, first),
            second=np.full(shape, second),
            posteriors=np.zeros((2, couples)),
            draws=np.zeros(couples),
        )

    @property
    def _unseen(self) -> tuple[float, float]:
        """The posterior of a couple of which nothing is known."""
        return (1.0, 1.0) if self.prior == "beta" else (np.inf, 0.0)

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> kernel.CombThompsonGraphState:
        return kernel.CombThompsonGraphState(state, matcher)

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        for table, unseen in zip((state.first, state.second), self._unseen, strict=True):
            table[slot, :] = table[:, slot] = unseen

    def load_evidence(self, state: Any, arrays: Arrays) -> kernel.CombThompsonState:
        super().load_evidence(state, arrays)
        seen = arrays["low"], arrays["high"]
        tries, games = arrays["tries"], arrays["games"]
        if self.prior == "beta":
            state.first[seen], state.second[seen] = 1.0 + games, 1.0 + (tries - games)
        else:
            state.first[seen], state.second[seen] = games / tries, 0.5 / np.sqrt(tries)
        return state
