"""Thompson sampling of one rate per player, and of couples that may deviate from their products."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.matchings.max_matching import new_matching_workspace, reset, solve
from pairup.compiled.matchings.sparse_matching import new_sparse_workspace
from pairup.compiled.state_fields import AVAILABLE, new_state
from pairup.policies.contract import Policy, Slots, StartContext
from pairup.policies.couple_counts import CoupleCounts, Integers
from pairup.policies.deviation import ConcentrationChances
from pairup.policies.hierarchical import sparse_steps, steps
from pairup.policies.hierarchical.fit import gather, set_precision, start_at
from pairup.policies.hierarchical.local_fits import fit_players
from pairup.policies.hierarchical.state import (
    DUE,
    NEWS,
    STREAMS,
    Candidates,
    HierarchicalState,
    SparseHierarchicalState,
)
from pairup.policies.rank_one import couple_tables as tables
from pairup.policies.rank_one.rank_one_thompson import RankOneThompson, is_dense, load_observed
from pairup.policies.rank_one.state import OUTCOMES, PRIOR_A, PRIOR_B
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, load_arrays, require, saved_arrays

# How closely couples follow the rates of their players: the concentrations that are considered, and
# what is believed of each before any game. The first is "exactly".
CONCENTRATIONS = (math.inf, 10_000.0, 3_000.0, 1_000.0, 300.0, 100.0, 30.0, 10.0, 3.0)
_EXACT = 0.7
PRIOR = (_EXACT, *[(1.0 - _EXACT) / (len(CONCENTRATIONS) - 1)] * (len(CONCENTRATIONS) - 1))

_NEGLIGIBLE = 1e-3  # chance of a concentration
_GROWTH = 1.5  # of the room for candidates
_KEPT, _INNER = "state.matching.kept_mate", "state.inner."  # names of saved arrays
# What proposals change, beside the state of rank one.
_CHANGED = ("modes", "spread", "parts", "totals", "fitted", "chances", "log_chances", "counters")
_SWEEPS = 3  # over all players of whom a history tells something


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
        dense = is_dense(context)
        given = {} if dense else {"candidates": _room_for(1, 0)}
        state = new_state(
            HierarchicalState if dense else SparseHierarchicalState,
            self.sizes(context),
            inner=self._rank_one.start(context),
            concentrations=np.array(CONCENTRATIONS),
            log_prior=np.log(PRIOR),
            keys=context.keys(STREAMS),
            **given,
        )
        _begin_unknown(state, np.arange(len(state.inner.met)))
        return state

    def concentrations(self, state: Any) -> ConcentrationChances:
        if isinstance(state, HierarchicalState) and state.counters[NEWS] >= state.counters[DUE]:
            # Fitted on a copy: questions must not change what is proposed.
            fitted = ("modes", "chances", "log_chances", "counters")
            state = state._replace(**{name: getattr(state, name).copy() for name in fitted})
            steps.fit_all(state)
        # Without the belief beforehand, under which intervals of small deviations would be short.
        return ConcentrationChances(
            state.concentrations.copy(), state.log_chances - state.log_prior
        )

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        partners = tables.partners_of(state.inner.couples, slot)
        self._rank_one.forget(state.inner, slot, rate)
        _begin_unknown(state, np.append(partners, slot))

    def fade(self, state: Any, half_lives: float) -> None:
        self._rank_one.fade(state.inner, half_lives)
        if isinstance(state, HierarchicalState):
            state.counters[[NEWS, DUE]] = 0

    def reserve(self, state: Any, couples: NDArray[np.int64]) -> Any:
        return self._with(state, self._rank_one.reserve(state.inner, couples))

    def grow(self, state: Any) -> Any:
        return _with_candidates(self._with(state, self._rank_one.grow(state.inner)))

    def _with(self, state: Any, inner: Any) -> Any:
        return state._replace(inner=inner)

    def on_sides(self, state: Any, context: StartContext) -> Any:
        return Policy.on_sides(self, state, context)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        return self.evidence(state) | saved_arrays(state)

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        return self._rank_one.evidence(state.inner)

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        state = self._with(state, self._rank_one.load_evidence(state.inner, arrays))
        _fit_known(state)
        return state

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = self._with(state, load_observed(state.inner, arrays))
        if isinstance(state, SparseHierarchicalState) and _KEPT in arrays:
            # Saved when players were few enough for all of their couples.
            inner = {name: arrays[name] for name in arrays if name.startswith(_INNER)}
            state = load_arrays(state, saved_arrays(state) | inner)
            _fit_known(state)
        else:
            state = load_arrays(state, arrays)
        if isinstance(state, HierarchicalState):
            mates = state.matching.kept_mate
            require(np.all(mates != np.arange(len(mates))), "a player is its own mate")
        require(abs(state.chances.sum() - 1.0) < 1e-6, "its chances do not add up to 1")
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
        return self._with(state, self._rank_one.catch_up(state.inner, rounds))

    def draws_next(self, state: Any) -> bool:
        return self._rank_one.draws_next(state.inner)

    def redrawn(self, state: Any, present: Slots, context: StartContext) -> Any:
        if isinstance(state, HierarchicalState):
            return Policy.redrawn(self, state, present, context)
        # Proposals move the chain, and fit players again. Each fills the workspaces again.
        copied = {name: getattr(state, name).copy() for name in _CHANGED}
        inner = self._rank_one.redrawn(state.inner, present, context)
        return state._replace(inner=inner, keys=context.keys(STREAMS), **copied)

    def warm_up(self, state: Any, outcomes: int) -> None:
        self._rank_one.warm_up(state.inner, outcomes)
        _fit_known(state)

    def leader(self, state: Any) -> NDArray[np.int64]:
        if not steps.deviates(state):
            return self._rank_one.leader(state.inner)
        if isinstance(state, SparseHierarchicalState):
            state = _with_candidates(state)
            count = state.inner.counters[AVAILABLE]
            couples = np.zeros((count // 2, 2), np.int64)
            values = np.zeros(len(couples))
            sparse_steps.find_leader(state, couples, values)
            return couples[np.argsort(-values, kind="stable")]
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
                mode, variance = state.modes[g][slots], _variances(state, g, slots)
                mean += np.where(known, state.chances[g] * (mode - rates), 0.0)
                more = state.chances[g] * (variance + (mode - rates) ** 2 - deviations**2)
                square += np.where(known, more, 0.0)
        return mean, np.sqrt(np.maximum(square - (mean - rates) ** 2, 0.0))


def _begin_unknown(state: Any, slots: NDArray[np.int64]) -> None:
    """Start those of whom nothing is known at their prior; all are fitted again, in place."""
    inner = state.inner
    a, b = inner.reals[[PRIOR_A, PRIOR_B]]
    unknown = slots[inner.met[slots] == 0.0]
    state.modes[:, unknown] = a / (a + b)
    if isinstance(state, SparseHierarchicalState):
        state.totals[:] -= state.parts[:, unknown].sum(axis=1, dtype=np.float64)
        state.parts[:, unknown] = 0.0
        state.fitted[slots] = 0.0
    else:
        reset(state.matching)
        state.counters[[NEWS, DUE]] = 0
    if not inner.met.any():
        state.chances[:] = np.exp(state.log_prior)
        state.log_chances[:] = state.log_prior - state.log_prior.max()


def _fit_known(state: Any) -> None:
    """Fit all players of whom more is known than before, in place."""
    if isinstance(state, HierarchicalState):
        steps.fit_all(state)
        return
    known = state.inner.met * state.inner.reals[OUTCOMES]
    players = np.flatnonzero((known > 0.0) & (known != state.fitted))
    for _ in range(_SWEEPS):
        fit_players(state, players)


def _room_for(places: int, couples: int) -> Candidates:
    """Return a workspace for this many places in the order of rates, and candidates."""
    sizes = {"places": places, "couples": couples}
    return new_state(Candidates, sizes, workspace=new_sparse_workspace(places, couples))


def _with_candidates(state: Any) -> Any:
    """Return a state that has room for the candidates of the players available."""
    if isinstance(state, HierarchicalState):
        return state
    places, couples = sparse_steps.places_needed(state)
    if places <= len(state.candidates.free) and couples <= len(state.candidates.values):
        return state
    return state._replace(candidates=_room_for(int(_GROWTH * places), int(_GROWTH * couples)))


def _variances(state: Any, g: int, slots: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the variance of some players' rates under the concentration of number g."""
    if isinstance(state, SparseHierarchicalState):
        rate = state.modes[g][slots].astype(np.float64)
        return (state.spread[g][slots] * rate * (1.0 - rate)) ** 2
    inner, fit = state.inner, state.fit
    gather(inner, fit)
    start_at(inner, fit, state.modes[g])
    set_precision(inner, fit, state.concentrations[g])
    spread = 1.0 / fit.diagonal
    if len(fit.precision):
        inverse = np.linalg.inv(np.tril(fit.precision))
        spread = (inverse**2).sum(axis=0)
    variances: NDArray[np.float64] = spread * (fit.rate * fit.rest) ** 2
    return variances[slots]
