"""Leaders as rows of couples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.greedy_leader import Leader


def couples_of(leader: Leader) -> NDArray[np.int64]:
    """Return the leader's couples in their order, the phantom's included."""
    couples: NDArray[np.int64] = leader.order[: 2 * leader.couples[0]].reshape(-1, 2)
    return couples


def couples_in_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the couples of successive players; an odd one is left out."""
    return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)
