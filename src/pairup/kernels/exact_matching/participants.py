"""Who is seated, for policies that match them all anew each round: an even number of slots."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.runtime.compilation import kernel


class Seated(NamedTuple):
    """The first `seats` of `players` are seated, ascending; an odd number has the phantom last."""

    players: np.ndarray
    seats: np.ndarray


def new_seated(slots):
    """Nobody is seated, of `slots` slots with the phantom's."""
    return Seated(np.zeros(slots + 1, np.int64), np.zeros(1, np.int64))


@kernel
def seat_even(seated, players, phantom):
    """Seat `players`, and the phantom if they are odd."""
    count = len(players)
    for a in range(count):
        seated.players[a] = players[a]
    if count % 2 == 1:
        seated.players[count] = phantom
    seated.seats[0] = count + count % 2


@kernel
def write_couples(room, seated, couples):
    """Write the matching that was found, less the phantom's couple."""
    row = 0
    for a in range(seated.seats[0]):
        i = seated.players[a]
        j = room.kept_mate[i]
        if i < j and row < len(couples) and j < len(room.kept_mate) - 1:
            couples[row, 0], couples[row, 1] = i, j
            row += 1
