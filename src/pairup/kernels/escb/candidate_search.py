"""The search for all matchings that can have the best index A + s sqrt(B): branch and bound.

The least tried couple of a matching is chosen first, then one player after the other seeks a
partner among those left.
"""

import math

import numpy as np

from pairup.kernels import state_layout as at
from pairup.kernels.escb.branch_bounds import NOBODY, is_promising, set_prices
from pairup.kernels.escb.candidates import (
    MARGIN,
    MAX_CANDIDATES,
    MAX_CUSHION,
    MAX_STRETCH,
    best_candidate,
    index_of,
    scale_at,
)
from pairup.kernels.runtime.compilation import kernel, outlined

ENUMERATED = 8  # players up to whom bounds cost more than they save
_MIN_CUSHION = 4e-12
_MIN_GAIN = 1e-9  # less is not a reason to swap


@outlined
def search_candidates(candidates, terms, clock):
    """List the candidates again; returns the best one."""
    now, figures = candidates.now, candidates.figures
    figures[at.SCALE] = scale_at(candidates, clock)
    _load(candidates, terms)
    _, figures[at.BEST_INDEX] = best_candidate(candidates, terms, figures[at.SCALE])
    if now[at.COUNT] == 0:
        figures[at.BEST_INDEX] = _climb(candidates)
    while True:
        now[at.LAST_ROUND] = clock + np.int64(clock * figures[at.STRETCH])
        figures[at.LATER] = scale_at(candidates, now[at.LAST_ROUND])
        now[at.COUNT] = 0
        if _list(candidates, terms):
            break
        figures[at.CUSHION] = max(0.25 * figures[at.CUSHION], _MIN_CUSHION)
        figures[at.STRETCH] *= 0.25
    _drop(candidates, terms)
    figures[at.RISEN] = 0.0
    for couple in range(len(candidates.base)):
        candidates.base[couple] = terms.value[couple]
    if now[at.COUNT] < MAX_CANDIDATES // 4:
        figures[at.CUSHION] = min(1.5 * figures[at.CUSHION], MAX_CUSHION)
        figures[at.STRETCH] = min(1.5 * figures[at.STRETCH], MAX_STRETCH)
    return best_candidate(candidates, terms, figures[at.SCALE])[0]


@kernel
def _load(candidates, terms):
    """Copy what is known of the players' couples, both ways."""
    tree, players = candidates.tree, candidates.players
    least = np.inf
    for y in range(2 * candidates.now[at.COUPLES]):
        for x in range(y):
            couple = players[x] * candidates.now[at.SLOTS] + players[y]
            tree.value[x, y] = tree.value[y, x] = terms.value[couple]
            tree.inverse[x, y] = tree.inverse[y, x] = terms.inverse[couple]
            least = min(least, terms.inverse[couple])
    tree.figures[at.MIN_INVERSE] = least


@kernel
def _climb(candidates):
    """The index of a good matching: no swap between two of its couples makes it better."""
    tree, players = candidates.tree, 2 * candidates.now[at.COUPLES]
    a = b = 0.0
    for i in range(0, players, 2):
        tree.partner[i], tree.partner[i + 1] = i + 1, i
        a += tree.value[i, i + 1]
        b += tree.inverse[i, i + 1]
    climbing = True
    while climbing:
        climbing = False
        for j in range(players):
            for i in range(j):
                new_a, new_b = _swapped(tree, i, j, a, b)
                gain = new_a - a + candidates.figures[at.SCALE] * (math.sqrt(new_b) - math.sqrt(b))
                if tree.partner[i] != j and gain > _MIN_GAIN:
                    x, y = tree.partner[i], tree.partner[j]
                    tree.partner[i], tree.partner[j] = j, i
                    tree.partner[x], tree.partner[y] = y, x
                    a, b, climbing = new_a, new_b, True
    return a + candidates.figures[at.SCALE] * math.sqrt(b) - MARGIN


