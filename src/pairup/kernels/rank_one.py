"""Thompson sampling of all rates at once, by a Markov chain that never starts over.

One number a player explains all couples: couple (i, j) plays with probability rate_i * rate_j. With
a uniform prior the posterior density of all rates together is proportional to

    product over i of rate_i^accepted_i (1 - rate_i)^declined_i
    times product over i < j of (1 - rate_i rate_j)^missed_ij,

and a chain of Metropolis moves has exactly this distribution in the long run. A round changes it
little, so that the chain goes on from where the last round left it: with many moves while all is
new, with few when one more outcome hardly matters.

A move multiplies rates by a factor. In logarithms of rates the posterior is log-concave, and what
is badly known is a straight line: two players who always meet each other show only their product,
one up and the other down by the same factor explains their games as well. Such a step is a move of
its own, without which the chain would crawl.
"""

import math
from typing import NamedTuple

import numpy as np

from pairup.kernels.compile import kernel, slot
from pairup.kernels.logarithm import log
from pairup.kernels.rng import MANTISSA, mantissa, word
from pairup.kernels.steps import OK, provide

ROUND, DRAWS, PERIOD, PRESENT = range(4)  # where the numbers of `RankOneState.now` stand
LANES = 4  # sums over couples are four sums side by side, so rows are that often as long
ACCEPTED, DECLINED = 1, 0  # answers of players; below 0: nobody knows

# A player is refreshed KEEN / (outcomes known of it) times a round: at least LEAST times, at most
# EAGER / players times, yet once where that is less.
KEEN, LEAST, EAGER = 2_000.0, 0.05, 80.0
_MEMORY = 20.0  # the means are over about the last twentieth of the draws
_REFIT = 1.1  # the reach of moves is fitted again when this many times more is known
_REACH = 4.3  # makes a move of about 2.4 standard deviations, the best in one dimension
_LEAST_RATE = 1e-30

_TAME = 0.1  # up to here the series below reaches the last bit
_T1, _T2, _T3, _T4, _T5, _T6, _T7 = 2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15


class RankOneState(NamedTuple):
    """State of `RankOneThompson`.

    Rows of couples are symmetric but for `games` and `told`, which are kept for i < j. Slots beyond
    the players' fill the last four lanes and have no couples.
    """

    tries: np.ndarray
    games: np.ndarray
    missed: np.ndarray  # not played, and nobody knows who declined
    told: np.ndarray  # games of players who gave their answers one by one
    accepted: np.ndarray  # of each player, games included
    declined: np.ndarray
    met: np.ndarray  # outcomes known of each player
    usual: np.ndarray  # the partner met most, of several the lowest slot, or -1
    rates: np.ndarray  # where the chain is
    moved: np.ndarray  # where it would go: the same but during a move
    mean: np.ndarray
    square: np.ndarray  # mean of squares
    drawn: np.ndarray  # number of draws in the means
    credit: np.ndarray  # refreshes due
    reach: np.ndarray  # of a move of the player alone
    apart: np.ndarray  # of a move against its usual partner
    fitted: np.ndarray  # with how many outcomes the reach is to be fitted next
    present: np.ndarray  # the players present, by slot
    by_rate: np.ndarray  # the same, best first
    by_mean: np.ndarray
    seated: np.ndarray
    terms: np.ndarray  # room for a sum over couples
    now: np.ndarray
    key: np.ndarray  # of all draws, and of this round's


def seat(state, players):
    """See `steps.seat`."""
    state.seated[:] = False
    for i in players:
        state.seated[i] = True


def propose(state, couples):
    """See `steps.propose`: neighbours by a draw of the rates, in between by their means."""
    now = state.now
    if now[ROUND] % now[PERIOD] == 0:
        _draw(state)
        _couple_neighbours(state, state.by_rate, couples)
    else:
        _couple_neighbours(state, state.by_mean, couples)
    now[ROUND] += 1
    return OK


def observe(state, couples, played):
    """See `steps.observe`."""
    for c in range(len(played)):
        i, j, game = slot(couples[c, 0]), slot(couples[c, 1]), np.int32(played[c])
        _meet(state, i, j)
        state.games[i, j] += game
        state.accepted[i] += game
        state.accepted[j] += game
        missed = state.missed[i, j] + np.int32(1) - game
        state.missed[i, j] = state.missed[j, i] = missed


