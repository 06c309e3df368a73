"""Counts of couples: how often each was proposed and played, as arrays of those that were seen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.steps import observe_step
from pairup.compiled.third_party import for_state
from pairup.problem.meeting_graph import find_sorted
from pairup.saved_arrays import Arrays, numbers, require

Integers = NDArray[np.int64]

MAX_SLOTS = 2**31  # a couple fits into one integer
_MAX_TRIES = 2**53  # of a couple: rates are computed in real numbers


class CoupleCounts(NamedTuple):
    """The couples with known outcomes: how often each was proposed and played.

    In each couple low < high, and the couples are in ascending order. There are as many as have
    met, however many players there are.

    Examples
    --------
    >>> counts = pick_counts(np.array([[0, 2], [0, 0]]), np.array([[0, 1], [0, 0]]))
    >>> counts.low.tolist(), counts.high.tolist(), counts.tries.tolist(), counts.games.tolist()
    ([0], [1], [2], [1])
    """

    low: Integers
    high: Integers
    tries: Integers
    games: Integers

    @property
    def couples(self) -> Integers:
        """The couples as rows of two slots."""
        return np.stack([self.low, self.high], axis=1).astype(np.int64)

    def among(self, slots: Integers) -> CoupleCounts:
        """Pick the couples whose players are both in `slots`."""
        both = np.isin(self.low, slots) & np.isin(self.high, slots)
        return CoupleCounts(*(each[both] for each in self))

    def between(self, one: Integers, other: Integers) -> tuple[Integers, Integers]:
        """Look up tries and games of couples in any order; 0 for couples that have not met."""
        low, high = np.broadcast_arrays(np.minimum(one, other), np.maximum(one, other))
        width = 1 + max(self.high.max(initial=0), high.max(initial=0))
        known, wanted = self.low * width + self.high, low * width + high
        places, met = find_sorted(wanted, known)
        places = np.where(met, places, len(known))
        return np.append(self.tries, 0)[places], np.append(self.games, 0)[places]


def pick_counts(tries: Integers, games: Integers) -> CoupleCounts:
    """Pick the couples that have met from counts that are upper triangles."""
    low, high = seen = np.nonzero(tries)
    return CoupleCounts(low, high, tries[seen], games[seen])


def checked_counts(arrays: Arrays, slots: int = MAX_SLOTS) -> CoupleCounts:
    """Read saved counts of couples of `slots` slots, or refuse them with an `SavingError`."""
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    require(len(low) == len(high) == len(tries) == len(games), "its couples are incomplete")
    require(np.all((low < high) & (high < slots)), "it has couples of unknown players")
    require(np.all(games <= tries), "it has more games than proposals")
    require(np.all(tries < _MAX_TRIES), "it has more proposals than it can count")
    return CoupleCounts(low, high, tries, games)


def observe_counts(state: Any, counts: CoupleCounts) -> None:
    """Observe counted outcomes one by one, in place; of each couple its games come first."""
    repeated = np.repeat(counts.couples, counts.tries, axis=0)
    first = np.repeat(np.cumsum(counts.tries) - counts.tries, counts.tries)
    played = np.arange(len(repeated)) - first < np.repeat(counts.games, counts.tries)
    if len(repeated):
        for_state(observe_step, state)(state, repeated, played)
