"""Combinatorial Thompson sampling: a draw for each couple, and the exact best matching."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from pairup.errors import PolicyError
from pairup.kernels import comb_thompson as kernel
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.exact_matching.max_matching import new_matching_workspace
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.state_layout import COMMON, POSTERIOR, new_counters
from pairup.policies.base import StartContext
from pairup.policies.exact_matching import ExactMatchingPolicy
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays

_POSTERIORS = {
    "beta": kernel.BETA,
    "gaussian": kernel.GAUSSIAN,
    "clipped": kernel.CLIPPED,
    "boosted": kernel.BOOSTED,
}


@register
@dataclass(frozen=True)
class CombThompson(ExactMatchingPolicy):
    """Play the best matching by one posterior draw for each couple (Wang and Chen, 2018).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used.

    Parameters
    ----------
    prior : {"beta", "gaussian", "clipped", "boosted"}
        Posterior of a couple that played S times of N. "beta": Beta(1 + S, 1 + N - S). "gaussian":
        normal with mean S/N and variance 1/(4N); couples not seen yet come first. "clipped": the
        same, but a draw below the mean counts as the mean, and one above the upper confidence
        bound as that bound (Perrault et al., 2020). "boosted": the variance is larger by a factor
        that falls towards 2 as rounds go by, which keeps the regret of early rounds polynomial in
        the number of couples (BG-CTS; Zhang and Combes, 2024).
    draws : {"independent", "common"}
        "common" takes one standard normal draw per round for all couples, which then rise or fall
        together (Jin et al., 2026). Not for "beta".

    Examples
    --------
    >>> from pairup import CombThompson, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombThompson(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    prior: Literal["beta", "gaussian", "clipped", "boosted"] = "beta"
    draws: Literal["independent", "common"] = "independent"

    name: ClassVar[str] = "comb_thompson"
    nominal_ns: ClassVar[int] = 450

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior == "beta" and self.draws == "common":
            raise PolicyError(
                'one draw for all couples is for normal posteriors: with draws="common" take '
                'prior="gaussian", "clipped" or "boosted"'
            )

    def start(self, context: StartContext) -> kernel.CombThompsonState:
        shape, couples = (context.slots, context.slots), context.slots * (context.slots - 1) // 2
        first, second = self._unseen
        return kernel.CombThompsonState(
            stats=new_couple_statistics(context.slots),
            workspace=new_matching_workspace(context.slots),
            players=np.zeros(context.slots + 1, np.int64),
            now=new_counters({POSTERIOR: _POSTERIORS[self.prior], COMMON: self.draws == "common"}),
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
