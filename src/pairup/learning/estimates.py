"""What a learner knows of couples and of players, by their names."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

import numpy as np

Couple = tuple[Hashable, Hashable]


class Estimate(NamedTuple):
    """What is known of a couple: how often it was proposed with known outcome, and played."""

    couple: Couple
    proposed: int
    played: int

    @property
    def rate(self) -> float:
        """Share of the proposals that were played."""
        return self.played / self.proposed


class Rate(NamedTuple):
    """What is known of a player: its acceptance rate, and how far off that may be."""

    player: Hashable
    rate: float
    deviation: float  # one standard deviation


def known_couples(
    tries: np.ndarray,
    games: np.ndarray,
    name: Callable[[int], Hashable],
    most: int | None = None,
) -> list[Estimate]:
    """List the couples with known outcomes, the best rate first.

    Parameters
    ----------
    tries, games
        How often each couple was proposed with known outcome, and played, as upper triangles.
    name
        Of the player in a slot.
    most
        Only so many couples, those proposed most often.

    Examples
    --------
    >>> known_couples(np.array([[0, 4], [0, 0]]), np.array([[0, 3], [0, 0]]), "ab".__getitem__)
    [Estimate(couple=('a', 'b'), proposed=4, played=3)]
    """
    i, j = np.nonzero(tries)
    if most is not None and most < len(i):
        picked = np.sort(_most_often(tries[i, j], games[i, j], most))
        i, j = i[picked], j[picked]
    known = [
        Estimate((name(i), name(j)), int(tries[i, j]), int(games[i, j]))
        for i, j in zip(i.tolist(), j.tolist(), strict=True)
    ]
    return sorted(known, key=lambda estimate: estimate.rate, reverse=True)


def _most_often(tries: np.ndarray, games: np.ndarray, most: int) -> np.ndarray:
    """Pick what was tried most often; of what was tried equally often, what was played most."""
    least = np.partition(tries, len(tries) - most)[len(tries) - most] if most else tries.max() + 1
    sure, rest = np.flatnonzero(tries > least), np.flatnonzero(tries == least)
    by_games = rest[np.argsort(-games[rest], kind="stable")]
    return np.concatenate([sure, by_games[: most - len(sure)]])
