"""The KL-UCB index of a Bernoulli mean: sup {q >= mean : tries * kl(mean, q) <= level}.

Most indices need not be solved: bounds on them follow, without logarithms, from when they were
last solved. The index q of a couple with g games and f proposals without a game solves
G(g, f, q) = level for

    G(g, f, q) = (g + f) kl(p, q),  p = g / (g + f).

It was last solved for other g, f and level, with the result Q: its *anchor*. In g and f the
function G is convex and grows with their sum, so that with P the mean at the anchor, exactly,

    G(g, f, Q) = anchor's level + df log((1 - P) / (1 - Q)) - dg log(Q / P) + (g + f) kl(p, P),

where the two logarithms are known and the last term lies between 0 and (g + f) (p - P)^2 / (P (1 -
P)). In q it is convex too, with a derivative that needs no logarithm: a step of Newton's method
from Q ends above the index, and one with a derivative that is too small or too large for the
purpose below it. After m more outcomes of n the bounds are about m / (n sqrt(n)) apart, much less
than what an outcome moves the index by, 1 / n.
"""

import math

import numpy as np

from pairup.compiled.kernels import kernel, outlined
from pairup.compiled.logarithm import log

_NEAR_ONE = 1.0 - 2.0**-53


@kernel
def kl(p, q):
    """Divergence of Bernoulli(p) from Bernoulli(q), 0 <= p <= q < 1."""
    divergence = (1.0 - p) * log((1.0 - p) / (1.0 - q))
    if p > 0.0:
        divergence += p * log(p / q)
    return divergence


@kernel
def exploration_level(clock):
    """log t + 3 log log t, clamped to be positive for small t."""
    first = log(float(clock))
    return max(first + 3.0 * log(first), 0.0) if clock > 2 else 0.0


@kernel
def _start(mean, budget):
    """A point near the index: the root of the divergence's expansion, if it is near a parabola."""
    spread = mean * (1.0 - mean)
    radius = math.sqrt(2.0 * spread * budget)
    if radius < spread:
        return mean + radius * (1.0 + (1.0 - 2.0 * mean) * radius / (6.0 * spread))
    return mean + (1.0 - mean) * min(budget, 0.5)


@outlined  # a call is cheap against what it does, and many places would inline it
def kl_index(mean, tries, level):
    """The index of a couple tried `tries` >= 1 times, by Newton's method.

    The divergence is convex in q: from left of the root a step ends right of it, and from there
    the steps descend. Towards its pole at 1 a step covers at most fifteen sixteenths of the way.
    """
    if mean >= 1.0 or level <= 0.0:
        return mean
    budget = level / tries
    q = _start(mean, budget)
    for _ in range(60):
        step = (kl(mean, q) - budget) * q * (1.0 - q) / (q - mean)
        q = min(q - step, 1.0 - 0.0625 * (1.0 - q))
        # Each step squares the relative error, so the next one would be lost in rounding.
        if q >= _NEAR_ONE or abs(step) <= 1e-7 * min(q - mean, 1.0 - q):
            break
    return min(max(q, mean), _NEAR_ONE)


@kernel
def slope_at(mean, tries, q):
    """The derivative of the index by the level, at index `q`.

    The index is concave in the level: its tangent at any level bounds it at every other.
    """
    return q * (1.0 - q) / (tries * (q - mean)) if q > mean else 0.0


@kernel
def lower_bound(mean, rad, level):
    """A point at or left of the index, without a logarithm; `rad` is 1 / sqrt(tries).

    kl(p, q) <= (q - p)^2 / (2 min x(1 - x) over [p, q]).
    """
    q = min(mean + math.sqrt(0.5 * level) * rad, 1.0)
    spread = min(mean * (1.0 - mean), q * (1.0 - q))
    return mean + math.sqrt(2.0 * level * spread) * rad


# --- bounds ---------------------------------------------------------------------------------------

# What is kept of each couple: the index, UNKNOWN where nothing was solved, what it was solved for,
# the two logarithms, and 1 / (P (1 - P)).
INDEX, _LEVEL, _GAMES, _REST, _MEAN, _LOG_REST, _LOG_GAMES, _CURVATURE, ENTRIES = range(9)
UNKNOWN = -1.0


@kernel
def solve_index(anchor, stats, i, j, level):
    """The index of the couple (i, j), i < j, which was proposed before; it is the new anchor."""
    tries, games = stats.tries[i, j], float(stats.games[i, j])
    rest = float(tries) - games
    if anchor[INDEX] >= 0.0 and _stands(anchor, games, rest, level):
        return anchor[INDEX]
    mean = stats.mean[i, j]
    q = kl_index(mean, tries, level)
    anchor[INDEX] = UNKNOWN
    if mean < q < 1.0:
        anchor[INDEX], anchor[_LEVEL], anchor[_MEAN] = q, level, mean
        anchor[_GAMES], anchor[_REST] = games, rest
        anchor[_LOG_REST] = log((1.0 - mean) / (1.0 - q))
        anchor[_LOG_GAMES] = log(q / mean) if mean > 0.0 else 0.0
        anchor[_CURVATURE] = 1.0 / (mean * (1.0 - mean)) if mean > 0.0 else 0.0
    return q


