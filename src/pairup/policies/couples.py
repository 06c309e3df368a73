"""Policies that keep statistics of couples."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.greedy_leader import Leader
from pairup.kernels.state_layout import ROUND
from pairup.policies.base import Policy
from pairup.policies.couple_counts import CoupleCounts, Integers, checked_counts, pick_counts
from pairup.saved_arrays import Arrays, numbers


class CouplePolicy(Policy):
    """A policy whose state has `stats`, the statistics of couples, and `now`, its counters.

    Saved are the couples seen with their counts, and the counters that `saved_counters` names.
    """

    saved_counters: ClassVar[Mapping[str, int]] = {"round": ROUND}

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        for table in state.stats:  # the phantom's entries stay
            table[slot, :-1] = 0
            table[:-1, slot] = 0

    def statistics(self, state: Any) -> CoupleCounts:
        return pick_counts(state.stats.tries, state.stats.games)

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers]:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return state.stats.tries[low, high], state.stats.games[low, high]

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        counters = {name: state.now[[place]] for name, place in self.saved_counters.items()}
        return self.evidence(state) | counters

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = self.load_evidence(state, arrays)
        for name, place in self.saved_counters.items():
            (state.now[place],) = numbers(arrays, name)
        return state

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        stats = state.stats
        low, high, tries, games = checked_counts(arrays, len(stats.tries) - 1)
        stats.tries[low, high] = tries
        stats.games[low, high] = games
        stats.mean[low, high] = stats.mean[high, low] = games / tries
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
        if ROUND in self.saved_counters.values():
            state.now[ROUND] = max(state.now[ROUND], rounds)
        return state


def couples_of(leader: Leader) -> NDArray[np.int64]:
    """Return the leader's couples in their order, the phantom's included."""
    return leader.order[: 2 * leader.couples[0]].astype(np.int64).reshape(-1, 2)


def couples_in_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the couples of successive players; an odd one is left out."""
    return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)
