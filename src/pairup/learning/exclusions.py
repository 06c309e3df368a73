"""Exclusions: couples that must not meet are replaced in a proposed matching."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairup.best_matching import best_matching
from pairup.learning.roster import SlotCouple

Worth = Callable[[NDArray[np.int64]], NDArray[np.float64]]  # of couples among some slots
_FIRST_BREAKS = 4  # couples to break first; each time that is not enough, twice as many


def replace_forbidden(
    couples: list[SlotCouple], players: list[int], forbidden: set[SlotCouple], worth: Worth
) -> list[SlotCouple]:
    """Repair a matching so that no couple in it is forbidden.

    As many players as possible are coupled; among such matchings one is taken that keeps most of
    the couples proposed, and among those one of greatest worth. To find it, the players of
    forbidden couples and the players who wait are matched again. Only if some of them are left
    over, couples that were allowed are broken, in their order.

    `players` are the slots of all available players; `worth` is in [0, 1]. The couples kept come
    first, in their order, then the new ones.

    Examples
    --------
    >>> def equal(slots):
    ...     return np.ones((len(slots), len(slots)))
    >>> replace_forbidden([(0, 1), (2, 3)], [0, 1, 2, 3, 4], {(0, 1), (0, 4)}, equal)
    [(2, 3), (1, 4)]
    """
    kept = [couple for couple in couples if couple not in forbidden]
    if len(kept) == len(couples):
        return couples
    coupled = {slot for couple in kept for slot in couple}
    present = set(players)
    barred = Counter(slot for couple in forbidden if present.issuperset(couple) for slot in couple)
    # Players who may meet nobody at all must wait.
    loose = [i for i in players if i not in coupled and barred[i] < len(players) - 1]
    broken = 0
    while True:
        again = sorted([*loose, *(slot for couple in kept[:broken] for slot in couple)])
        made = _matched(again, set(kept[:broken]), forbidden, worth)
        if len(made) == len(again) // 2 or broken >= len(kept):
            new = [couple for couple in made if couple not in kept[:broken]]
            still = set(made) | set(kept[broken:])
            return [couple for couple in kept if couple in still] + new
        broken = max(_FIRST_BREAKS, 2 * broken)


def _matched(
    slots: list[int], proposed: set[SlotCouple], forbidden: set[SlotCouple], worth: Worth
) -> list[SlotCouple]:
    """Match `slots`: most couples first, then most of those proposed, then most worth."""
    count = len(slots)
    if count < 2:
        return []
    weights = worth(np.array(slots, np.int64)) + float(count * count)
    place = {slot: x for x, slot in enumerate(slots)}
    for couples, extra in ((proposed, float(count)), (forbidden, -np.inf)):
        for i, j in couples:
            if i in place and j in place:
                x, y = place[i], place[j]
                weights[x, y] = weights[y, x] = weights[x, y] + extra
    matching = best_matching(weights, perfect=False)
    return [(min(slots[x], slots[y]), max(slots[x], slots[y])) for x, y in matching]
