"""The search for all matchings that can have the best index A + s sqrt(B): branch and bound.

The least tried couple of a matching is chosen first, then one player after the other seeks a
partner among those left.
"""

import math

import numpy as np

from pairup.kernels.escb.branch_bounds import CAP, LEAST, NOBODY, price_all, promises
from pairup.kernels.escb.candidates import (
    BEST,
    COUNT,
    COUPLES,
    CUSHION,
    LAST_ROUND,
    LATER,
    LONGEST,
    MARGIN,
    MOST,
    RAREST,
    RISEN,
    SCALE,
    SLOTS,
    STRETCH,
    THRESHOLD,
    WIDEST,
    best_candidate,
    index_of,
)
from pairup.kernels.runtime.compilation import kernel, outlined
from pairup.kernels.runtime.logarithm import log

ENUMERATED = 8  # players up to whom bounds cost more than they save
_NARROWEST = 4e-12  # cushion
_GAIN = 1e-9  # less is no reason to swap


@outlined
def search(candidates, couples, clock):
    """List the candidates anew; returns the best one."""
    now, figures = candidates.now, candidates.figures
    figures[SCALE] = math.sqrt(0.5 * log(float(clock)))
    _load(candidates, couples)
    _, figures[BEST] = best_candidate(candidates, couples, figures[SCALE])
    if now[COUNT] == 0:
        figures[BEST] = _climb(candidates)
    while True:
        now[LAST_ROUND] = clock + np.int64(clock * figures[STRETCH])
        figures[LATER] = math.sqrt(0.5 * log(float(now[LAST_ROUND])))
        now[COUNT] = 0
        if _list(candidates, couples):
            break
        figures[CUSHION] = max(0.25 * figures[CUSHION], _NARROWEST)
        figures[STRETCH] *= 0.25
    _drop(candidates, couples)
    figures[RISEN] = 0.0
    for couple in range(len(candidates.base)):
        candidates.base[couple] = couples.value[couple]
    if now[COUNT] < MOST // 4:
        figures[CUSHION] = min(1.5 * figures[CUSHION], WIDEST)
        figures[STRETCH] = min(1.5 * figures[STRETCH], LONGEST)
    return best_candidate(candidates, couples, figures[SCALE])[0]


@kernel
def _load(candidates, couples):
    """Copy what is known of the couples of those seated, both ways."""
    branches, seats = candidates.branches, candidates.seats
    least = np.inf
    for y in range(2 * candidates.now[COUPLES]):
        for x in range(y):
            couple = seats[x] * candidates.now[SLOTS] + seats[y]
            branches.value[x, y] = branches.value[y, x] = couples.value[couple]
            branches.inverse[x, y] = branches.inverse[y, x] = couples.inverse[couple]
            least = min(least, couples.inverse[couple])
    branches.ends[LEAST] = least


@kernel
def _climb(candidates):
    """The index of a good matching: no swap between two of its couples makes it better."""
    branches, players = candidates.branches, 2 * candidates.now[COUPLES]
    a = b = 0.0
    for i in range(0, players, 2):
        branches.partner[i], branches.partner[i + 1] = i + 1, i
        a += branches.value[i, i + 1]
        b += branches.inverse[i, i + 1]
    climbing = True
    while climbing:
        climbing = False
        for j in range(players):
            for i in range(j):
                new_a, new_b = _swapped(branches, i, j, a, b)
                gain = new_a - a + candidates.figures[SCALE] * (math.sqrt(new_b) - math.sqrt(b))
                if branches.partner[i] != j and gain > _GAIN:
                    _swap(branches.partner, i, j)
                    a, b, climbing = new_a, new_b, True
    return a + candidates.figures[SCALE] * math.sqrt(b) - MARGIN


@kernel
def _swapped(branches, i, j, a, b):
    """The sums `a` and `b` after `i` and `j` are coupled, and the partners whom they leave."""
    x, y = branches.partner[i], branches.partner[j]
    value, inverse = branches.value, branches.inverse
    a += value[i, j] + value[x, y] - value[i, x] - value[j, y]
    b += inverse[i, j] + inverse[x, y] - inverse[i, x] - inverse[j, y]
    return a, max(b, 0.0)


@kernel
def _swap(partner, i, j):
    x, y = partner[i], partner[j]
    partner[i], partner[j], partner[x], partner[y] = j, i, y, x


@kernel
def _list(candidates, couples):
    """List the candidates; False when they are too many."""
    branches, figures = candidates.branches, candidates.figures
    players = 2 * candidates.now[COUPLES]
    figures[THRESHOLD] = figures[BEST] - figures[CUSHION]
    branches.partner[:] = NOBODY
    branches.ends[CAP] = np.inf
    if players <= ENUMERATED:
        _list_near(candidates, players, False)
        return _walk(candidates, couples, 0, False)
    cap = _greatest_below(branches, players, np.inf)
    while cap > 0.0:
        branches.ends[CAP] = cap
        if price_all(branches, players, figures[LATER], figures[THRESHOLD] - MARGIN):
            _list_near(candidates, players, True)
            if not _list_by_rarest(candidates, couples, cap):
                return False
        cap = _greatest_below(branches, players, 0.5 * cap)
    return True


@kernel
def _greatest_below(branches, players, end):
    """The greatest inverse that is less than or equal to `end`."""
    greatest = 0.0
    for j in range(players):
        for i in range(j):
            if greatest < branches.inverse[i, j] <= end:
                greatest = branches.inverse[i, j]
    return greatest


