"""How often each ordered matching has been the leader: a flat open-addressing table."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import Integers, Keys, new_state

CAPACITY = 64  # of a new table
_EMPTY = np.uint64(0)


class LeaderCounts(NamedTuple):
    """Fingerprints of ordered matchings and their counts; the capacity is a power of two."""

    keys: np.ndarray = Keys("leaders", can_grow=True)
    counts: np.ndarray = Integers("leaders", can_grow=True)
    used: np.ndarray = Integers(1)


def new_counts(capacity=CAPACITY):
    """An empty table."""
    return new_state(LeaderCounts, {"leaders": capacity})


def grown(table):
    """The same counts in a table of twice the capacity."""
    bigger = new_counts(2 * len(table.keys))
    for key, count in zip(table.keys, table.counts, strict=True):
        if key != _EMPTY:
            bigger.counts[find(bigger, key)] = count
    return bigger


@kernel
def fingerprint(order, couples):
    """A 64-bit hash of an ordered matching: two different ones share it once in 2**64."""
    key = np.uint64(couples)
    for k in range(couples):
        key = word(key, (np.int64(order[2 * k]) << 32) | np.int64(order[2 * k + 1]))
    return key | np.uint64(1)  # never the mark of an empty cell


@kernel
def seek(table, key):
    """The cell of `key`, or the empty cell where it belongs."""
    mask = len(table.keys) - 1
    cell = np.int64(key >> np.uint64(1)) & mask
    while table.keys[cell] != _EMPTY and table.keys[cell] != key:
        cell = (cell + 1) & mask
    return cell


@kernel
def find(table, key):
    """The cell of `key`, entered with count 0 if new; -1 when the table is half full."""
    cell = seek(table, key)
    if table.keys[cell] == key:
        return cell
    if 2 * table.used[0] >= len(table.keys):
        return -1
    table.keys[cell] = key
    table.used[0] += 1
    return cell


@kernel
def remove(table, key):
    """Remove `key`, which is in the table; cells move, so that none hides behind a gap."""
    mask = len(table.keys) - 1
    gap = seek(table, key)
    cell = gap
    while True:
        cell = (cell + 1) & mask
        if table.keys[cell] == _EMPTY:
            break
        home = np.int64(table.keys[cell] >> np.uint64(1)) & mask
        if (cell - home) & mask >= (cell - gap) & mask:
            table.keys[gap], table.counts[gap] = table.keys[cell], table.counts[cell]
            gap = cell
    table.keys[gap], table.counts[gap] = _EMPTY, 0
    table.used[0] -= 1


@kernel
def clear(table):
    """Empty the table."""
    table.keys[:] = _EMPTY
    table.counts[:] = 0
    table.used[0] = 0
