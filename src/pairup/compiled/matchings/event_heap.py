"""The events that a search on a sparse graph awaits, the earliest first.

An event is entered when its time is known and never withdrawn: whether it still holds is asked when
its time has come. What a search enters is bounded but for one kind, the players of blossoms that
dissolve; `sparse_search` therefore clears out what holds no longer when the heap is full.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel
from pairup.compiled.state_fields import Integers, Reals

# What happens to `what`, in place of the other player whom it meets.
REACHED, DISSOLVES = -1, -2


class EventHeap(NamedTuple):
    """A binary heap: what is at 2 k + 1 and 2 k + 2 is not earlier than what is at k."""

    time: np.ndarray = Reals("events")
    what: np.ndarray = Integers("events")
    other: np.ndarray = Integers("events")
    size: np.ndarray = Integers(1)


@kernel
def is_full(heap):
    """Whether there is no room for one more event."""
    return heap.size[0] == len(heap.time)


@kernel
def add_event(heap, time, what, other):
    """Enter an event into a heap that is not full."""
    k = heap.size[0]
    heap.size[0] = k + 1
    while k > 0:
        above = (k - 1) >> 1
        if heap.time[above] <= time:
            break
        _copy(heap, above, k)
        k = above
    heap.time[k], heap.what[k], heap.other[k] = time, what, other


@kernel
def drop_first(heap):
    """Remove the earliest event; ties fall as the heap has them."""
    count = heap.size[0] - 1
    heap.size[0] = count
    time, what, other = heap.time[count], heap.what[count], heap.other[count]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= count:
            break
        if child + 1 < count and heap.time[child + 1] < heap.time[child]:
            child += 1
        if heap.time[child] >= time:
            break
        _copy(heap, child, k)
        k = child
    heap.time[k], heap.what[k], heap.other[k] = time, what, other


@kernel
def _copy(heap, source, target):
    heap.time[target], heap.what[target] = heap.time[source], heap.what[source]
    heap.other[target] = heap.other[source]
