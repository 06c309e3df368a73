"""The loop: a policy plays a replication of a problem, round after round."""

from typing import NamedTuple

import numpy as np

from pairup.kernels.runtime.compilation import kernel, slot
from pairup.kernels.runtime.dispatch import OK, observe, propose
from pairup.kernels.runtime.randomness import MANTISSA, WEYL, mantissa, mixed

_ROUNDING = 1e-12  # smaller differences between sums of rates are rounding, not regret


class Replication(NamedTuple):
    """One replication of a problem: the players as labelled there, and their draws."""

    rates: np.ndarray
    key: np.ndarray
    best_games: np.ndarray


class Totals(NamedTuple):
    """What the loop counts, and its workspace for one round."""

    round: np.ndarray
    games: np.ndarray
    regret: np.ndarray
    couples: np.ndarray
    played: np.ndarray
    accepted: np.ndarray


def new_totals(players):
    """Nothing played yet."""
    return Totals(
        round=np.zeros(1, np.int64),
        games=np.zeros(1, np.int64),
        regret=np.zeros(1),
        couples=np.zeros((players // 2, 2), np.int64),
        played=np.zeros(players // 2, np.bool_),
        accepted=np.zeros(players, np.uint8),  # a Boolean is tested each time it is read
    )


@kernel
def accept(replication, round, accepted):
    """Draw who accepts in a round, from the replication's key, the round and the player."""
    players = len(replication.rates)
    step = replication.key[0] + WEYL * np.uint64(round * players + 1)
    for i in range(players):
        draw = mantissa(mixed(step))
        accepted[i] = np.float64(draw) < replication.rates[i] * MANTISSA
        step += WEYL


@kernel
def play_rounds(state, replication, totals, until):
    """Play on to round `until`; returns OK, or the status with which the policy stopped."""
    couples, played, accepted = totals.couples, totals.played, totals.accepted
    while totals.round[0] < until:
        status = propose(state, couples)
        if status != OK:
            return status
        accept(replication, totals.round[0], accepted)
        games, expected = 0, 0.0
        for c in range(len(played)):
            i, j = slot(couples[c, 0]), slot(couples[c, 1])
            played[c] = accepted[i] & accepted[j]  # no branch: it would be a coin to guess
            games += played[c]
            expected += replication.rates[i] * replication.rates[j]
        observe(state, couples, played)
        gap = replication.best_games[0] - expected
        totals.regret[0] += gap if gap > _ROUNDING else 0.0
        totals.games[0] += games
        totals.round[0] += 1
    return OK
