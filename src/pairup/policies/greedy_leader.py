"""Policies that keep statistics of couples and their greedy leader."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import greedy_leader, neighbours
from pairup.policies.couples import CouplePolicy, couples_of
from pairup.policies.leader_counting import LeaderCountingPolicy


class GreedyLeaderPolicy(CouplePolicy):
    """A policy whose state has `stats`, their greedy `leader`, and `keys`, the first for ties."""

    def _update_leader(self, state: Any) -> None:
        """Update the leader by the statistics, in place."""
        greedy_leader.update(state.leader, state.stats, state.keys[0])

    def leader(self, state: Any) -> NDArray[np.int64]:
        self._update_leader(state)
        return couples_of(state.leader)


class GreedyNeighbourPolicy(LeaderCountingPolicy, GreedyLeaderPolicy):
    """A policy that looks around its greedy leader; see `kernels.neighbours`."""

    def _update_leader(self, state: Any) -> None:
        neighbours.update_leader(state)