@kernel
def _swapped(tree, i, j, a, b):
    """The sums `a` and `b` after `i` and `j` are coupled, and the partners they leave too."""
    x, y = tree.partner[i], tree.partner[j]
    value, inverse = tree.value, tree.inverse
    a += value[i, j] + value[x, y] - value[i, x] - value[j, y]
    b += inverse[i, j] + inverse[x, y] - inverse[i, x] - inverse[j, y]
    return a, max(b, 0.0)


@kernel
def _list(candidates, terms):
    """List the candidates; False when they are too many."""
    tree, figures = candidates.tree, candidates.figures
    players = 2 * candidates.now[at.COUPLES]
    figures[at.THRESHOLD] = figures[at.BEST_INDEX] - figures[at.CUSHION]
    tree.partner[:] = NOBODY
    tree.figures[at.CAP] = np.inf
    if players <= ENUMERATED:
        _list_choices(candidates, players, False)
        return _walk(candidates, terms, 0, False)
    cap = _greatest_below(tree, players, np.inf)
    while cap > 0.0:
        tree.figures[at.CAP] = cap
        if set_prices(tree, players, figures[at.LATER], figures[at.THRESHOLD] - MARGIN):
            _list_choices(candidates, players, True)
            if not _list_by_rarest(candidates, terms, cap):
                return False
        cap = _greatest_below(tree, players, 0.5 * cap)
    return True


@kernel
def _greatest_below(tree, players, end):
    """The greatest inverse that is less than or equal to `end`."""
    greatest = 0.0
    for j in range(players):
        for i in range(j):
            if greatest < tree.inverse[i, j] <= end:
                greatest = tree.inverse[i, j]
    return greatest


@kernel
def _list_choices(candidates, players, bounded):
    """For each player, list those with whom it may be coupled."""
    tree, figures = candidates.tree, candidates.figures
    threshold, left = figures[at.THRESHOLD] - MARGIN, candidates.now[at.COUPLES] - 1
    tree.choice_counts[:players] = 0
    for j in range(players):
        for i in range(j):
            if not bounded or is_promising(tree, 0, (i, j), left, figures[at.LATER], threshold):
                _add_choice(tree, i, j)
                _add_choice(tree, j, i)
    for i in range(players):  # those with the fewest choices choose first
        x = i
        while x > 0 and tree.choice_counts[tree.order[x - 1]] > tree.choice_counts[i]:
            tree.order[x] = tree.order[x - 1]
            x -= 1
        tree.order[x] = i


@kernel
def _add_choice(tree, i, j):
    tree.choices[i, tree.choice_counts[i]] = j
    tree.choice_counts[i] += 1


@kernel
def _list_by_rarest(candidates, terms, cap):
    """List the candidates whose least tried couple has an inverse above half of `cap`."""
    tree, figures = candidates.tree, candidates.figures
    left = candidates.now[at.COUPLES] - 1
    for i in range(2 * candidates.now[at.COUPLES]):
        for x in range(tree.choice_counts[i]):
            j = tree.choices[i, x]
            rare = tree.inverse[i, j]
            if rare <= 0.5 * cap or j < i:
                continue
            tree.figures[at.CAP] = rare
            threshold = figures[at.THRESHOLD] - MARGIN
            if is_promising(tree, 0, (i, j), left, figures[at.LATER], threshold):
                tree.partner[i], tree.partner[j] = j, i
                candidates.now[at.RAREST] = i * len(tree.partner) + j
                if not _walk(candidates, terms, 1, True):
                    return False
                tree.partner[i] = tree.partner[j] = NOBODY
    return True


@kernel
def _walk(candidates, terms, start, bounded):
    """Walk the tree of matchings that contain the `start` couples chosen; False when too many."""
    tree = candidates.tree
    depth = start
    _descend(tree, depth, 0)
    while depth >= start:
        if not _next_partner(candidates, depth, bounded):
            depth -= 1
            if depth >= start:
                _uncouple(tree, depth)
        elif depth + 1 == candidates.now[at.COUPLES]:
            if not _enter(candidates, terms):
                return False
            _uncouple(tree, depth)
        else:
            depth += 1
            _descend(tree, depth, tree.turn[depth - 1] + 1)
    return True


