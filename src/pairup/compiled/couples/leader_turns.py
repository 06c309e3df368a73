"""Turns of the leader: how often it has led, and when it is played itself.

A leader is played the first time and every (2L - 1)-th time that it leads; in the other turns its
neighbours may be played.
"""

from pairup.compiled.couples import leader_counts
from pairup.compiled.kernels import kernel
from pairup.compiled.state_layout import AVAILABLE, OWN, PRESENT, ROUND

# Places of counters; those of a policy follow.
(
    CELL,  # the leader's cell in the table of counts
    CLOCK_IS_ROUND,  # exploration grows with the rounds, not with how often the leader led
    TURN_PLACES,  # the next place
) = range(OWN, OWN + 3)
# Places of real numbers.
CLOCK, LEVEL, TURN_REALS = range(3)  # of the next round, most likely, and its exploration level

NO_CELL = -1  # the leader changed: its cell in the table must be looked up


@kernel
def times_led(state):
    """How often the leader has led before, and count this time; -1 if the table is full."""
    counters = state.counters
    if counters[AVAILABLE] == counters[PRESENT]:
        if counters[CELL] == NO_CELL:
            key = leader_counts.fingerprint(state.leader.order, state.leader.couples[0])
            counters[CELL] = leader_counts.find(state.counts, key)  # no cell again when it is full
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
    return led % (2 * state.leader.couples[0] - 1) == 0


@kernel
def clock(state, led):
    """What exploration grows with: the rounds, or how often the leader has led, this one counted.

    `led` is how often it had led before; the round is counted already.
    """
    return state.counters[ROUND] if state.counters[CLOCK_IS_ROUND] else led + 1
