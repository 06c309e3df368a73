"""The best matching: what is reached with all knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples.rows import couple_in_order, mark_available
from pairup.compiled.matchings.graph_matcher import (
    GraphMatcher,
    GraphState,
    match_by_weights,
    write_matching,
)
from pairup.compiled.state_fields import Flags, Integers, Reals
from pairup.compiled.steps import OK, learn_nothing, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, Slots, StartContext
from pairup.policies.couple_policies import couples_in_order
from pairup.policies.registry import register
from pairup.problem.rates import checked_rates
from pairup.saved_arrays import Arrays, numbers, require
from pairup.weighted_matching import best_matching


@register
@dataclass(frozen=True)
class Oracle(Policy):
    """Propose the best matching, knowing the acceptance rates.

    Parameters
    ----------
    rates : tuple of float, optional
        Acceptance rate of each player, in the order in which a learner is given them; players
        beyond those listed and players who join later rank last. A live learner needs it. A
        simulation, which shuffles the players' labels, supplies its own instead.

    Examples
    --------
    >>> from pairup import Oracle
    >>> Oracle(rates=(0.9, 0.1, 0.8, 0.2)).learner("abcd").propose()
    Matching(a-c, b-d)
    """

    rates: tuple[float, ...] | None = None

    name: ClassVar[str] = "oracle"
    plays_on_graphs: ClassVar[bool] = True
    draws_at_random: ClassVar[bool] = False
    is_told_rates: ClassVar[bool] = True
    serves_pools: ClassVar[bool] = False  # nobody knows the rates of players who come and go
    nominal_ns: ClassVar[int] = 5

    def __post_init__(self) -> None:
        if self.rates is not None:
            rates = checked_rates(self.rates, "rates of oracle", 0, PolicyError)
            object.__setattr__(self, "rates", tuple(rates.tolist()))

    def needs(self) -> tuple[str, ...]:
        return ("rates",) if self.rates is None else ()

    def start(self, context: StartContext) -> OracleState:
        available = np.zeros(context.slots, np.bool_)
        if context.couple_rates is not None:
            best, unknown = best_matching(context.couple_rates), np.zeros(context.capacity)
            return OracleState(np.array(best.players), available, unknown)
        rates = self.rates if context.rates is None else context.rates
        if rates is None:
            raise PolicyError(
                "oracle must know the acceptance rates, got none: give them, "
                "Oracle(rates=(0.9, 0.8, ...))"
            )
        known = _by_slot(rates, context.capacity)
        ranking = np.argsort(-known, kind="stable")
        return OracleState(ranking, available, np.maximum(known, 0.0))

    def on_graph(self, state: Any, matcher: GraphMatcher, context: StartContext) -> GraphState:
        low, high = matcher.graph.low, matcher.graph.high
        games = state.rates[low] * state.rates[high]
        if context.couple_rates is not None:
            games = context.couple_rates[low, high]
        matcher.weights[:] = matcher.worth * games
        return super().on_graph(state, matcher, context)

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        # The player who takes the slot next ranks last.
        place = np.flatnonzero(state.ranking == slot)[0]
        state.ranking[place:] = np.roll(state.ranking[place:], -1)
        state.rates[slot] = 0.0

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        told = np.maximum(_by_slot(self.rates or (), len(state.rates)), 0.0)
        if np.array_equal(state.rates, told):
            return {"ranking": state.ranking}
        return {"ranking": state.ranking, "rates": state.rates}  # not those of players who left

    def load_evidence(self, state: Any, arrays: Arrays) -> OracleState:
        ranking = numbers(arrays, "ranking")
        slots, capacity = len(ranking), len(state.ranking)
        ranked = np.array_equal(np.sort(ranking), np.arange(slots)) and slots <= capacity
        require(ranked, "its ranking does not list each player once")
        state.ranking[:slots], state.ranking[slots:] = ranking, np.arange(slots, capacity)
        rates = arrays.get("rates", state.rates[:slots])
        valid = rates.shape == (slots,) and np.all((rates >= 0) & (rates <= 1))
        require(valid, "its rates are not one for each player")
        state.rates[:slots] = rates
        return state

    def player_rates(
        self, state: Any, slots: Slots
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return state.rates[slots], np.zeros(np.shape(slots))

    def leader(self, state: Any) -> NDArray[np.int64]:
        return couples_in_order(state.ranking[state.available[state.ranking]])


def _by_slot(rates: Sequence[float] | NDArray[np.float64], capacity: int) -> NDArray[np.float64]:
    """Return the rate of each slot, -1 where it is not known."""
    known = np.full(capacity, -1.0)
    known[: len(rates)] = rates[:capacity]
    return known


class OracleState(NamedTuple):
    """State of `Oracle`: all slots from the best rate to the worst, and their rates."""

    ranking: np.ndarray = Integers("players")
    available: np.ndarray = Flags("slots")
    rates: np.ndarray = Reals("players")  # of each slot, 0 where it is not known


def _propose(state, couples):
    couple_in_order(state.ranking, state.available, couples)
    return OK


def _set_available_on_graph(state, matcher, players):
    match_by_weights(matcher)  # once: the weights are what couples are worth


def _propose_on_graph(state, matcher, couples):
    write_matching(matcher, couples)
    return OK


provide(
    OracleState,
    set_available=mark_available,
    propose=_propose,
    observe=learn_nothing,
    set_available_on_graph=_set_available_on_graph,
    propose_on_graph=_propose_on_graph,
)