def hear(state, couples, answers):
    """See `steps.hear`: what each player answered is evidence on that player alone."""
    for c in range(len(couples)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        _meet(state, i, j)
        both = np.int32(answers[c, 0] == ACCEPTED and answers[c, 1] == ACCEPTED)
        state.games[i, j] += both
        state.told[i, j] += both
        _note(state, i, answers[c, 0])
        _note(state, j, answers[c, 1])


provide(RankOneState, seat=seat, propose=propose, observe=observe, hear=hear)


@kernel
def _note(state, i, answer):
    if answer == ACCEPTED:
        state.accepted[i] += 1.0
    elif answer == DECLINED:
        state.declined[i] += 1.0


@kernel
def _meet(state, i, j):
    """Count an outcome of the couple."""
    tries = state.tries[i, j] + np.int32(1)
    state.tries[i, j] = state.tries[j, i] = tries
    state.met[i] += 1.0
    state.met[j] += 1.0
    _grow_used_to(state, i, j, tries)
    _grow_used_to(state, j, i, tries)


@kernel
def _grow_used_to(state, i, j, tries):
    """Note whom player i met most: of several the lowest slot, in whatever order they came."""
    usual = state.usual[i]
    most = state.tries[i, slot(usual)] if usual >= 0 else 0
    if tries > most or (tries == most and j < usual):
        state.usual[i] = j


@kernel
def _couple_neighbours(state, order, couples):
    """Couple the seated players who are next to each other in `order`; an odd one is left."""
    row, waiting = 0, -1
    for x in range(state.now[PRESENT]):
        i = order[x]
        if not state.seated[i]:
            continue
        if waiting < 0:
            waiting = i
        else:
            couples[row, 0], couples[row, 1] = min(i, waiting), max(i, waiting)
            row, waiting = row + 1, -1


@kernel
def _draw(state):
    """Let the chain go on as far as the new information asks for, and take the rates there."""
    state.key[1], state.now[DRAWS] = word(state.key[0], state.now[ROUND]), 0
    most = max(EAGER / state.now[PRESENT], 1.0)
    for x in range(state.now[PRESENT]):
        # By slot: an order that followed the rates would bias them.
        i = slot(state.present[x])
        due = min(max(KEEN / (state.met[i] + 1.0), LEAST), most)
        state.credit[i] += state.now[PERIOD] * due
        while state.credit[i] >= 1.0:
            state.credit[i] -= 1.0
            refresh(state, i)
    for x in range(state.now[PRESENT]):
        _average(state, slot(state.present[x]))
    _sort(state.by_rate, state.rates, state.now[PRESENT])
    _sort(state.by_mean, state.mean, state.now[PRESENT])


@kernel
def _average(state, i):
    """Take the draw into the means, of which the latest draws weigh most."""
    rate, weight = state.rates[i], _MEMORY / (_MEMORY + state.drawn[i])
    state.mean[i] += weight * (rate - state.mean[i])
    state.square[i] += weight * (rate * rate - state.square[i])
    state.drawn[i] += 1.0


@kernel
def _sort(order, values, count):
    """Sort by decreasing value, by insertion: the order hardly changed since the last draw."""
    for x in range(1, count):
        i = order[x]
        y = x
        while y > 0 and values[order[y - 1]] < values[i]:
            order[y] = order[y - 1]
            y -= 1
        order[y] = i


@kernel
def refresh(state, i):
    """Two moves of the chain: of player i alone, and against its usual partner."""
    if state.met[i] > state.fitted[i]:
        _fit_reach(state, i)
    _move_player(state, i)
    if state.usual[i] >= 0:
        _move_couple(state, i, slot(state.usual[i]))


@kernel
def _fit_reach(state, i):
    """Fit the reach of player i's moves to its Fisher information at the means.

    A move that depended on the rates themselves would have to be corrected for that, the means
    hardly change.
    """
    j = slot(state.usual[i])
    own = _information(state, i)
    shared = state.mean[i] * state.mean[j]
    between = state.tries[i, j] * shared / (1.0 - shared)
    state.reach[i] = _reach(own)
    state.apart[i] = _reach(own + _information(state, j) - 2.0 * between)
    state.fitted[i] = _REFIT * state.met[i]


@kernel
def _reach(information):
    return 1.0 / math.sqrt(1.0 + (1.0 + information) / _REACH)


@kernel
def _information(state, i):
    """Fisher information on the logarithm of player i's rate, at the means."""
    rate = state.mean[i]
    total = state.declined[i] * rate
    for j in range(len(state.mean)):
        shared = rate * state.mean[j]
        total += state.tries[i, j] * shared / (1.0 - shared)
    return total


@kernel
def _move_player(state, i):
    """A Metropolis move of one rate."""
    shift, luck = state.reach[i] * (2.0 * _uniform(state) - 1.0), _uniform(state)
    rate = state.rates[i] * ((1.0 + shift) / (1.0 - shift))
    if not _LEAST_RATE < rate < 1.0:
        return
    state.moved[i] = rate
    # The logarithm of a rate that is uniform has its own rate as density: hence one more.
    gain = (state.accepted[i] + 1.0) * _log_factor(shift) + _gain(state, i)
    if gain >= 0.0 or log(luck) < gain:
        state.rates[i] = rate
    state.moved[i] = state.rates[i]


@kernel
def _move_couple(state, i, j):
    """A Metropolis move of two rates that leaves their product as it is."""
    shift, luck = state.apart[i] * (2.0 * _uniform(state) - 1.0), _uniform(state)
    factor = (1.0 + shift) / (1.0 - shift)
    up, down = state.rates[i] * factor, state.rates[j] / factor
    if not (_LEAST_RATE < up < 1.0 and _LEAST_RATE < down < 1.0):
        return
    state.moved[i], state.moved[j] = up, down
    missed = state.missed[i, j]
    state.missed[i, j] = state.missed[j, i] = 0  # their own couple has no say in this
    gain = (state.accepted[i] - state.accepted[j]) * _log_factor(shift)
    gain += _gain(state, i) + _gain(state, j)
    state.missed[i, j] = state.missed[j, i] = missed
    if gain >= 0.0 or log(luck) < gain:
        state.rates[i], state.rates[j] = up, down
    state.moved[i], state.moved[j] = state.rates[i], state.rates[j]


@kernel
def _uniform(state):
    """The next draw in (0, 1)."""
    bits = word(state.key[1], state.now[DRAWS])
    state.now[DRAWS] += 1
    return (np.float64(mantissa(bits)) + 0.5) / MANTISSA


@kernel
def _log_factor(shift):
    """ln((1 + shift) / (1 - shift))."""
    return _series(shift) if abs(shift) < _TAME else log((1.0 + shift) / (1.0 - shift))


@kernel
def _series(s):
    """2 atanh s, for |s| up to _TAME; without a branch, so that lanes go side by side."""
    z = s * s
    z2 = z * z
    low = (2.0 + _T1 * z) + (_T2 + _T3 * z) * z2
    high = (_T4 + _T5 * z) + (_T6 + _T7 * z) * z2
    return s * (low + high * (z2 * z2))


@kernel
def _gain(state, i):
    """Log-likelihood that a move gains in what was missed, by player i and in its couples."""
    rate, moved = state.rates[i], state.moved[i]
    missed, terms, wild = state.missed[i], state.terms, False
    for j in range(len(terms)):
        before, after = rate * state.rates[j], moved * state.moved[j]
        # ln((1 - after) / (1 - before)) = 2 atanh s
        s = (before - after) / (2.0 - before - after)
        terms[j] = missed[j] * _series(s)
        wild |= (abs(s) > _TAME) & (missed[j] > 0)
    if wild:
        _exact_terms(state, i)
    total = _sum(terms)
    if state.declined[i] > 0.0:
        total += state.declined[i] * log((1.0 - moved) / (1.0 - rate))
    return total


@kernel
def _exact_terms(state, i):
    """Write the terms of `_gain` for a move of any size."""
    rate, moved = state.rates[i], state.moved[i]
    for j in range(len(state.terms)):
        if state.missed[i, j] > 0:
            ratio = (1.0 - moved * state.moved[j]) / (1.0 - rate * state.rates[j])
            state.terms[j] = state.missed[i, j] * log(ratio)


@kernel
def _sum(terms):
    a = b = c = d = 0.0
    for j in range(0, len(terms), LANES):
        a += terms[j]
        b += terms[j + 1]
        c += terms[j + 2]
        d += terms[j + 3]
    return (a + b) + (c + d)
