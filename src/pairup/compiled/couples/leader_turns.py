"""Turns of the leader: how often it has led, and when it is played itself.

A leader is played the first time and every (2L - 1)-th time that it leads; in the other turns its
neighbours may be played.
"""

from pairup.compiled.couples import leader_counts
from pairup.compiled.kernels import kernel
from pairup.compiled.state_layout import AVAILABLE, CELL, CLOCK_IS_ROUND, PRESENT, ROUND

NO_CELL = -1  # the leader changed: its cell in the table must be looked up


@kernel
def times_led(state):
    """How often the leader has led before, and count this time; -1 if the table is full."""
    now = state.now
    if now[AVAILABLE] == now[PRESENT]:
        if now[CELL] == NO_CELL:
            key = leader_counts.fingerprint(state.leader.order, state.leader.couples[0])
            now[CELL] = leader_counts.find(state.counts, key)  # no cell again when it is full
            if now[CELL] == NO_CELL:
                return -1
        led = state.counts.counts[now[CELL]]
        state.counts.counts[now[CELL]] = led + 1
    else:
        # When not all are available, the same leader rarely comes twice: by its count, nothing
        # would ever be explored, so the number of proposals stands in for it.
        led = now[ROUND]
    now[ROUND] += 1
    return led


@kernel
def is_own_turn(state, led):
    """Whether the leader itself is played: the first time and every (2L - 1)-th time it leads."""
    return led % (2 * state.leader.couples[0] - 1) == 0


@kernel
def clock(state, led):
    """What exploration grows with: the rounds, or how often the leader has led, this one counted.

    `led` is how often it had led before; the round is counted already.
    """
    return state.now[ROUND] if state.now[CLOCK_IS_ROUND] else led + 1
