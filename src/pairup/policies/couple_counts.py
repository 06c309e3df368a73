"""Counts of couples: how often each was proposed and played, as arrays of those that were seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.runtime.dispatch import observe_step
from pairup.kernels.runtime.foreign_steps import for_state
from pairup.saved_arrays import Arrays, numbers, require

Integers = NDArray[np.int64]


class CoupleCounts(NamedTuple):
    """The couples seen, the slots of each ascending, with their proposals and games."""

    low: Integers
    high: Integers
    tries: Integers
    games: Integers


def pick_counts(tries: Integers, games: Integers) -> dict[str, NDArray[Any]]:
    """Pick the couples seen from counts that are upper triangles, by the names of their arrays."""
    low, high = seen = np.nonzero(tries)
    return CoupleCounts(low, high, tries[seen], games[seen])._asdict()


def checked_counts(arrays: Arrays, slots: int) -> CoupleCounts:
    """Read saved counts of couples among so many slots, or refuse them with an `ArchiveError`."""
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    require(len(low) == len(high) == len(tries) == len(games), "its couples are incomplete")
    require(np.all((low < high) & (high < slots)), "it has couples of unknown players")
    require(np.all(games <= tries), "it has more games than proposals")
    return CoupleCounts(low, high, tries, games)


def observe_counts(state: Any, counts: CoupleCounts) -> None:
    """Let a policy's state observe counted outcomes one by one, of each couple its games first."""
    couples = np.stack([counts.low, counts.high], axis=1)
    repeated = np.repeat(couples, counts.tries, axis=0).astype(np.int64)
    first = np.repeat(np.cumsum(counts.tries) - counts.tries, counts.tries)
    played = np.arange(len(repeated)) - first < np.repeat(counts.games, counts.tries)
    if len(repeated):
        for_state(observe_step, state)(state, repeated, played)
