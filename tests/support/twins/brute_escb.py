"""The best index of all matchings by enumeration, compiled: an oracle up to sixteen players."""

import math

import numba
import numpy as np


@numba.njit
def best_index(value, inverse, scale):
    """The best sum of values + scale * sqrt(sum of inverses) over all perfect matchings."""
    players = len(value)
    half = players // 2
    free = np.ones(players, np.bool_)
    first, partner = np.zeros(half + 1, np.int64), np.zeros(half + 1, np.int64)
    a, b = np.zeros(half + 1), np.zeros(half + 1)
    best, depth = -np.inf, 0
    while depth >= 0:
        i = first[depth]
        if partner[depth] > 0:
            free[i] = free[partner[depth]] = True
        j = max(partner[depth], i) + 1
        while j < players and not free[j]:
            j += 1
        if j >= players:
            partner[depth] = 0
            depth -= 1
            continue
        partner[depth] = j
        free[i] = free[j] = False
        a[depth + 1], b[depth + 1] = a[depth] + value[i, j], b[depth] + inverse[i, j]
        if depth + 1 == half:
            best = max(best, a[half] + scale * math.sqrt(b[half]))
        else:
            depth += 1
            first[depth] = i + 1
            while not free[first[depth]]:
                first[depth] += 1
            partner[depth] = 0
    return best
