"""Couples that must not meet: a proposed matching is mended, not made anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairup.best_matching import best_matching
from pairup.learning.roster import SlotCouple

Worth = Callable[[NDArray[np.int64]], NDArray[np.float64]]  # of all couples among some slots
_FEW = 4  # couples to break first; each time that is not enough, twice as many more


def kept_apart(
    couples: list[SlotCouple], players: list[int], apart: set[SlotCouple], worth: Worth
) -> list[SlotCouple]:
    """Mend a matching so that no couple of `apart` is in it.

    As many players as possible are coupled; among such matchings one is taken that keeps most of
    the couples proposed, and among those one of greatest worth. To find it, the players of
    forbidden couples and those who wait are matched anew, and only if some of them are left over,
    couples that were allowed are broken, in their order.

    Parameters
    ----------
    couples
        The matching as it was proposed, rows of slots (i, j) with i < j.
    players
        The slots of all who are available.
    apart
        The couples that must not be, rows as above.
    worth
        How good each couple among some slots is, in [0, 1].

    Returns
    -------
    list of rows
        The couples kept, in their order, then those made anew.
    """
    kept = [row for row in couples if row not in apart]
    if len(kept) == len(couples):
        return couples
    coupled = {slot for row in kept for slot in row}
    loose = _with_partners([slot for slot in players if slot not in coupled], players, apart)
    broken = 0
    while True:
        again = sorted([*loose, *(slot for row in kept[:broken] for slot in row)])
        made = _matched(again, set(kept[:broken]), apart, worth)
        if len(made) == len(again) // 2 or broken >= len(kept):
            anew = [row for row in made if row not in kept[:broken]]
            still = set(made) | set(kept[broken:])
            return [row for row in kept if row in still] + anew
        broken = max(_FEW, 2 * broken)


def _with_partners(loose: list[int], players: list[int], apart: set[SlotCouple]) -> list[int]:
    """Pick those who may meet anyone at all: the others wait whatever is done."""
    barred = dict.fromkeys(loose, 0)
    present = set(players)
    for i, j in apart:
        if i in present and j in present:
            for slot in (i, j):
                if slot in barred:
                    barred[slot] += 1
    return [slot for slot in loose if barred[slot] < len(players) - 1]


def _matched(
    slots: list[int], proposed: set[SlotCouple], apart: set[SlotCouple], worth: Worth
) -> list[SlotCouple]:
    """Match `slots` anew: most couples first, then most of those proposed, then most worth."""
    count = len(slots)
    if count < 2:
        return []
    weights = worth(np.array(slots, np.int64)) + float(count * count)
    place = {slot: x for x, slot in enumerate(slots)}
    for rows, extra in ((proposed, float(count)), (apart, -np.inf)):
        for i, j in rows:
            if i in place and j in place:
                x, y = place[i], place[j]
                weights[x, y] = weights[y, x] = weights[x, y] + extra
    return [_row(slots[x], slots[y]) for x, y in best_matching(weights, perfect=False)]


def _row(i: int, j: int) -> SlotCouple:
    return (i, j) if i < j else (j, i)
