"""A crowd: simulated players with their true acceptance rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pairup.errors import SimulationError
from pairup.problem import Problem
from pairup.problem.rates import BetaParameters

_RATINGS = 1500.0, 200.0  # mean and deviation
_REGIONS = "eu", "us"


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
    >>> Crowd([0.9, 0.5], seed=7, rated=True).attributes["s7-002"]
    {'rating': 1799.0, 'region': 'us'}
    """

    starting: Sequence[float]  # rates of the players at the start
    distribution: BetaParameters | None = (
        None  # of a newcomer's rate; None: that of the player it replaces
    )
    seed: int = 0
    rated: bool = False  # players have a rating and a region
    rates: dict[str, float] = field(default_factory=dict)  # of the players present, by name
    attributes: dict[str, dict[str, float | str]] = field(default_factory=dict)  # of rated players

    def __post_init__(self) -> None:
        Problem(self.starting)  # refuses numbers that are not rates
        # Three streams: who comes and goes does not depend on what is proposed and answered, nor on
        # ratings and regions.
        self._moves = np.random.default_rng([self.seed, 1])
        self._answers = np.random.default_rng([self.seed, 2])
        self._features = np.random.default_rng([self.seed, 3])
        self._joined = 0
        for rate in self.starting:
            self._add(rate)

    def _add(self, rate: float) -> str:
        self._joined += 1
        name = f"s{self.seed}-{self._joined:03d}"
        self.rates[name] = float(rate)
        if self.rated:
            rating = float(round(self._features.normal(*_RATINGS)))
            region = str(self._features.choice(_REGIONS))
            self.attributes[name] = {"rating": rating, "region": region}
        return name

    def replace(self, player: str) -> str:
        """Replace a player by another one; return the newcomer."""
        rate = self.rates.pop(player)
        self.attributes.pop(player, None)
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


def expected_games(rates: Sequence[float]) -> tuple[float, float]:
    """Return the expected games of the best matching, and of one drawn at random."""
    values = np.asarray(rates)
    couples = len(values) * (len(values) - 1)
    mean = (values.sum() ** 2 - (values**2).sum()) / couples
    return float(Problem(values).best_games), float(len(values) // 2 * mean)