@kernel
def _uncouple(tree, depth):
    i = tree.first[depth]
    tree.partner[tree.partner[i]] = NOBODY
    tree.partner[i] = NOBODY


@kernel
def _descend(tree, depth, turn):
    """The next player left, from place `turn` of the order on, seeks a partner."""
    while tree.partner[tree.order[turn]] != NOBODY:
        turn += 1
    tree.turn[depth], tree.cursor[depth] = turn, 0
    tree.first[depth] = tree.order[turn]


@kernel
def _next_partner(candidates, depth, bounded):
    """Couple the player of this depth with its next partner that is worth a look, if any."""
    tree, figures = candidates.tree, candidates.figures
    i, threshold = tree.first[depth], figures[at.THRESHOLD] - MARGIN
    left = candidates.now[at.COUPLES] - depth - 1
    for x in range(tree.cursor[depth], tree.choice_counts[i]):
        j = tree.choices[i, x]
        if tree.partner[j] != NOBODY:
            continue
        if bounded and not (
            _is_tried_more(candidates, i, j)
            and is_promising(tree, depth, (i, j), left, figures[at.LATER], threshold)
        ):
            continue
        tree.cursor[depth] = x + 1
        tree.partner[i], tree.partner[j] = j, i
        return True
    return False


@kernel
def _is_tried_more(candidates, i, j):
    """Whether a couple comes after the rarest, which was chosen first; equals by their places."""
    tree = candidates.tree
    inverse, cap = tree.inverse[i, j], tree.figures[at.CAP]
    place = min(i, j) * len(tree.partner) + max(i, j)
    return inverse < cap or (inverse == cap and place > candidates.now[at.RAREST])


@kernel
def _enter(candidates, terms):
    """Enter the matching of this branch if it is a candidate; False when the list is full."""
    now, figures = candidates.now, candidates.figures
    if now[at.COUNT] == MAX_CANDIDATES:
        _drop(candidates, terms)
        if now[at.COUNT] == MAX_CANDIDATES:
            if figures[at.CUSHION] > _MIN_CUSHION:
                return False
            _drop_worst(candidates, terms)
    row, x = now[at.COUNT], 0
    for i in range(2 * now[at.COUPLES]):
        j = candidates.tree.partner[i]
        if j > i:
            couple = candidates.players[i] * now[at.SLOTS] + candidates.players[j]
            candidates.couples[row, x] = couple
            x += 1
    if index_of(candidates, row, terms, figures[at.LATER]) >= figures[at.THRESHOLD]:
        now[at.COUNT] += 1
        index = index_of(candidates, row, terms, figures[at.SCALE])
        if index > figures[at.BEST_INDEX]:
            figures[at.BEST_INDEX], figures[at.THRESHOLD] = index, index - figures[at.CUSHION]
    return True


@kernel
def _drop(candidates, terms):
    """Drop the candidates that fell below the threshold since they were entered."""
    kept = 0
    for row in range(candidates.now[at.COUNT]):
        index = index_of(candidates, row, terms, candidates.figures[at.LATER])
        if index >= candidates.figures[at.THRESHOLD]:
            for x in range(candidates.now[at.COUPLES]):
                candidates.couples[kept, x] = candidates.couples[row, x]
            kept += 1
    candidates.now[at.COUNT] = kept


@kernel
def _drop_worst(candidates, terms):
    """Drop the worst candidate though it is one: the list then holds for this round alone."""
    worst, worst_index = 0, np.inf
    for row in range(MAX_CANDIDATES):
        index = index_of(candidates, row, terms, candidates.figures[at.SCALE])
        if index < worst_index:
            worst, worst_index = row, index
    for x in range(candidates.now[at.COUPLES]):
        candidates.couples[worst, x] = candidates.couples[MAX_CANDIDATES - 1, x]
    candidates.now[at.COUNT] = MAX_CANDIDATES - 1
    candidates.now[at.LAST_ROUND] = 0
