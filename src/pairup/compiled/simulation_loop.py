"""The loop: a policy plays a replication of a problem, round after round."""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.matchings.graph_matcher import count_rows
from pairup.compiled.proposal_check import REFUSED, broken_row
from pairup.compiled.randomness import MANTISSA, WEYL, mantissa, mixed
from pairup.compiled.state_fields import Flags, Integers, Keys, Reals, new_state
from pairup.compiled.steps import OK, observe, propose

_ROUNDING = 1e-12  # smaller differences between sums of rates are rounding, not regret


class Replication(NamedTuple):
    """One replication of a problem: the players as labelled there, and their draws.

    Where couples have rates of their own, `couple_rates` has a row and a column for each player,
    and `rates` is empty; elsewhere it is the other way round. One type for both, because the loop
    of each policy would otherwise be compiled twice. `best_games` is what the optimum is worth.
    Players on two sides have rates, and games worth 1 each.
    """

    rates: np.ndarray = Reals("rated")
    key: np.ndarray = Keys(1)
    best_games: np.ndarray = Reals(1)
    couple_rates: np.ndarray = Reals("coupled, coupled")
    worth: np.ndarray = Reals("valued, valued")  # of a game, empty where each is worth 1
    is_common: np.ndarray = Flags(1)  # one number decides all couples of a round


NO_RATES = {"rated": 0, "coupled": 0, "valued": 0}  # sizes of what a replication is not given


class Totals(NamedTuple):
    """What the loop counts, and its workspace for one round."""

    round: np.ndarray = Integers(1)
    games: np.ndarray = Integers(1)
    regret: np.ndarray = Reals(1)
    couples: np.ndarray = Integers("players // 2, 2")
    played: np.ndarray = Flags("players // 2")
    # A Boolean is tested each time it is read.
    accepted: np.ndarray = Integers("players", dtype=np.uint8)


def new_totals(players):
    """Nothing played yet."""
    return new_state(Totals, {"players": players})


@kernel
def accept(replication, round, accepted):
    """Draw who accepts in a round, from the replication's key, the round and the player."""
    players = len(replication.rates)
    step = replication.key[0] + WEYL * np.uint64(round * players + 1)
    for i in range(players):
        draw = mantissa(mixed(step))
        accepted[i] = np.float64(draw) < replication.rates[i] * MANTISSA
        step += WEYL


@outlined
def play_by_couple_rates(replication, round, couples, played):
    """Draw whether each couple plays, from the replication's key, the round and the couple."""
    rates, players = replication.couple_rates, len(replication.couple_rates)
    games, expected = 0, 0.0
    for c in range(len(played)):
        i, j = couples[c, 0], couples[c, 1]
        place = (round * players + i) * players + j
        draw = mantissa(mixed(replication.key[0] + WEYL * np.uint64(place + 1)))
        played[c] = np.float64(draw) < rates[i, j] * MANTISSA
        games += played[c]
        expected += rates[i, j]
    return games, expected


@outlined
def play_by_common_draw(replication, round, couples, played):
    """Draw one number from the replication's key and the round, below whose rate couples play."""
    rates = replication.rates
    place = round * len(rates)
    draw = np.float64(mantissa(mixed(replication.key[0] + WEYL * np.uint64(place + 1))))
    games, expected = 0, 0.0
    for c in range(len(played)):
        rate = rates[couples[c, 0]] * rates[couples[c, 1]]
        played[c] = draw < rate * MANTISSA
        games += played[c]
        expected += rate
    return games, expected


@outlined
def play_for_worth(replication, round, couples, played, accepted):
    """Play couples whose games differ in worth; returns the games, and the worth expected."""
    games, expected = 0, 0.0
    if len(replication.couple_rates):
        games, _ = play_by_couple_rates(replication, round, couples, played)
    else:
        accept(replication, round, accepted)
    for c in range(len(played)):
        i, j = couples[c, 0], couples[c, 1]
        if len(replication.couple_rates):
            rate = replication.couple_rates[i, j]
        else:
            rate = replication.rates[i] * replication.rates[j]
            played[c] = accepted[i] & accepted[j]
            games += played[c]
        expected += replication.worth[i, j] * rate
    best = replication.best_games[0]
    # A sum of large numbers has a larger rounding.
    return games, expected if abs(best - expected) > _ROUNDING * best else best


@kernel
def play_couples(replication, round, couples, played, accepted):
    """Draw which couples of a round play; returns the games, and how many were expected."""
    if len(replication.worth):
        return play_for_worth(replication, round, couples, played, accepted)
    if len(replication.couple_rates):
        return play_by_couple_rates(replication, round, couples, played)
    if replication.is_common[0]:
        return play_by_common_draw(replication, round, couples, played)
    accept(replication, round, accepted)
    games, expected = 0, 0.0
    for c in range(len(played)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        played[c] = accepted[i] & accepted[j]  # no branch: it would be a coin to guess
        games += played[c]
        expected += replication.rates[i] * replication.rates[j]
    return games, expected


@kernel
def play_rounds(state, replication, totals, until, checks=False):
    """Play on to round `until`; returns OK, or the status with which the policy stopped.

    With `checks` it also stops, with REFUSED, before a proposal that breaks a rule is counted.
    """
    accepted = totals.accepted
    while totals.round[0] < until:
        status = propose(state, totals.couples)
        if status != OK:
            return status
        if checks and broken_row(totals.couples, accepted) >= 0:
            return REFUSED
        rows = count_rows(totals.couples)
        couples, played = totals.couples[:rows], totals.played[:rows]
        games, expected = play_couples(replication, totals.round[0], couples, played, accepted)
        observe(state, couples, played)
        gap = replication.best_games[0] - expected
        totals.regret[0] += gap if gap > _ROUNDING else 0.0
        totals.games[0] += games
        totals.round[0] += 1
    return OK
