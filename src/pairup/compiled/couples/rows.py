"""Couples as they are written, rows (i, j) with i < j, and the players of whom they are made."""

import numpy as np

from pairup.compiled.kernels import kernel
from pairup.compiled.randomness import MANTISSA, mantissa, shuffle, word
from pairup.compiled.state_fields import AVAILABLE, MEMBERS

_LUCK = 2.0**-30 / MANTISSA


@kernel
def mark_available(state, players):
    """Note in `state.available` that `players` are the ones available."""
    state.available[:] = False
    for i in players:
        state.available[i] = True


@kernel
def fill_members(members, players, phantom):
    """Write `players` into `members`, and the phantom if they are odd; returns how many that is."""
    count = len(players)
    for x in range(count):
        members[x] = players[x]
    if count % 2 == 1:
        members[count] = phantom
    return count + count % 2


def set_members(state, players):
    """The step `set_available` of states whose first MEMBERS `players` are to be matched."""
    state.counters[MEMBERS] = fill_members(state.players, players, len(state.stats.tries) - 1)


@kernel
def set_players(state, players):
    """The step `set_available` of states whose first AVAILABLE `players` are available."""
    state.counters[AVAILABLE] = len(players)
    for x in range(len(players)):
        state.players[x] = players[x]


@kernel
def packed(i, j):
    """A pair (i, j) as one number."""
    return (np.int64(i) << 32) | np.int64(j)


@kernel
def luck(key, i, j):
    """A random number in [0, 2**-30) of the pair (i, j), which tells equals apart."""
    return np.float64(mantissa(word(key, packed(i, j)))) * _LUCK


@kernel
def count_couples(players):
    """The number of couples that `players` could form."""
    return len(players) * (len(players) - 1) // 2


@kernel
def write_couple(couples, row, i, j):
    """Write the couple of `i` and `j`, in ascending order."""
    couples[row, 0], couples[row, 1] = min(i, j), max(i, j)


@kernel
def write_mates(mate, players, couples):
    """Write the couples of `players`, each with the slot of its mate, less the phantom's."""
    phantom, row = len(mate) - 1, 0
    for i in players:
        j = mate[i]
        if i < j < phantom and row < len(couples):
            couples[row, 0], couples[row, 1] = i, j
            row += 1


@kernel
def couple_in_order(order, available, couples):
    """Couple the available players who are next to each other in `order`; an odd one is left."""
    row, waiting = 0, -1
    for x in range(len(order)):
        i = order[x]
        if not available[i]:
            continue
        if waiting < 0:
            waiting = i
        else:
            write_couple(couples, row, waiting, i)
            row, waiting = row + 1, -1


@kernel
def draw_matching(key, players, workspace, couples):
    """Write a matching of `players` drawn uniformly: a shuffle, cut into couples."""
    shuffled = workspace[: len(players)]
    for x in range(len(players)):
        shuffled[x] = players[x]
    shuffle(key, shuffled)
    for row in range(len(players) // 2):
        write_couple(couples, row, shuffled[2 * row], shuffled[2 * row + 1])
