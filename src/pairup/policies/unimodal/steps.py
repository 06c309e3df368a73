"""Steps of the paper's policies: play the leader, or the neighbour that looks best.

They are the same for both indices. What an index adds are the functions without a body: each index
binds its own to its state, which Numba chooses at compile time.
"""

from pairup.compiled.couples import neighbours
from pairup.compiled.couples.leader_counts import CLOCK, LEVEL, clock, is_own_turn, times_led
from pairup.compiled.couples.neighbours import BY_PLAYERS, COUPLE, cross_pair, set_players, write
from pairup.compiled.kernels import kernel
from pairup.compiled.steps import FULL, OK


def load_pair(state, k, place, i, j):
    """Fetch what is kept of the pair (i, j), which now stands at a place around couple `k`.

    It is couple `k` itself if the place is `COUPLE`, else one of the cross pairs of `k`.
    """


def level_at(state, clock):
    """What the exploration bonus is multiplied by at this clock."""


def best_by_players(state, level):
    """The neighbour to play by criterion V2, or -1 for the leader."""


def best_by_matchings(state, level):
    """The neighbour to play by criterion V1, or -1 for the leader."""


def set_available(state, players):
    """The step `set_available`."""
    set_players(state, players)
    _load(state, 0, state.leader.couple_count[0] - 1)


def propose(state, couples):
    """The step `propose`."""
    update_leader(state)
    led = times_led(state)
    if led < 0:
        return FULL
    neighbour = -1
    if not is_own_turn(state, led):
        x = _level(state, clock(state, led))
        if state.counters[BY_PLAYERS]:
            neighbour = best_by_players(state, x)
        else:
            neighbour = best_by_matchings(state, x)
    write(state.leader, neighbour, couples)
    # Unless the leader falls, this is x in the next round, whose choice waits for what this round
    # observes: its logarithms now fill that wait.
    following = 1 + clock(state, led)
    state.reals[CLOCK], state.reals[LEVEL] = following, level_at(state, following)
    return OK


@kernel
def update_leader(state):
    """Update the leader by the statistics."""
    first, last = neighbours.update_leader(state)
    if first <= last:
        _load(state, first, last)


@kernel
def _load(state, first, last):
    """Fetch what is kept of the leader's pairs, after couples `first` to `last` changed."""
    leader = state.leader
    for k in range(first, last + 1):
        load_pair(state, k, COUPLE, leader.order[2 * k], leader.order[2 * k + 1])
    for k in range(max(first - 1, 0), min(last + 1, leader.couple_count[0] - 1)):
        for cross in range(4):
            i, j = cross_pair(leader, k, cross)
            load_pair(state, k, cross, i, j)


@kernel
def _level(state, clock):
    return state.reals[LEVEL] if state.reals[CLOCK] == clock else level_at(state, clock)
