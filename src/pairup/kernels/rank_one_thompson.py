"""Thompson sampling of all rates at once, by a Markov chain that never starts over.

One number per player explains all couples: couple (i, j) plays with probability rate_i * rate_j.
The rates are drawn from their joint posterior by the chain of `kernels.rank_one_posterior`. A round
changes the posterior little, so that the chain goes on from where the last round left it:
with many moves while all is new, with few when one more outcome hardly matters.
"""

from typing import NamedTuple

import numpy as np

from pairup.kernels.couples import couple_in_order, mark_available
from pairup.kernels.graph_matcher import (
    GraphMatcher,
    match_by_weights,
    observe_on_graph,
    set_available_on_graph,
    set_weights_by_players,
    write_matching,
)
from pairup.kernels.rank_one_posterior import refresh
from pairup.kernels.runtime.compilation import kernel, outlined, slot
from pairup.kernels.runtime.dispatch import OK, provide
from pairup.kernels.runtime.randomness import word
from pairup.kernels.state_layout import ANSWERED, PERIOD, PRESENT, ROUND

ACCEPTED, DECLINED = 1, 0  # answers of players; below 0: not known

# A player is refreshed _REFRESHES / (outcomes known of it) times per round, within these limits;
# the upper one is shared by all players, but allows each at least one.
_REFRESHES, _MIN_REFRESHES, _MAX_REFRESHES = 2_000.0, 0.05, 80.0
_MEMORY = 20.0  # the means are over about the last twentieth of the draws


class RankOneState(NamedTuple):
    """State of `RankOneThompson`.

    Rows of couples are symmetric but for `games` and `told`, which are kept for i < j. Slots beyond
    the players' fill the last four lanes and have no couples.
    """

    tries: np.ndarray
    games: np.ndarray
    missed: np.ndarray  # not played, and it is not known who declined
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
    couple_reach: np.ndarray  # of a move against its usual partner
    fitted: np.ndarray  # with how many outcomes the reach is to be fitted next
    present: np.ndarray  # the players present, by slot
    by_rate: np.ndarray  # the same, best first
    by_mean: np.ndarray
    available: np.ndarray
    terms: np.ndarray  # workspace for a sum over couples
    now: np.ndarray
    key: np.ndarray  # of all draws, and of this round's
    draws: np.ndarray  # made in this round


class RankOneGraphState(NamedTuple):
    """State of `RankOneThompson` on a graph."""

    inner: RankOneState
    matcher: GraphMatcher


def _propose(state, couples):
    """Neighbours by a draw of the rates, in between by their means."""
    now = state.now
    if now[ROUND] % now[PERIOD] == 0:
        _draw(state)
        couple_in_order(state.by_rate[: now[PRESENT]], state.available, couples)
    else:
        couple_in_order(state.by_mean[: now[PRESENT]], state.available, couples)
    now[ROUND] += 1
    return OK


def _observe(state, couples, played):
    for c in range(len(played)):
        i, j, game = slot(couples[c, 0]), slot(couples[c, 1]), np.int32(played[c])
        _meet(state, i, j)
        state.games[i, j] += game
        state.accepted[i] += game
        state.accepted[j] += game
        missed = state.missed[i, j] + np.int32(1) - game
        state.missed[i, j] = state.missed[j, i] = missed


def _observe_answers(state, couples, answers):
    """An answer is evidence only on the player who gave it."""
    state.now[ANSWERED] = 1
    for c in range(len(couples)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        _meet(state, i, j)
        both = np.int32(answers[c, 0] == ACCEPTED and answers[c, 1] == ACCEPTED)
        state.games[i, j] += both
        state.told[i, j] += both
        _note(state, i, answers[c, 0])
        _note(state, j, answers[c, 1])


provide(
    RankOneState,
    set_available=mark_available,
    propose=_propose,
    observe=_observe,
    observe_answers=_observe_answers,
)


def _propose_on_graph(state, couples):
    """The best matching by a draw of the rates, in between by their means."""
    inner, matcher = state.inner, state.matcher
    if inner.now[ROUND] % inner.now[PERIOD] == 0:
        _draw_outlined(inner)
        set_weights_by_players(matcher, inner.rates)
    else:
        set_weights_by_players(matcher, inner.mean)
    inner.now[ROUND] += 1
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    RankOneGraphState,
    set_available=set_available_on_graph,
    propose=_propose_on_graph,
    observe=observe_on_graph,
)


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
    _note_usual(state, i, j, tries)
    _note_usual(state, j, i, tries)


@kernel
def _note_usual(state, i, j, tries):
    """Note whom player i met most: of several the lowest slot, in whatever order they came."""
    usual = state.usual[i]
    most = state.tries[i, slot(usual)] if usual >= 0 else 0
    if tries > most or (tries == most and j < usual):
        state.usual[i] = j


@kernel
def _draw(state):
    """Let the chain go on as far as the new information asks for, and take the rates there."""
    state.key[1], state.draws[0] = word(state.key[0], state.now[ROUND]), 0
    limit = max(_MAX_REFRESHES / state.now[PRESENT], 1.0)
    for x in range(state.now[PRESENT]):
        # By slot: an order that followed the rates would bias them.
        i = slot(state.present[x])
        due = min(max(_REFRESHES / (state.met[i] + 1.0), _MIN_REFRESHES), limit)
        state.credit[i] += state.now[PERIOD] * due
        while state.credit[i] >= 1.0:
            state.credit[i] -= 1.0
            refresh(state, i)
    for x in range(state.now[PRESENT]):
        _average(state, slot(state.present[x]))
    _sort(state.by_rate, state.rates, state.now[PRESENT])
    _sort(state.by_mean, state.mean, state.now[PRESENT])


@outlined
def _draw_outlined(state):
    """As `_draw`, called and not inlined: on a graph the matching takes longer than a call."""
    _draw(state)


@kernel
def _average(state, i):
    """Take the draw into the means, of which the latest draws weigh most.

    Where answers are observed, little is left to chance, and much of that in the draw: then the
    expected value is taken instead. It costs a look at all partners, which pays only there.
    """
    rate, weight = state.rates[i], _MEMORY / (_MEMORY + state.drawn[i])
    square = rate * rate
    if state.now[ANSWERED] == 1:
        rate, square = _expected(state, i)
    state.mean[i] += weight * (rate - state.mean[i])
    state.square[i] += weight * (square - state.square[i])
    state.drawn[i] += 1.0


@kernel
def _expected(state, i):
    """Return the mean of player i's rate, and of its square, had we seen who declined.

    In a game that was missed with player j, i accepted with a chance that follows from the drawn
    rates. With all answers known the rate has a beta distribution, whose moments are polynomials of
    the number of acceptances: averaged over what the answers may have been, then over the draws,
    they are the moments of the posterior, exactly.
    """
    own, accepted = state.rates[i], 1.0 + state.accepted[i]
    answers, spread = 1.0 + accepted + state.declined[i], 0.0
    for x in range(state.now[PRESENT]):
        j = slot(state.present[x])
        if state.missed[i, j] > 0:
            missed, other = float(state.missed[i, j]), state.rates[j]
            chance = own * (1.0 - other) / (1.0 - own * other)
            accepted += missed * chance
            answers += missed
            spread += missed * chance * (1.0 - chance)
    square = (accepted * (accepted + 1.0) + spread) / (answers * (answers + 1.0))
    return accepted / answers, square


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
