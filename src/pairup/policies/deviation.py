"""How far couples deviate from the products of their players' rates, as far as it is known.

Of players whose rates have the product m, a couple plays with a chance drawn from the Beta
distribution of mean m and a concentration k: its standard deviation is sqrt(m (1 - m) / (k + 1)).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.intervals import LEVEL

Floats = NDArray[np.float64]

_POINTS = 100  # between two concentrations
_INTERPOLATION_ERROR = 0.05  # of the logarithm of a concentration: between two of them


class CoupleDeviation(NamedTuple):
    """By how much chances of couples differ from products of rates, with a 95% interval.

    `estimate` is the median of the standard deviation of a couple's chance.
    """

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        """Describe it in words.

        Examples
        --------
        >>> print(CoupleDeviation(0.041, 0.022, 0.068))
        couples follow the players' rates to within 4.1 points (95% interval 2.2 to 6.8)
        >>> print(CoupleDeviation(0.0, 0.0, 0.012))
        no deviation of couples from the players' rates has shown: it is at most 1.2 points
        """
        estimate, low, high = (f"{100 * each:.1f}" for each in self)
        if float(low) == 0.0:
            return (
                "no deviation of couples from the players' rates has shown: "
                f"it is at most {high} points"
            )
        return (
            f"couples follow the players' rates to within {estimate} points "
            f"(95% interval {low} to {high})"
        )


class ConcentrationChances(NamedTuple):
    """Which concentrations explain what couples played.

    The `concentrations` are descending, and the first is infinite: it stands for no deviation. Of
    each, `log_chances` is the logarithm of how likely it is, up to a constant, where all of them
    are equally likely beforehand.
    """

    concentrations: Floats
    log_chances: Floats

    @property
    def chances(self) -> Floats:
        """How likely each concentration is."""
        chances = np.exp(self.log_chances - self.log_chances.max())
        return np.asarray(chances / chances.sum())

    def deviation(self, variance: float) -> CoupleDeviation:
        """Return how far couples deviate whose products m have the mean `variance` m (1 - m).

        Concentrations between those considered are possible too: the logarithms of their chances
        are interpolated.

        Examples
        --------
        >>> found = ConcentrationChances(
        ...     np.array([np.inf, 1000.0, 100.0, 10.0]), np.array([-9.0, -8.0, 0.0, -9.0])
        ... )
        >>> print(found.deviation(0.16))
        couples follow the players' rates to within 3.8 points (95% interval 2.2 to 6.6)
        """
        places, density = self._density()
        cumulated = np.cumsum(density) / density.sum()
        exact = float(self.chances[0])
        tail = (1.0 - LEVEL) / 2.0
        low, estimate, high = (
            self._at(places, cumulated, (level - exact) / max(1.0 - exact, 1e-300), variance)
            for level in (tail, 0.5, 1.0 - tail)
        )
        return CoupleDeviation(estimate, low, high)

    @staticmethod
    def _at(places: Floats, cumulated: Floats, level: float, variance: float) -> float:
        """Return the deviation below which a share `level` of those above 0 is."""
        if level <= 0.0:
            return 0.0
        return math.sqrt(variance / (1.0 + math.exp(-np.interp(level, cumulated, places))))

    def _density(self) -> tuple[Floats, Floats]:
        """Return the density of minus the logarithm of the concentration, where it is finite.

        It begins half a step before the concentrations considered, and ends two beyond: how far
        couples deviate that fit the smallest best is not known, and its chances are then even.
        """
        from scipy.interpolate import CubicSpline

        knots = -np.log(self.concentrations[1:])
        curve = CubicSpline(knots, self.log_chances[1:] - self.log_chances[1:].max())
        first, last = 1.5 * knots[0] - 0.5 * knots[1], 3.0 * knots[-1] - 2.0 * knots[-2]
        places = np.linspace(first, last, _POINTS * (len(knots) + 2))
        inside = np.clip(places, knots[0], knots[-1])
        slopes = np.where(
            places > knots[-1], np.minimum(curve(knots[-1], 1), 0.0), curve(inside, 1)
        )
        values = curve(inside) + slopes * (places - inside)
        density = np.exp(values - values.max())
        step = places[1] - places[0]
        width = np.arange(-3.0 * _INTERPOLATION_ERROR, 3.0 * _INTERPOLATION_ERROR + step, step)
        return places, np.convolve(
            density, np.exp(-0.5 * (width / _INTERPOLATION_ERROR) ** 2), "same"
        )
