"""Bounds of the KL indices of couples, from when they were last solved: without logarithms.

The index q of a couple with g games and f proposals without a game solves G(g, f, q) = level for

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

import numpy as np

from pairup.compiled.couples.kl_index import kl_index
from pairup.compiled.kernels import kernel
from pairup.compiled.logarithm import log

# What is kept of each couple: the index (-1 where nothing is known), what it was solved for, the
# two logarithms, and 1 / (P (1 - P)).
INDEX, _LEVEL, _GAMES, _REST, _MEAN, _LOG_REST, _LOG_GAMES, _CURVATURE, ENTRIES = range(9)


def new_anchors(*shape):
    """An array of anchors: nothing was solved yet."""
    anchors = np.zeros((*shape, ENTRIES))
    anchors[..., INDEX] = -1.0
    return anchors


@kernel
def solve_index(anchor, stats, i, j, level):
    """The index of the couple (i, j), i < j, which was proposed before; it is the new anchor."""
    tries, games = stats.tries[i, j], float(stats.games[i, j])
    rest = float(tries) - games
    if anchor[INDEX] >= 0.0 and _stands(anchor, games, rest, level):
        return anchor[INDEX]
    mean = stats.mean[i, j]
    q = kl_index(mean, tries, level)
    anchor[INDEX] = -1.0
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
