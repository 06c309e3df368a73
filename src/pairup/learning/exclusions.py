"""Exclusions: couples that must not meet are replaced in a proposed matching."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from pairup.learning.roster import Couples, SlotCouple, Slots
from pairup.weighted_matching import best_matching

Worth = Callable[[NDArray[np.int64]], NDArray[np.float64]]  # of couples among some slots
Barred = dict[int, set[int]]  # the players whom each player must not meet

_FIRST_BREAKS = 4  # couples to break first; each time that is not enough, twice as many
_GROUP = 64  # players who are matched again at once, where there are many
_MAX_AGAIN = 256  # players for whom couples are broken


def replace_forbidden(
    couples: list[SlotCouple], players: list[int], forbidden: set[SlotCouple], worth: Worth
) -> list[SlotCouple]:
    """Repair a matching so that no couple in it is forbidden.

    As many players as possible are coupled; among such matchings one is taken that keeps most of
    the couples proposed, and among those one of greatest worth. To find it, the players of
    forbidden couples and the players who wait are matched again. Only if some of them are left
    over, couples that were allowed are broken, in their order.

    Where more than 64 players are to be matched again, they are so in groups, in the order in which
    they were proposed, and where more than 256 would be, no more couples are broken: the time it
    takes is proportional to the number of players, at the price of a player who waits now and then.

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
    barred, coupled = _barred(forbidden, players), {slot for couple in kept for slot in couple}
    in_order = dict.fromkeys([*(slot for couple in couples for slot in couple), *players])
    # Players who may meet nobody at all must wait.
    free = [i for i in in_order if i not in coupled and len(barred[i]) < len(players) - 1]
    new = list[SlotCouple]()
    if len(free) > _GROUP:
        new, free = _matched_in_groups(free, barred, worth)
    broken = 0
    while True:
        opened = kept[:broken]
        again = sorted([*free, *(slot for couple in opened for slot in couple)])
        made = _matched(again, set(opened), barred, worth)
        enough = len(made) == len(again) // 2 or broken >= len(kept)
        if enough or len(again) + 2 * max(_FIRST_BREAKS, broken) > _MAX_AGAIN:
            still = {*made, *kept[broken:]}
            new += [couple for couple in made if couple not in set(opened)]
            return [couple for couple in kept if couple in still] + new
        broken = max(_FIRST_BREAKS, 2 * broken)


def couple_the_rest(couples: Couples, players: Slots, forbidden: Couples) -> Couples:
    """Couple players whom a matching leaves over, two by two, if they are not forbidden to meet.

    `players` are the slots of all available players. Returns the same couples if none is added.

    Examples
    --------
    >>> nobody = np.zeros((0, 2), np.int64)
    >>> couple_the_rest(np.array([[1, 2]]), np.arange(5), nobody).tolist()
    [[1, 2], [0, 3]]
    """
    left = np.setdiff1d(players, couples, assume_unique=True).tolist()
    apart = {(i, j) for i, j in forbidden.tolist()} if len(left) > 1 else set()
    added, coupled = list[SlotCouple](), set[int]()
    for x, i in enumerate(left):
        free = (j for j in left[x + 1 :] if j not in coupled and (i, j) not in apart)
        if i not in coupled and (j := next(free, None)) is not None:
            coupled |= {i, j}
            added.append((i, j))
    return np.concatenate([couples, np.array(added, np.int64)]) if added else couples


def _barred(forbidden: Iterable[SlotCouple], players: Iterable[int]) -> Barred:
    """List for each player which of the others it must not meet."""
    present, barred = set(players), defaultdict[int, set[int]](set)
    for i, j in forbidden:
        if i in present and j in present:
            barred[i].add(j)
            barred[j].add(i)
    return barred


def _matched_in_groups(
    slots: list[int], barred: Barred, worth: Worth
) -> tuple[list[SlotCouple], list[int]]:
    """Match many players group by group; those left over by one group go into the next.

    Returns the couples and at most `_GROUP` of the players left over.
    """
    made, left = list[SlotCouple](), list[int]()
    for start in range(0, len(slots), _GROUP):
        group = [*left, *slots[start : start + _GROUP]]
        new = _matched(sorted(group), set(), barred, worth)
        coupled = {slot for couple in new for slot in couple}
        left = [slot for slot in group if slot not in coupled][:_GROUP]
        made += new
    return made, left


def _matched(
    slots: list[int], proposed: set[SlotCouple], barred: Barred, worth: Worth
) -> list[SlotCouple]:
    """Match `slots`: most couples first, then most of those proposed, then most worth."""
    count = len(slots)
    if count < 2:
        return []
    weights = worth(np.array(slots, np.int64)) + float(count * count)
    place = {slot: x for x, slot in enumerate(slots)}
    for i, j in proposed:
        x, y = place[i], place[j]
        weights[x, y] = weights[y, x] = weights[x, y] + count
    for x, slot in enumerate(slots):
        weights[x, [place[other] for other in barred.get(slot, ()) if other in place]] = -np.inf
    matching = best_matching(weights, perfect=False)
    return [(slots[x], slots[y]) for x, y in matching]
