"""The two ends of the scale: no knowledge at all, and all of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.errors import PolicyError
from pairup.kernels.baselines import OracleState, UniformState
from pairup.policies.base import Policy, Slots, StartContext, register
from pairup.states.saved_arrays import Arrays, numbers, require


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

    def start(self, context: StartContext) -> UniformState:
        """See `Policy.start`."""
        room = np.zeros((2, context.slots), np.int64)
        return UniformState(
            players=room[0],
            shuffled=room[1],
            seated=np.zeros(1, np.int64),
            round=np.zeros(1, np.int64),
            key=np.array([context.key]),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`."""

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        return {"round": state.round}

    def load(self, state: Any, arrays: Arrays) -> UniformState:
        """See `Policy.load`."""
        (state.round[0],) = numbers(arrays, "round")
        return state


@register
@dataclass(frozen=True)
class Oracle(Policy):
    """Propose the best matching, knowing the acceptance rates.

    Parameters
    ----------
    rates : tuple of float, optional
        Acceptance rate of each player, in the order in which a learner is given them; players
        beyond those listed and players who join later rank last. A live learner needs it. A
        simulation, which shuffles the players' labels, tells its own instead.

    Examples
    --------
    >>> from pairup import Oracle
    >>> Oracle(rates=(0.9, 0.1, 0.8, 0.2)).learner("abcd").propose()
    Matching(a-c, b-d)
    """

    rates: tuple[float, ...] | None = None

    name: ClassVar[str] = "oracle"

    def __post_init__(self) -> None:
        if self.rates is not None:
            object.__setattr__(self, "rates", _checked_rates(self.rates))

    def start(self, context: StartContext) -> OracleState:
        """See `Policy.start`."""
        rates = self.rates if context.rates is None else context.rates
        if rates is None:
            raise PolicyError(
                "oracle must know the acceptance rates, got none: give them, "
                "Oracle(rates=(0.9, 0.8, ...))"
            )
        known = np.full(context.capacity, -1.0)
        known[: len(rates)] = rates[: context.capacity]
        ranking = np.argsort(-known, kind="stable")
        return OracleState(ranking=ranking, seated=np.zeros(context.slots, np.bool_))

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`."""

    def forget(self, state: Any, slot: int) -> None:
        """See `Policy.forget`; whoever takes the slot next ranks last."""
        place = np.flatnonzero(state.ranking == slot)[0]
        state.ranking[place:] = np.roll(state.ranking[place:], -1)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        return {"ranking": state.ranking}

    def load(self, state: Any, arrays: Arrays) -> OracleState:
        """See `Policy.load`."""
        ranking = numbers(arrays, "ranking")
        slots, capacity = len(ranking), len(state.ranking)
        ranked = np.array_equal(np.sort(ranking), np.arange(slots)) and slots <= capacity
        require(ranked, "its ranking is none of all players")
        state.ranking[:slots], state.ranking[slots:] = ranking, np.arange(slots, capacity)
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        """See `Policy.leader`."""
        order = state.ranking[state.seated[state.ranking]]
        return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)


def _checked_rates(rates: Iterable[float]) -> tuple[float, ...]:
    try:
        checked = tuple(float(rate) for rate in rates)
    except (TypeError, ValueError):
        checked = (math.nan,)
    if not all(0 <= rate <= 1 for rate in checked):  # false for NaN as well
        raise PolicyError(
            f"rates of oracle must be numbers in [0, 1], one a player, got {rates!r}: "
            "try (0.9, 0.8, 0.3)"
        )
    return checked