@kernel
def _stands(anchor, games, rest, level):
    return anchor[_GAMES] == games and anchor[_REST] == rest and anchor[_LEVEL] == level


@kernel
def _excess(anchor, games, rest, level):
    """A number that G(g, f, Q) exceeds the level by, or a little less."""
    grown = anchor[_LOG_REST] * (rest - anchor[_REST]) - anchor[_LOG_GAMES] * (
        games - anchor[_GAMES]
    )
    return anchor[_LEVEL] - level + grown


@kernel
def _derivative(tries, mean, q):
    """The derivative of G by q."""
    return tries * (q - mean) / (q * (1.0 - q))


@kernel
def upper_line(anchor, stats, i, j):
    """Two numbers: the index of the couple (i, j), i < j, is at most the first + level * second."""
    games, tries, mean = float(stats.games[i, j]), float(stats.tries[i, j]), stats.mean[i, j]
    q = anchor[INDEX]
    if q < 0.0 or mean >= q or (anchor[_MEAN] == 0.0 and games > 0.0):
        return np.inf, 0.0
    slope = 1.0 / _derivative(tries, mean, q)
    return q - _excess(anchor, games, tries - games, 0.0) * slope, slope


@kernel
def upper_index(anchor, stats, i, j, level):
    """A number that the index of the couple (i, j), i < j, does not exceed."""
    games, tries = float(stats.games[i, j]), float(stats.tries[i, j])
    if anchor[INDEX] >= 0.0 and _stands(anchor, games, tries - games, level):
        return anchor[INDEX]
    base, slope = upper_line(anchor, stats, i, j)
    return min(base + slope * level, 1.0)


@kernel
def lower_index(anchor, stats, i, j, level):
    """A number that the index of the couple (i, j), i < j, does not fall below."""
    games, tries = float(stats.games[i, j]), float(stats.tries[i, j])
    q, mean = anchor[INDEX], stats.mean[i, j]
    if q < 0.0:
        return mean if tries > 0.0 else 1.0
    if _stands(anchor, games, tries - games, level):
        return q
    if mean >= q or (anchor[_MEAN] == 0.0 and games > 0.0):
        return mean
    drift = mean - anchor[_MEAN]
    least = _excess(anchor, games, tries - games, level)
    excess = least + tries * drift * drift * anchor[_CURVATURE]
    slope = _derivative(tries, mean, q)
    if excess <= 0.0:  # the index lies between Q and its upper bound, where the slope is greatest
        upper = q - least / slope
        return q - excess / _derivative(tries, mean, upper) if upper < 1.0 else q
    far = q - 2.0 * excess / slope  # below the index if the slope is at least half as large there
    if far <= mean:
        return mean
    far_slope = _derivative(tries, mean, far)
    return q - excess / far_slope if 2.0 * far_slope >= slope else mean


# --- the best neighbour ---------------------------------------------------------------------------

_MARGIN = 1e-12  # bounds closer than this are left to the exact index, which is good to 1e-15


def upper_gain(state, neighbour, level):
    """A bound on `exact_gain` from above, without solving."""


def lower_gain(state, neighbour, level):
    """A bound on `exact_gain` from below, without solving; -inf where nothing is known."""


def exact_gain(state, neighbour, level):
    """How many more games the neighbour could give than the leader, optimistically."""


def takes_lead(state, value, neighbour, best, best_neighbour):
    """Whether a neighbour with the gain `value` takes the lead from the best so far."""


@kernel
def best_neighbour(state, count, level):
    """The best of the neighbours 0 to `count` - 1, or -1 for the leader itself.

    If bounds do not tell, the likely neighbour and what may beat it are solved. A state has the
    functions above bound to it.
    """
    guess, best, second = -1, -np.inf, -np.inf
    for neighbour in range(count):
        upper = upper_gain(state, neighbour, level)
        if upper > best:
            guess, best, second = neighbour, upper, best
        else:
            second = max(second, upper)
    if best < -_MARGIN:
        return -1
    if guess >= 0 and lower_gain(state, guess, level) > max(second, 0.0) + _MARGIN:
        return guess
    return _solved_neighbour(state, count, level, guess)


@outlined
def _solved_neighbour(state, count, level, guess):
    """As `best_neighbour`, by exact indices; the likely one comes first."""
    best, best_number = 0.0, -1
    for turn in range(count):
        neighbour = guess if turn == 0 else turn - (turn <= guess)
        if upper_gain(state, neighbour, level) >= best - _MARGIN:
            gain = exact_gain(state, neighbour, level)
            if takes_lead(state, gain, neighbour, best, best_number):
                best, best_number = gain, neighbour
    return best_number
