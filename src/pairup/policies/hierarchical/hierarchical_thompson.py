"""Thompson sampling of one rate per player, and of couples that may deviate from their products."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.matchings.max_matching import new_matching_workspace, reset, solve
from pairup.compiled.state_fields import AVAILABLE, new_state
from pairup.policies.contract import Policy, Slots, StartContext
from pairup.policies.couple_counts import CoupleCounts, Integers
from pairup.policies.deviation import ConcentrationChances
from pairup.policies.hierarchical import steps
from pairup.policies.hierarchical.fit import gather, set_precision, start_at
from pairup.policies.hierarchical.state import (
    DUE,
    NEWS,
    STREAMS,
    HierarchicalState,
)
from pairup.policies.rank_one.rank_one_thompson import RankOneThompson, is_dense, load_observed
from pairup.policies.rank_one.state import PRIOR_A, PRIOR_B
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, load_arrays, require, saved_arrays

# How closely couples follow the rates of their players: the concentrations that are considered, and
# what is believed of each before any game. The first is "exactly".
CONCENTRATIONS = (math.inf, 10_000.0, 3_000.0, 1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
_EXACT = 0.7
PRIOR = (_EXACT, *[(1.0 - _EXACT) / (len(CONCENTRATIONS) - 1)] * (len(CONCENTRATIONS) - 1))

_NEGLIGIBLE = 1e-3  # chance of a concentration


@register
@dataclass(frozen=True)
class HierarchicalThompson(RankOneThompson):
    """Draw players' rates, how closely couples follow them, and the couples' own chances.

    As `RankOneThompson` where a couple plays with the product of its players' rates, but it learns
    whether couples do, and what each of them plays beyond that: a couple's chance is drawn around
    the product, from a Beta distribution whose concentration is learned from all couples together.
    It needs to be told nothing, and is safe where products are wrong. See
    docs/explanation/hierarchical.md.

    Parameters
    ----------
    period : int
        How often a draw is played; in between, what looks best.
    prior : {"uniform", "learned"} or (float, float)
        What is believed of a player who is new, as for `RankOneThompson`.
    memory : float, optional
        Half-life of what was observed, in rounds, at least 1: for rates that change. By default
        nothing fades.

    Notes
    -----
    `Learner.couple_deviation` says how closely couples follow the rates. The marginal likelihoods
    from which that follows, and the rates that are most likely for each concentration, are made by
    `pairup.policies.hierarchical.fit`, which knows nothing of this policy.

    Examples
    --------
    >>> from pairup import HierarchicalThompson, Problem, simulate
    >>> problem = Problem.from_matrix(
    ...     [[0, 0.9, 0.5, 0.4], [0.9, 0, 0.3, 0.6], [0.5, 0.3, 0, 0.2], [0.4, 0.6, 0.2, 0]]
    ... )
    >>> run = simulate(problem, HierarchicalThompson(), rounds=2_000, replications=4)
    >>> bool(run.mean()[-1] < 100)
    True
    """

    name: ClassVar[str] = "hierarchical_thompson"
    max_redrawn: ClassVar[int] = 256
    nominal_ns: ClassVar[int] = 500

    @property
    def _rank_one(self) -> RankOneThompson:
        """The policy of the state within."""
        return RankOneThompson(self.period, self.prior, self.memory)

    def sizes(self, context: StartContext) -> dict[str, int]:
        sizes = super().sizes(context)
        dense = sizes["width"] if is_dense(context) else 0
        return sizes | {"dense": dense, "grid": len(CONCENTRATIONS)}

    def start(self, context: StartContext) -> Any:
        state = new_state(
            HierarchicalState,
            self.sizes(context),
            inner=self._rank_one.start(context),
            concentrations=np.array(CONCENTRATIONS),
            log_prior=np.log(PRIOR),
            keys=context.keys(STREAMS),
        )
        _begin_unknown(state)
        return state

    def concentrations(self, state: Any) -> ConcentrationChances:
        if state.counters[NEWS] >= state.counters[DUE]:
            # Fitted on a copy: questions must not change what is proposed.
            fitted = ("modes", "chances", "log_chances", "counters")
            state = state._replace(**{name: getattr(state, name).copy() for name in fitted})
            steps.fit_all(state)
        # Without the belief beforehand, under which intervals of small deviations would be short.
        return ConcentrationChances(
            state.concentrations.copy(), state.log_chances - state.log_prior
        )

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        self._rank_one.forget(state.inner, slot, rate)
        reset(state.matching)
        _begin_unknown(state)

    def fade(self, state: Any, half_lives: float) -> None:
        self._rank_one.fade(state.inner, half_lives)
        state.counters[[NEWS, DUE]] = 0

    def reserve(self, state: Any, couples: NDArray[np.int64]) -> Any:
        return self._with(state, self._rank_one.reserve(state.inner, couples))

    def grow(self, state: Any) -> Any:
        return self._with(state, self._rank_one.grow(state.inner))

    def _with(self, state: Any, inner: Any) -> HierarchicalState:
        changed: HierarchicalState = state._replace(inner=inner)
        return changed

    def on_sides(self, state: Any, context: StartContext) -> Any:
        return Policy.on_sides(self, state, context)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        return self.evidence(state) | saved_arrays(state)

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        return self._rank_one.evidence(state.inner)

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        state = self._with(state, self._rank_one.load_evidence(state.inner, arrays))
        steps.fit_all(state)
        return state

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = self._with(state, load_observed(state.inner, arrays))
        state = load_arrays(state, arrays)
        mates = state.matching.kept_mate
        require(np.all(mates != np.arange(len(mates))), "a player is its own mate")
        require(abs(state.chances.sum() - 1.0) < 1e-6, "its chances do not add up to 1")
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
        return self._with(state, self._rank_one.catch_up(state.inner, rounds))

    def draws_next(self, state: Any) -> bool:
        return self._rank_one.draws_next(state.inner)

    def redrawn(self, state: Any, present: Slots, context: StartContext) -> Any:
        return Policy.redrawn(self, state, present, context)

    def warm_up(self, state: Any, outcomes: int) -> None:
        self._rank_one.warm_up(state.inner, outcomes)
        steps.fit_all(state)

    def leader(self, state: Any) -> NDArray[np.int64]:
        if not steps.deviates(state):
            return self._rank_one.leader(state.inner)
        slots = len(state.matching.kept_mate)
        players = state.inner.available[: state.inner.counters[AVAILABLE]]
        table, workspace = np.zeros((slots, slots)), new_matching_workspace(slots)
        steps.fill_means(state, players, table)
        even = np.append(players, slots - 1) if len(players) % 2 else players
        solve(workspace, table, even)
        mate = workspace.kept_mate
        couples = np.array([(i, mate[i]) for i in even if i < mate[i]], np.int64).reshape(-1, 2)
        return couples[np.argsort(-table[couples[:, 0], couples[:, 1]], kind="stable")]

    def statistics(self, state: Any) -> CoupleCounts:
        return self._rank_one.statistics(state.inner)

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers]:
        return self._rank_one.couple_counts(state.inner, one, other)

    def player_rates(
        self, state: Any, slots: Slots
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rates, deviations = self._rank_one.player_rates(state.inner, slots)
        mean, square = rates.copy(), deviations**2
        known = state.inner.met[slots] > 0.0
        for g in range(1, len(state.chances)):
            if state.chances[g] > _NEGLIGIBLE:
                mode, variance = state.modes[g][slots], _variances(state, g)[slots]
                mean += np.where(known, state.chances[g] * (mode - rates), 0.0)
                more = state.chances[g] * (variance + (mode - rates) ** 2 - deviations**2)
                square += np.where(known, more, 0.0)
        return mean, np.sqrt(np.maximum(square - (mean - rates) ** 2, 0.0))


def _begin_unknown(state: HierarchicalState) -> None:
    """Start players of whom nothing is known at their prior, and the fits, in place."""
    inner = state.inner
    a, b = inner.reals[[PRIOR_A, PRIOR_B]]
    state.modes[:, inner.met == 0.0] = a / (a + b)
    if not inner.met.any():
        state.chances[:] = np.exp(state.log_prior)
        state.log_chances[:] = state.log_prior - state.log_prior.max()
    state.counters[[NEWS, DUE]] = 0


def _variances(state: HierarchicalState, g: int) -> NDArray[np.float64]:
    """Return the variance of each player's rate under the concentration of number g."""
    inner, fit = state.inner, state.fit
    gather(inner, fit)
    start_at(inner, fit, state.modes[g])
    set_precision(inner, fit, state.concentrations[g])
    spread = 1.0 / fit.diagonal
    if len(fit.precision):
        inverse = np.linalg.inv(np.tril(fit.precision))
        spread = (inverse**2).sum(axis=0)
    variances: NDArray[np.float64] = spread * (fit.rate * fit.rest) ** 2
    return variances
