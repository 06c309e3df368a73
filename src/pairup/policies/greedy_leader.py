"""What the policies share that keep a book of couples and its greedy leader."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import greedy_leader as leading
from pairup.kernels import leader_counts
from pairup.kernels.greedy_leader import Leader
from pairup.kernels.neighbours import PRESENT, ROUND
from pairup.policies.base import Policy, Slots
from pairup.states.couple_statistics import clear_book, load_book, saved_book
from pairup.states.saved_arrays import Arrays, numbers, require


class Leading(Policy):
    """A policy whose state has a book, its greedy leader, and keys, the first that of ties."""

    def _settle(self, state: Any) -> None:
        """Bring the leader up to date with the book, in place."""
        leading.settle(state.leader, state.book, state.keys[0])

    def forget(self, state: Any, slot: int) -> None:
        """See `Policy.forget`."""
        clear_book(state.book, slot)

    def leader(self, state: Any) -> NDArray[np.int64]:
        """See `Policy.leader`."""
        self._settle(state)
        return couples_of(state.leader)

    def statistics(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `Policy.statistics`."""
        return state.book.tries, state.book.games


class LeaderCounting(Leading):
    """A policy whose state also counts how often each leader has led; see `kernels.neighbours`."""

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`; leaders of other players are none of these players' leaders."""
        state.now[PRESENT] = len(present)
        leader_counts.forget_all(state.counts)

    def grow(self, state: Any) -> Any:
        """See `Policy.grow`."""
        return state._replace(counts=leader_counts.grown(state.counts))

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        return saved_book(state.book) | {
            "round": state.now[[ROUND]],
            "leaders": state.counts.keys,
            "leader_counts": state.counts.counts,
        }

    def load(self, state: Any, arrays: Arrays) -> Any:
        """See `Policy.load`."""
        load_book(state.book, arrays)
        (state.now[ROUND],) = numbers(arrays, "round")
        leaders, counts = arrays["leaders"], numbers(arrays, "leader_counts")
        used = np.count_nonzero(leaders)
        require(leaders.dtype == np.uint64, "its leaders are no fingerprints")
        require(leaders.shape == counts.shape, "its leaders have no counts")
        require(np.all(counts < 2**62), "some of its leaders have led for ever")
        require(len(leaders).bit_count() == 1 and 2 * used <= len(leaders), "its table is no table")
        table = leader_counts.LeaderCounts(leaders.copy(), counts.copy(), np.array([used]))
        return state._replace(counts=table)


def couples_of(leader: Leader) -> NDArray[np.int64]:
    """Return the leader's couples in their order, the phantom's included."""
    couples: NDArray[np.int64] = leader.order[: 2 * leader.couples[0]].reshape(-1, 2)
    return couples
