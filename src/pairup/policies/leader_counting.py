"""Policies that count how often each leader has led."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import leader_counts
from pairup.kernels.state_layout import PRESENT
from pairup.policies.base import Slots
from pairup.policies.couples import CouplePolicy
from pairup.saved_arrays import Arrays, numbers, require


class LeaderCountingPolicy(CouplePolicy):
    """A policy whose state also has `counts`: how often each leader has led."""

    def set_present(self, state: Any, present: Slots) -> None:
        # Leaders of other players no longer count.
        state.now[PRESENT] = len(present)
        leader_counts.clear(state.counts)

    def grow(self, state: Any) -> Any:
        return state._replace(counts=leader_counts.grown(state.counts))

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        counts = {"leaders": state.counts.keys, "leader_counts": state.counts.counts}
        return super().saved(state) | counts

    def load(self, state: Any, arrays: Arrays) -> Any:
        super().load(state, arrays)
        leaders, counts = arrays["leaders"], numbers(arrays, "leader_counts")
        used = np.count_nonzero(leaders)
        require(leaders.dtype == np.uint64, "its leaders are not fingerprints")
        require(leaders.shape == counts.shape, "its leaders have no counts")
        require(np.all(counts < 2**62), "some of its leaders have led too often")
        sized = len(leaders).bit_count() == 1 and 2 * used <= len(leaders)
        require(sized, "its table of leaders has a wrong size")
        table = leader_counts.LeaderCounts(leaders.copy(), counts.copy(), np.array([used]))
        return state._replace(counts=table)
