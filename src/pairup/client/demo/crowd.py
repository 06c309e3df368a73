"""A crowd: simulated players with their true acceptance rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pairup.errors import SimulationError
from pairup.problem import Problem

BetaParameters = tuple[float, float]  # the two parameters of a beta distribution


@dataclass
class Crowd:
    """Players with their true rates; the seed decides who comes and goes and what they answer.

    Examples
    --------
    >>> crowd = Crowd([0.9, 0.5], seed=7)
    >>> list(crowd.rates)
    ['s7-001', 's7-002']
    >>> crowd.replace("s7-002"), list(crowd.rates)
    ('s7-003', ['s7-001', 's7-003'])
    """

    starting: Sequence[float]  # rates of the players at the start
    distribution: BetaParameters | None = (
        None  # of a newcomer's rate; None: that of the player it replaces
    )
    seed: int = 0
    rates: dict[str, float] = field(default_factory=dict)  # of the players present, by name

    def __post_init__(self) -> None:
        Problem(self.starting)  # refuses numbers that are not rates
        # Two streams: who comes and goes does not depend on what is proposed and answered.
        self._moves = np.random.default_rng([self.seed, 1])
        self._answers = np.random.default_rng([self.seed, 2])
        self._joined = 0
        for rate in self.starting:
            self._add(rate)

    def _add(self, rate: float) -> str:
        self._joined += 1
        name = f"s{self.seed}-{self._joined:03d}"
        self.rates[name] = float(rate)
        return name

    def replace(self, player: str) -> str:
        """Let a player go and another one come; return the newcomer."""
        rate = self.rates.pop(player)
        return self._add(
            rate if self.distribution is None else self._moves.beta(*self.distribution)
        )

    def change(self, share: float) -> list[str]:
        """Draw the rates of a share of the players again; return those players.

        Examples
        --------
        >>> crowd = Crowd([0.9, 0.5, 0.3, 0.1], distribution=(2, 3))
        >>> len(crowd.change(0.5))
        2
        """
        if self.distribution is None:
            raise SimulationError("rates are drawn again from a distribution: give the crowd one")
        chosen = self._moves.permutation(list(self.rates))[: round(share * len(self.rates))]
        self.rates |= {
            str(player): float(self._moves.beta(*self.distribution)) for player in chosen
        }
        return [str(player) for player in chosen]

    def sample(self, probability: float) -> list[str]:
        """Choose each player with a probability, from the stream of moves."""
        if probability == 0:
            return []
        chosen = self._moves.random(len(self.rates)) < probability
        return [player for player, yes in zip(self.rates, chosen, strict=True) if yes]

    def happens(self, probability: float) -> bool:
        """Draw whether something happens, from the stream of answers."""
        return bool(self._answers.random() < probability)


def parse_distribution(text: str) -> BetaParameters:
    """Read a distribution of rates, such as ``beta:2,3``.

    Examples
    --------
    >>> parse_distribution("beta:2,3")
    (2.0, 3.0)
    """
    name, _, numbers = text.partition(":")
    try:
        first, second = map(float, numbers.split(","))
    except ValueError:
        first = second = 0.0
    if name != "beta" or not (0 < first < np.inf and 0 < second < np.inf):
        raise SimulationError(
            f"a distribution is beta:A,B with positive numbers, got {text!r}: try beta:2,3"
        )
    return first, second


def expected_games(rates: Sequence[float]) -> tuple[float, float]:
    """Return the expected games of the best matching, and of one drawn at random."""
    values = np.asarray(rates)
    couples = len(values) * (len(values) - 1)
    mean = (values.sum() ** 2 - (values**2).sum()) / couples
    return float(Problem(values).best_games), float(len(values) // 2 * mean)
