"""How often each ordered matching has been the leader: a flat open-addressing table.

It decides whose turn it is: a leader is played the first time and every (2L - 1)-th time that it
leads; in the other turns its neighbours may be played.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.couples.rows import packed
from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import AVAILABLE, OWN, PRESENT, ROUND, Integers, Keys, new_state

CAPACITY = 64  # of a new table
_EMPTY = np.uint64(0)

# Places of counters; those of a policy follow.
(
    CELL,  # the leader's cell in the table of counts
    CLOCK_IS_ROUND,  # exploration grows with the rounds, not with how often the leader led
    TURN_PLACES,  # the next place
) = range(OWN, OWN + 3)
# Places of real numbers.
CLOCK, LEVEL, TURN_REALS = range(3)  # of the next round, most likely, and its exploration level

NO_CELL = -1  # the leader changed: its cell in the table must be looked up


class LeaderCounts(NamedTuple):
    """Fingerprints of ordered matchings and their counts; the capacity is a power of two."""

    keys: np.ndarray = Keys("leaders", can_grow=True, saved=True)
    counts: np.ndarray = Integers("leaders", can_grow=True, saved=True)
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
def fingerprint(order, couple_count):
    """A 64-bit hash of an ordered matching: two different ones share it once in 2**64."""
    key = np.uint64(couple_count)
    for k in range(couple_count):
        key = word(key, packed(order[2 * k], order[2 * k + 1]))
    return key | np.uint64(1)  # never the mark of an empty cell


@kernel
def seek(table, fingerprint):
    """The cell of `fingerprint`, or the empty cell where it belongs."""
    mask = len(table.keys) - 1
    cell = np.int64(fingerprint >> np.uint64(1)) & mask
    while table.keys[cell] != _EMPTY and table.keys[cell] != fingerprint:
        cell = (cell + 1) & mask
    return cell


@kernel
def find(table, fingerprint):
    """The cell of `fingerprint`, entered with count 0 if new; -1 when the table is half full."""
    cell = seek(table, fingerprint)
    if table.keys[cell] == fingerprint:
        return cell
    if 2 * table.used[0] >= len(table.keys):
        return -1
    table.keys[cell] = fingerprint
    table.used[0] += 1
    return cell


@kernel
def remove(table, fingerprint):
    """Remove `fingerprint`, which is in the table; cells move, so that none hides behind a gap."""
    mask = len(table.keys) - 1
    gap = seek(table, fingerprint)
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


@kernel
def times_led(state):
    """How often the leader has led before, and count this time; -1 if the table is full."""
    counters = state.counters
    if counters[AVAILABLE] == counters[PRESENT]:
        if counters[CELL] == NO_CELL:
            order, couples = state.leader.order, state.leader.couple_count[0]
            # No cell again when it is full.
            counters[CELL] = find(state.counts, fingerprint(order, couples))
            if counters[CELL] == NO_CELL:
                return -1
        led = state.counts.counts[counters[CELL]]
        state.counts.counts[counters[CELL]] = led + 1
    else:
        # When not all are available, the same leader rarely comes twice: by its count, nothing
        # would ever be explored, so the number of proposals stands in for it.
        led = counters[ROUND]
    counters[ROUND] += 1
    return led


@kernel
def is_own_turn(state, led):
    """Whether the leader itself is played: the first time and every (2L - 1)-th time it leads."""
    return led % (2 * state.leader.couple_count[0] - 1) == 0


@kernel
def clock(state, led):
    """What exploration grows with: the rounds, or how often the leader has led, this one counted.

    `led` is how often it had led before; the round is counted already.
    """
    return state.counters[ROUND] if state.counters[CLOCK_IS_ROUND] else led + 1
