"""Policies that keep statistics of couples and their greedy leader."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import greedy_leader, leader_counts
from pairup.kernels.counters import PRESENT, ROUND
from pairup.policies.base import CouplePolicy, Slots
from pairup.states.couple_statistics import (
    load_couple_statistics,
    saved_couple_statistics,
)
from pairup.states.leaders import couples_of
from pairup.states.saved_arrays import Arrays, numbers, require


class GreedyLeaderPolicy(CouplePolicy):
    """A policy whose state has `stats`, their greedy `leader`, and `keys`, the first for ties."""

    def _update_leader(self, state: Any) -> None:
        """Update the leader by the statistics, in place."""
        greedy_leader.update(state.leader, state.stats, state.keys[0])

    def leader(self, state: Any) -> NDArray[np.int64]:
        """See `Policy.leader`."""
        self._update_leader(state)
        return couples_of(state.leader)


class LeaderCountingPolicy(GreedyLeaderPolicy):
    """A policy whose state also counts how often each leader has led; see `kernels.neighbours`."""

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`; leaders of other players no longer count."""
        state.now[PRESENT] = len(present)
        leader_counts.clear(state.counts)

    def grow(self, state: Any) -> Any:
        """See `Policy.grow`."""
        return state._replace(counts=leader_counts.grown(state.counts))

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        return saved_couple_statistics(state.stats) | {
            "round": state.now[[ROUND]],
            "leaders": state.counts.keys,
            "leader_counts": state.counts.counts,
        }

    def load(self, state: Any, arrays: Arrays) -> Any:
        """See `Policy.load`."""
        load_couple_statistics(state.stats, arrays)
        (state.now[ROUND],) = numbers(arrays, "round")
        leaders, counts = arrays["leaders"], numbers(arrays, "leader_counts")
        used = np.count_nonzero(leaders)
        require(leaders.dtype == np.uint64, "its leaders are not fingerprints")
        require(leaders.shape == counts.shape, "its leaders have no counts")
        require(np.all(counts < 2**62), "some of its leaders have led too often")
        require(
            len(leaders).bit_count() == 1 and 2 * used <= len(leaders),
            "its table of leaders has a wrong size",
        )
        table = leader_counts.LeaderCounts(leaders.copy(), counts.copy(), np.array([used]))
        return state._replace(counts=table)