@kernel
def _list_near(candidates, players, bounded):
    """For each player, list those above it with whom it may be coupled."""
    branches, figures = candidates.branches, candidates.figures
    threshold, left = figures[THRESHOLD] - MARGIN, candidates.now[COUPLES] - 1
    branches.nears[:players] = 0
    for j in range(players):
        for i in range(j):
            if not bounded or promises(branches, 0, (i, j), left, figures[LATER], threshold):
                _befriend(branches, i, j)
                _befriend(branches, j, i)
    for i in range(players):  # those with the fewest choices choose first
        x = i
        while x > 0 and branches.nears[branches.order[x - 1]] > branches.nears[i]:
            branches.order[x] = branches.order[x - 1]
            x -= 1
        branches.order[x] = i


@kernel
def _befriend(branches, i, j):
    branches.near[i, branches.nears[i]] = j
    branches.nears[i] += 1


@kernel
def _list_by_rarest(candidates, couples, cap):
    """List the candidates whose least tried couple has an inverse above half of `cap`."""
    branches, figures = candidates.branches, candidates.figures
    left = candidates.now[COUPLES] - 1
    for i in range(2 * candidates.now[COUPLES]):
        for x in range(branches.nears[i]):
            j = branches.near[i, x]
            rare = branches.inverse[i, j]
            if rare <= 0.5 * cap or j < i:
                continue
            branches.ends[CAP] = rare
            threshold = figures[THRESHOLD] - MARGIN
            if promises(branches, 0, (i, j), left, figures[LATER], threshold):
                branches.partner[i], branches.partner[j] = j, i
                candidates.now[RAREST] = i * len(branches.partner) + j
                if not _walk(candidates, couples, 1, True):
                    return False
                branches.partner[i] = branches.partner[j] = NOBODY
    return True


@kernel
def _walk(candidates, couples, start, bounded):
    """Walk the tree of matchings that contain the `start` couples chosen; False without room."""
    branches = candidates.branches
    depth = start
    _sit_down(branches, depth, 0)
    while depth >= start:
        if not _next_partner(candidates, depth, bounded):
            depth -= 1
            if depth >= start:
                _part(branches, depth)
        elif depth + 1 == candidates.now[COUPLES]:
            if not _enter(candidates, couples):
                return False
            _part(branches, depth)
        else:
            depth += 1
            _sit_down(branches, depth, branches.turn[depth - 1] + 1)
    return True


@kernel
def _part(branches, depth):
    i = branches.first[depth]
    branches.partner[branches.partner[i]] = NOBODY
    branches.partner[i] = NOBODY


@kernel
def _sit_down(branches, depth, turn):
    """The next player left, from place `turn` of the order on, seeks a partner."""
    while branches.partner[branches.order[turn]] != NOBODY:
        turn += 1
    branches.turn[depth], branches.cursor[depth] = turn, 0
    branches.first[depth] = branches.order[turn]


@kernel
def _next_partner(candidates, depth, bounded):
    """Couple the player of this depth with its next partner that is worth a look, if any."""
    branches, figures = candidates.branches, candidates.figures
    i, threshold = branches.first[depth], figures[THRESHOLD] - MARGIN
    left = candidates.now[COUPLES] - depth - 1
    for x in range(branches.cursor[depth], branches.nears[i]):
        j = branches.near[i, x]
        if branches.partner[j] != NOBODY:
            continue
        if bounded and not (
            _is_tried_more(candidates, i, j)
            and promises(branches, depth, (i, j), left, figures[LATER], threshold)
        ):
            continue
        branches.cursor[depth] = x + 1
        branches.partner[i], branches.partner[j] = j, i
        return True
    return False


@kernel
def _is_tried_more(candidates, i, j):
    """Whether a couple comes after the rarest, which was chosen first; equals by their places."""
    branches = candidates.branches
    inverse, cap = branches.inverse[i, j], branches.ends[CAP]
    place = min(i, j) * len(branches.partner) + max(i, j)
    return inverse < cap or (inverse == cap and place > candidates.now[RAREST])


@kernel
def _enter(candidates, couples):
    """Enter the matching of this branch if it is a candidate; False when there is no room."""
    now, figures = candidates.now, candidates.figures
    if now[COUNT] == MOST:
        _drop(candidates, couples)
        if now[COUNT] == MOST:
            if figures[CUSHION] > _NARROWEST:
                return False
            _drop_worst(candidates, couples)
    row, x = now[COUNT], 0
    for i in range(2 * now[COUPLES]):
        j = candidates.branches.partner[i]
        if j > i:
            couple = candidates.seats[i] * now[SLOTS] + candidates.seats[j]
            candidates.couples[row, x] = couple
            x += 1
    if index_of(candidates, row, couples, figures[LATER]) >= figures[THRESHOLD]:
        now[COUNT] += 1
        index = index_of(candidates, row, couples, figures[SCALE])
        if index > figures[BEST]:
            figures[BEST], figures[THRESHOLD] = index, index - figures[CUSHION]
    return True


@kernel
def _drop(candidates, couples):
    """Drop the candidates that fell below the threshold since they were entered."""
    kept = 0
    for row in range(candidates.now[COUNT]):
        index = index_of(candidates, row, couples, candidates.figures[LATER])
        if index >= candidates.figures[THRESHOLD]:
            for x in range(candidates.now[COUPLES]):
                candidates.couples[kept, x] = candidates.couples[row, x]
            kept += 1
    candidates.now[COUNT] = kept


@kernel
def _drop_worst(candidates, couples):
    """Drop the worst candidate though it is one: what is listed then holds for this round alone."""
    worst, worst_index = 0, np.inf
    for row in range(MOST):
        index = index_of(candidates, row, couples, candidates.figures[SCALE])
        if index < worst_index:
            worst, worst_index = row, index
    for x in range(candidates.now[COUPLES]):
        candidates.couples[worst, x] = candidates.couples[MOST - 1, x]
    candidates.now[COUNT] = MOST - 1
    candidates.now[LAST_ROUND] = 0
