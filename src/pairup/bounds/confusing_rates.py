"""Confusing rates: they look like the true ones under the optimum, but have another optimum.

Playing the optimum shows the product of the rates of each of its couples and nothing else. Rates
are therefore confusing when they keep these products, one player of a couple e^x times better and
the partner e^x times worse, and a player of a lower couple overtakes a player of a better one, so
that a swap of these two gains. In the coordinates x, one per couple, the information that an
exploration gathers is convex and "b overtakes a" is a half-space. The confusing rates that are
hardest to tell from the true ones therefore lie on its edge, where a and b are equal: one small
convex program for each such pair of players, and all of them are solved at once.

On two sides the same holds, but only players of the same side compete. Players whom the optimum
leaves waiting are free: it shows nothing of them, and one who overtakes a player of the same side
who is coupled would take the partner. The scale between the sides is not known, nor need it be: all
rows e^x times better and all columns e^x times worse give the same couples, and the search may move
along this direction as long as no rate exceeds 1.

Rates of 0 and 1, under the strict order of couples:

- Only players of the best couple can have rate 1. The partner of such a player cannot get worse,
  and a couple with two such players cannot change at all: nobody can overtake them.
- Only players of the last couple can have rate 0. Its product is then 0, and stays 0 as long as one
  of the two remains at 0: the other one is free. In a couple (r, 0) the better player is free. That
  the other one is free, and r is really 0, is refuted by the first game of the better player in any
  other couple, which takes plays, but not in proportion to ln T. In a couple (0, 0) either is free.
- The phantom, who takes the odd player out, is known to have rate 0. The player who waits is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairup.bounds.places import Places
from pairup.problem.rates import Floats

Indices = NDArray[np.intp]

_NEVER = -1e4  # in place of ln 0: e to it is 0 exactly, and it can be added up
_INSIDE = 1e-10  # share of its range that a coordinate keeps from the ends, for finite information
_STEPS = 100
_CLOSE = 1e-9  # relative accuracy of the information
_TRUSTED = 1e-9  # relative: a step that promises less is taken untested, rounding would decide
_FLAT = 1e-13  # relative: added to curvatures, for coordinates that an exploration leaves open
_SMALL = 1e-3  # of z / (1 - p): the closed form has lost the digits that the series still has


@dataclass(frozen=True)
class HardestRates:
    """For each pair of players, the confusing rates that an exploration can least rule out."""

    information: Floats  # that the exploration gathers against them, shape (pairs of players,)
    lower_bound: Floats  # by convexity, of the information against any confusing rates
    coefficients: Floats  # information of one play of each couple, shape (pairs, couples)
    rates: Floats  # the confusing rates, shape (pairs of players, places)


class ConfusingRates:
    """All confusing rates of a problem whose optimum is unique.

    `places` has the players in the order of the optimum. `first` and `second` are the places of
    each cross couple: two players of different couples of the optimum, who may meet. `better` and
    `worse` are the places of each pair of players in which the worse can overtake the better.
    """

    def __init__(self, places: Places) -> None:
        self.places, self.rates = places, places.rates
        first, second = np.triu_indices(len(self.rates), 1)
        other_couples = first // 2 < second // 2
        cross = other_couples & places.may_meet(first, second)
        self.first, self.second = first[cross], second[cross]
        able = other_couples & places.compete(first, second)
        able &= places.may_rise[second] & ~places.is_phantom[first ^ 1]  # who waits has no partner
        if np.prod(self.rates[:2]) == 1:
            able &= first >= 2  # nobody can overtake them
        self.better, self.worse = first[able], second[able]
        self._set_coordinates()

    def _set_coordinates(self) -> None:
        """Write the log rate in each place as start + offset + sign * x[column]."""
        rates, pairs, count = self.rates, len(self.better), len(self.rates)
        self.start = np.log(np.where(rates > 0, rates, 1.0))
        self.rate = rates[self.first] * rates[self.second]  # of each cross couple
        # The same, with 1 in place of the rate 0 of a player.
        self.unit = np.exp(self.start[self.first] + self.start[self.second])
        self.offset = np.tile(np.where(rates > 0, 0.0, _NEVER), (pairs, 1))
        sign = np.tile([1.0, -1.0], count // 2)
        low, high = self.start[1::2].copy(), -self.start[::2]
        for k in np.flatnonzero(self.places.is_open).tolist():
            one, other = 2 * k, 2 * k + 1
            sign[[one, other]] = rates[one] > 0, rates[other] > 0
            free = one if rates[one] > 0 else other
            # Worse than this against its worst partner, nothing gets harder to rule out.
            low[k], high[k] = self.places.worst_partner(free), -self.start[free]
        self.sign, self.low, self.high = (np.tile(each, (pairs, 1)) for each in (sign, low, high))
        self.column = np.tile(np.arange(count) // 2, (pairs, 1))
        self._equate(np.arange(pairs), self.better, self.worse)

    def _equate(self, rows: Indices, top: Indices, low: Indices) -> None:
        """Make the coordinate of a's couple the common log rate of a and b, relative to a's own."""
        rates = self.rates
        distance = self.start[top] - np.where(rates[low] > 0, self.start[low], 0.0)
        self.sign[rows, top], self.sign[rows, top ^ 1] = 1.0, -1.0
        self.sign[rows, low], self.offset[rows, low] = 1.0, distance
        closed = rates[low ^ 1] > 0
        self.sign[rows, low ^ 1] = np.where(closed, -1.0, 0.0)
        self.offset[rows, low ^ 1] = np.where(closed, -distance, _NEVER)
        self.column[rows, low] = self.column[rows, low ^ 1] = top // 2
        self.low[rows, top // 2], self.high[rows, top // 2] = self.start[top ^ 1], -self.start[top]
        self.low[rows, low // 2] = self.high[rows, low // 2] = 0.0
        # The search begins near the true rates, with a and b halfway between theirs.
        x, margin = np.zeros_like(self.low), 1e-2 * (self.high - self.low)
        x[rows, top // 2] = -distance / 2
        self.x = np.clip(x, self.low + margin, self.high - margin)

    def hardest(self, plays: Floats, enough: float = np.inf) -> HardestRates:
        """Find the confusing rates that an exploration is least able to rule out.

        The exploration plays each cross couple `plays` times. The search for a pair of players may
        stop when more information than `enough` is certain.
        """
        programs = _ConvexPrograms(self, plays)
        self.x = programs.solve(self.x, enough)
        by_place = np.take_along_axis(self.x, self.column, axis=1)
        rates = np.exp(self.start + self.offset + self.sign * by_place)
        moved = self.offset + self.sign * by_place
        shift = moved[:, self.first] + moved[:, self.second]
        coefficients = information(self.rate, self.unit * np.exp(shift), shift)
        lower_bound = programs.lower_bound(self.x)
        return HardestRates(coefficients @ plays, lower_bound, coefficients, rates)


class _ConvexPrograms:
    """The convex programs of all pairs of players, for the couples that an exploration plays."""

    def __init__(self, confusing: ConfusingRates, plays: Floats) -> None:
        self.confusing = confusing
        self.played = np.flatnonzero(plays)
        self.plays = plays[self.played]
        self.rate = confusing.rate[self.played]
        self.unit = confusing.unit[self.played]
        first, second = confusing.first[self.played], confusing.second[self.played]
        self.offset = confusing.offset[:, first] + confusing.offset[:, second]
        pairs, coordinates = confusing.low.shape
        self.slopes = np.zeros((pairs, len(self.played), coordinates))
        rows, couples = np.arange(pairs)[:, None], np.arange(len(self.played))
        for place in (first, second):
            self.slopes[rows, couples, confusing.column[:, place]] += confusing.sign[:, place]
        self.fixed = confusing.low == confusing.high
        margin = _INSIDE * (confusing.high - confusing.low)
        self.low, self.high = confusing.low + margin, confusing.high - margin

    def _rates(self, x: Floats, rows: Indices | slice) -> tuple[Floats, Floats]:
        shift = self.offset[rows] + (self.slopes[rows] @ x[..., None])[..., 0]
        return shift, self.unit * np.exp(shift)

    def value(self, x: Floats, rows: Indices | slice = slice(None)) -> Floats:
        """Return the information at x, infinite where a couple would surely play."""
        shift, other = self._rates(x, rows)
        return information(self.rate, np.minimum(other, 1.0), shift) @ self.plays

    def gradient(self, x: Floats, rows: Indices | slice = slice(None)) -> Floats:
        """Return the slope of the information at x."""
        shift, other = self._rates(x, rows)
        weights = self.plays * slope(self.rate, other, shift)
        return (weights[:, None, :] @ self.slopes[rows])[:, 0]

    def lower_bound(self, x: Floats) -> Floats:
        """Bound the information against any confusing rates from below."""
        fall = _fall(self.gradient(x), x, self.confusing.low, self.confusing.high)
        return np.maximum(self.value(x) - fall, 0.0)

    def solve(self, x: Floats, enough: float) -> Floats:
        """Minimise the information by Newton steps, cut off at the ends of the coordinates."""
        x = np.clip(x, self.low, self.high)
        rows = np.arange(len(x))
        for _ in range(_STEPS):
            value, gradient = self.value(x[rows], rows), self.gradient(x[rows], rows)
            slack = _fall(gradient, x[rows], self.low[rows], self.high[rows])
            rows = rows[(slack > _CLOSE * np.maximum(value, 1e-3)) & (value - slack < enough)]
            if not len(rows):
                break
            x[rows] = self._step(x[rows], rows)
        return x

    def _step(self, x: Floats, rows: Indices) -> Floats:
        gradient = self.gradient(x, rows)
        low, high = self.low[rows], self.high[rows]
        held = ((x <= low) & (gradient > 0)) | ((x >= high) & (gradient < 0)) | self.fixed[rows]
        gradient = np.where(held, 0.0, gradient)
        newton = np.linalg.solve(self._hessian(x, rows, held), -gradient[..., None])
        return self._line_search(x, newton[..., 0].astype(np.float64), gradient, rows)

    def _hessian(self, x: Floats, rows: Indices, held: Floats) -> Floats:
        _, other = self._rates(x, rows)
        weights = self.plays * curvature(self.rate, other)
        slopes = np.where(held[:, None, :], 0.0, self.slopes[rows])
        hessian = np.swapaxes(slopes, 1, 2) @ (weights[..., None] * slopes)
        diagonal = np.arange(x.shape[1])
        scale = hessian[:, diagonal, diagonal].max(axis=1, keepdims=True)
        hessian[:, diagonal, diagonal] += np.where(held, 1.0, _FLAT * scale + 1e-300)
        return hessian

    def _line_search(self, x: Floats, direction: Floats, gradient: Floats, rows: Indices) -> Floats:
        """Halve each step until it gains enough."""
        value, step = self.value(x, rows), np.ones((len(x), 1))
        low, high = self.low[rows], self.high[rows]
        trusted = -(gradient * direction).sum(axis=1) < _TRUSTED * np.maximum(value, 1e-3)
        for _ in range(50):
            there = np.clip(x + step * direction, low, high)
            gained = 1e-4 * (gradient * (there - x)).sum(axis=1)
            poor = ~trusted & ~(self.value(there, rows) <= value + gained)
            if not poor.any():
                return there
            step[poor] /= 2
        return np.where(poor[:, None], x, there)


def _fall(gradient: Floats, x: Floats, low: Floats, high: Floats) -> Floats:
    """How far the tangent at x falls inside a box; a convex function falls no further."""
    return np.maximum(gradient * (x - low), gradient * (x - high)).sum(axis=1)


# Information: a couple with rate p, tested against the rate r = p e^z, gives kl(p, r) =
# p ln(p / r) + (1 - p) ln((1 - p) / (1 - r)) per play, which is convex in z; for p = 0 it is
# -ln(1 - r), convex in ln r. It is infinite where r = 1, because p is below 1 here.


def information(rate: Floats, other: Floats, shift: Floats) -> Floats:
    """Return kl(rate, other), accurate also where both are nearly the same.

    `rate` is in [0, 1), and `other` in [0, 1] is ``rate * exp(shift)`` where the rate is positive;
    elsewhere `shift` is not read.

    Examples
    --------
    >>> information(np.array([0.5, 0.0]), np.array([0.25, 0.5]), np.log([0.5, 1.0])).round(4)
    array([0.1438, 0.6931])
    """
    left = 1 - rate
    shift = np.where(rate > 0, shift, 1.0)  # so that 0 times it is 0
    with np.errstate(divide="ignore"):
        exact = left * (np.log1p(-rate) - np.log1p(-other)) - rate * shift
    step = shift / left
    small = (rate > 0) & (np.abs(step) < _SMALL)
    step = np.where(small, step, 0.0)
    third, fourth = (1 + rate) / 6, (1 + rate * (4 + rate)) / 24
    fifth = (1 + rate * (11 + rate * (11 + rate))) / 120
    series = rate * left * step**2 * (0.5 + step * (third + step * (fourth + step * fifth)))
    return np.where(small, series, exact)


def slope(rate: Floats, other: Floats, shift: Floats) -> Floats:
    """Return the derivative of the information in z, (other - rate) / (1 - other)."""
    with np.errstate(divide="ignore"):
        return np.where(rate > 0, rate * np.expm1(shift), other) / (1 - other)


def curvature(rate: Floats, other: Floats) -> Floats:
    """Return the second derivative of the information in z, never negative."""
    with np.errstate(divide="ignore"):
        return (1 - rate) * other / (1 - other) ** 2
