"""Combinatorial UCB: optimism for each couple, and the exact best matching."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import comb_ucb as kernel
from pairup.kernels.couple_statistics import PHANTOM_MEAN, new_couple_statistics
from pairup.kernels.exact_matching.max_matching import new_matching_workspace
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.state_layout import KL, new_counters
from pairup.policies.base import StartContext
from pairup.policies.exact_matching import ExactMatchingPolicy
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, require


@register
@dataclass(frozen=True)
class CombUCB(ExactMatchingPolicy):
    """Play the matching of greatest total optimism (CombUCB1, Kveton et al., 2015).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used. Couples not seen yet come first, as many as a matching can hold.

    Parameters
    ----------
    index : {"ucb", "kl"}
        Optimistic estimate of a couple after N proposals, in round t:
        mean + sqrt(1.5 log(t - 1) / N), or the KL-UCB index at level log t + 3 log log t.

    Examples
    --------
    >>> from pairup import CombUCB, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombUCB(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    index: Literal["ucb", "kl"] = "ucb"

    name: ClassVar[str] = "comb_ucb"
    draws_at_random: ClassVar[bool] = False
    nominal_ns: ClassVar[int] = 200

    def nominal_cost(self) -> int:
        # The KL index takes longer than the UCB index.
        return self.nominal_ns * (2 if self.index == "kl" else 1)

    def start(self, context: StartContext) -> kernel.CombUCBState:
        shape = (context.slots, context.slots)
        base = np.full(shape, np.inf)
        base[:, -1] = PHANTOM_MEAN
        return kernel.CombUCBState(
            stats=new_couple_statistics(context.slots),
            workspace=new_matching_workspace(context.slots),
            players=np.zeros(context.slots + 1, np.int64),
            now=new_counters({KL: self.index == "kl"}),
            base=base,
            slope=np.zeros(shape),
            solved=np.zeros(shape if self.index == "kl" else (0, 0), np.int64),
        )

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> kernel.CombUCBGraphState:
        return kernel.CombUCBGraphState(state, matcher)

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        state.base[slot, :-1] = state.base[:, slot] = np.inf
        state.slope[slot, :-1] = state.slope[:, slot] = 0.0

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        kept = super().saved(state)
        if self.index == "kl":
            seen = kept["low"], kept["high"]
            kept |= {"base": state.base[seen], "slope": state.slope[seen]}
        return kept

    def load(self, state: Any, arrays: Arrays) -> kernel.CombUCBState:
        super().load(state, arrays)
        if self.index == "kl":
            seen = arrays["low"], arrays["high"]
            state.base[seen], state.slope[seen] = _checked_tangents(arrays)
        return state

    def load_evidence(self, state: Any, arrays: Arrays) -> kernel.CombUCBState:
        super().load_evidence(state, arrays)
        if self.index == "ucb":  # tangents of the KL index are found when they are needed
            seen = arrays["low"], arrays["high"]
            state.base[seen] = state.stats.mean[seen]
            state.slope[seen] = 1.0 / np.sqrt(arrays["tries"])
        return state


def _checked_tangents(arrays: Arrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tangents of the couples seen: above a mean at level 0, with slopes in [0, 1]."""
    base, slope = arrays["base"], arrays["slope"]
    for each in (base, slope):
        floats = each.dtype == np.float64 and each.shape == arrays["low"].shape
        require(floats, "its tangents are incomplete")
    in_range = (base >= -1) & ((base <= 2) | (base == np.inf))
    require(np.all(in_range), "its tangents are out of range")
    require(np.all((slope >= 0) & (slope <= 1)), "its tangents do not rise as they should")
    return base, slope
