"""Participants of an exact matching: an even number of slots."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.runtime.compilation import kernel


class Participants(NamedTuple):
    """The first `size` of `players`, ascending; the phantom is the last of an odd number."""

    players: np.ndarray
    size: np.ndarray


def new_participants(slots):
    """Nobody takes part yet, of `slots` slots with the phantom's."""
    return Participants(np.zeros(slots + 1, np.int64), np.zeros(1, np.int64))


@kernel
def set_participants(participants, players, phantom):
    """Let `players` take part, and the phantom if they are odd."""
    count = len(players)
    for a in range(count):
        participants.players[a] = players[a]
    if count % 2 == 1:
        participants.players[count] = phantom
    participants.size[0] = count + count % 2


@kernel
def write_couples(work, participants, couples):
    """Write the matching that was found, less the phantom's couple."""
    row = 0
    for a in range(participants.size[0]):
        i = participants.players[a]
        j = work.kept_mate[i]
        if i < j and row < len(couples) and j < len(work.kept_mate) - 1:
            couples[row, 0], couples[row, 1] = i, j
            row += 1
