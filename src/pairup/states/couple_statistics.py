"""Saving, loading and clearing the statistics of couples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.states.saved_arrays import Arrays, numbers, require


def saved_couple_statistics(stats: CoupleStatistics) -> dict[str, NDArray[Any]]:
    """Pick what the statistics are made from: the couples seen, and their counts."""
    low, high = np.nonzero(stats.tries)
    return {
        "low": low,
        "high": high,
        "tries": stats.tries[low, high],
        "games": stats.games[low, high],
    }


def load_couple_statistics(stats: CoupleStatistics, arrays: Arrays) -> None:
    """Fill blank statistics in place."""
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    require(len(low) == len(high) == len(tries) == len(games), "its couples are incomplete")
    phantom = len(stats.tries) - 1
    require(np.all((low < high) & (high < phantom)), "it has couples of unknown players")
    require(np.all(games <= tries), "it has more games than proposals")
    stats.tries[low, high] = tries
    stats.games[low, high] = games
    stats.mean[low, high] = stats.mean[high, low] = games / tries


def clear_couple_statistics(stats: CoupleStatistics, slot: int) -> None:
    """Erase all couples of the player in `slot`, in place; the phantom's entries stay."""
    for table in stats:
        table[slot, :-1] = 0
        table[:-1, slot] = 0
