"""Thompson sampling of all rates at once, by a Markov chain that never starts over.

One number per player explains all couples: couple (i, j) plays with probability rate_i * rate_j.
The rates are drawn from their joint posterior by the chain of `posterior`. A round changes the
posterior little, so that the chain continues from where the last round left it:
with many moves while all is new, with few when one more outcome hardly matters.

Whatever is done for a proposal is done for the players available and their couples alone.
"""

import numpy as np

from pairup.compiled.couples.rows import write_couple
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.matchings.graph_matcher import (
    match_by_weights,
    set_weights_by_players,
    write_matching,
)
from pairup.compiled.randomness import word
from pairup.compiled.stable_sort import sort_by_values
from pairup.compiled.state_fields import AVAILABLE, ROUND
from pairup.compiled.steps import FULL, OK, provide
from pairup.policies.rank_one.couple_layouts import (
    at,
    enter,
    is_sparse,
    lacks_room,
    place,
    row_length,
)
from pairup.policies.rank_one.fading import fade_round
from pairup.policies.rank_one.moments import (
    average_draw,
    average_expected,
    expects_means,
    learn_prior,
    set_exact_mean,
    start_newcomers,
)
from pairup.policies.rank_one.posterior import refresh_as_due
from pairup.policies.rank_one.state import (
    ANSWERED,
    CHANGED,
    EXPLORING,
    LEARNS_PRIOR,
    OUTCOMES,
    OWED,
    PERIOD,
    TOLD,
    UNTOLD,
    WEIGHT,
    WEIGHT_GROWTH,
    RankOneState,
)

ACCEPTED, DECLINED = 1, 0  # answers of players; below 0: not known

# A player is refreshed _REFRESHES / (outcomes known of it) times per round, within these limits;
# the upper one is shared by all players, but allows each at least one.
_REFRESHES, _MIN_REFRESHES, _MAX_REFRESHES = 2_000.0, 0.05, 80.0
_MAX_TERMS = 1_000_000.0  # that the moves of a draw sum up, about, where players are many
_ROWS_PER_REFRESH = 3  # the player's twice, and its usual partner's
_TOLD_WINDOW = 1_024  # of outcomes not played, in which answers are counted


@kernel
def _set_available(state, players):
    for x in range(len(players)):
        state.available[x] = state.by_rate[x] = state.by_mean[x] = players[x]
    state.counters[AVAILABLE], state.counters[CHANGED] = len(players), 1


def _propose(state, couples):
    """Neighbours by a draw of the rates, in between by their means."""
    if lacks_room(state.couples, state.available[: state.counters[AVAILABLE]]):
        return FULL
    explores = draw_if_due(state)
    if explores:
        sort_by_values(state.by_rate, state.rates, state.spare, state.counters[AVAILABLE])
        couple_neighbours(state.by_rate, couples)
    else:
        sort_by_mean(state)
        couple_neighbours(state.by_mean, couples)
    state.counters[ROUND] += 1
    return OK


def _observe(state, couples, played):
    known, weight = state.couples, state.reals[WEIGHT]
    for c in range(len(played)):
        i, j, game = slot(couples[c, 0]), slot(couples[c, 1]), np.int32(played[c])
        x, y = enter(known, i, j), enter(known, j, i)
        if x < 0 or y < 0:
            continue
        here, there = at(known, i, x), at(known, j, y)
        _meet(state, i, j, here, there)
        known.games[here] += game
        state.accepted[i] += weight * game
        state.accepted[j] += weight * game
        lost = weight * (np.int32(1) - game)
        missed = known.missed[here] + lost
        known.missed[here] = known.missed[there] = missed
        state.unsure[i] += lost
        state.unsure[j] += lost
        if state.counters[ANSWERED] == 1 and not game:
            _count_telling(state, UNTOLD)


def _observe_answers(state, couples, answers):
    """An answer is evidence only on the player who gave it."""
    state.counters[ANSWERED] = 1
    known, weight = state.couples, state.reals[WEIGHT]
    for c in range(len(couples)):
        i, j = slot(couples[c, 0]), slot(couples[c, 1])
        x, y = enter(known, i, j), enter(known, j, i)
        if x < 0 or y < 0:
            continue
        here, there = at(known, i, x), at(known, j, y)
        _meet(state, i, j, here, there)
        both = np.int32(answers[c, 0] == ACCEPTED and answers[c, 1] == ACCEPTED)
        known.games[here] += both
        known.told[here] += both
        _note(state, i, answers[c, 0], weight)
        _note(state, j, answers[c, 1], weight)
        if not both:
            _count_telling(state, TOLD)


def _set_available_on_graph(state, matcher, players):
    _set_available(state, players)


def _propose_on_graph(state, matcher, couples):
    """The best matching by a draw of the rates, in between by their means."""
    if draw_outlined(state):
        set_weights_by_players(matcher, state.rates)
    else:
        set_weights_by_players(matcher, state.mean)
    state.counters[ROUND] += 1
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    RankOneState,
    set_available=_set_available,
    propose=_propose,
    observe=_observe,
    observe_answers=_observe_answers,
    set_available_on_graph=_set_available_on_graph,
    propose_on_graph=_propose_on_graph,
)


@kernel
def couple_neighbours(order, couples):
    """Write the couples of successive players, as many as fit."""
    for row in range(len(couples)):
        write_couple(couples, row, order[2 * row], order[2 * row + 1])


@kernel
def _note(state, i, answer, weight):
    if answer == ACCEPTED:
        state.accepted[i] += weight
    elif answer == DECLINED:
        state.declined[i] += weight


@kernel
def _meet(state, i, j, here, there):
    """Count an outcome of the couple, in both rows."""
    tries = state.couples.tries[here] + np.int32(1)
    state.couples.tries[here] = state.couples.tries[there] = tries
    state.met[i] += state.reals[WEIGHT]
    state.met[j] += state.reals[WEIGHT]
    _note_usual(state, i, j, tries)
    _note_usual(state, j, i, tries)


@kernel
def _note_usual(state, i, j, tries):
    """Note whom player i met most: of several the lowest slot, whatever their order."""
    usual, most = state.usual[i], np.int32(0)
    if usual >= 0:
        most = state.couples.tries[at(state.couples, i, place(state.couples, i, slot(usual)))]
    if tries > most or (tries == most and j < usual):
        state.usual[i] = j


@kernel
def _count_telling(state, kind):
    """Count an outcome that was not played, by whether answers are known; the last ones matter."""
    counters = state.counters
    counters[kind] += 1
    if counters[TOLD] + counters[UNTOLD] >= _TOLD_WINDOW:
        counters[TOLD] //= 2
        counters[UNTOLD] //= 2


@kernel
def draw_if_due(state):
    """Advance the chain if it is due in this round; returns whether to play its draw."""
    counters, reals = state.counters, state.reals
    if reals[WEIGHT_GROWTH] != 1.0:
        fade_round(state)
    if counters[LEARNS_PRIOR] == 1:
        start_newcomers(state)
    due = counters[ROUND] % counters[PERIOD] == 0
    explores = due and _explores(state)
    last, draws = counters[ROUND] - counters[ROUND] % counters[PERIOD], counters[OWED] + due
    for before in range(draws - 1, -1, -1):
        _draw(state, last - before * counters[PERIOD], explores)
    counters[OWED] = 0
    if counters[ANSWERED] == 1:
        for x in range(counters[AVAILABLE]):
            set_exact_mean(state, slot(state.available[x]))
            state.by_mean[x] = state.available[x]  # equals, now not rare, come by slot
        counters[CHANGED] = 1
    return explores


@outlined
def draw_outlined(state):
    """As `draw_if_due`, called and not inlined: on a graph the matching takes longer."""
    return draw_if_due(state)


@outlined
def settle(state, first, last):
    """Make the draws from number `first` up to `last` that belong to no round."""
    for number in range(first, last):
        _draw(state, -1 - number, state.counters[ANSWERED] == 0)


@kernel
def _explores(state):
    """Whether a round that could explore does.

    Where answers are known, all matchings teach the same, and exploring gains nothing.
    """
    counters, reals = state.counters, state.reals
    if counters[ANSWERED] == 0:
        return True
    if counters[UNTOLD] > 0:
        reals[EXPLORING] += counters[UNTOLD] / (counters[TOLD] + counters[UNTOLD])
    explores = reals[EXPLORING] >= 1.0
    if explores:
        reals[EXPLORING] -= 1.0
    return explores


@kernel
def _draw(state, round, explores):
    """Advance the chain as far as the new information requires, and take the rates there."""
    state.key[1], state.draws[0] = word(state.key[0], round), 0
    limit, outcomes = _refresh_limit(state), state.reals[OUTCOMES]
    for x in range(state.counters[AVAILABLE]):
        # By slot: an order that followed the rates would bias them.
        i = slot(state.available[x])
        state.spare[x] = 0
        if not explores and state.unsure[i] == 0.0:
            continue  # its mean is known without the chain
        due = min(max(_REFRESHES / (state.met[i] * outcomes + 1.0), _MIN_REFRESHES), limit)
        state.spare[x] = refresh_as_due(state, i, state.counters[PERIOD] * due)
    expects = expects_means(state)
    for x in range(state.counters[AVAILABLE]):
        if not expects:
            average_draw(state, slot(state.available[x]))
        elif state.spare[x] == 1:
            average_expected(state, slot(state.available[x]))
    if state.counters[LEARNS_PRIOR] == 1:
        learn_prior(state)
    state.counters[CHANGED] = 1


@kernel
def _refresh_limit(state):
    """How often a player may be refreshed per round."""
    players = state.counters[AVAILABLE]
    limit = max(_MAX_REFRESHES / players, 1.0)
    if is_sparse(state.couples):
        terms = players
        for x in range(players):
            terms += _ROWS_PER_REFRESH * row_length(state.couples, slot(state.available[x]))
        limit = min(limit, _MAX_TERMS / (terms * state.counters[PERIOD]))
    return limit


@kernel
def sort_by_mean(state):
    """Sort the players available by their means, best first, if those changed."""
    if state.counters[CHANGED] == 1:
        sort_by_values(state.by_mean, state.mean, state.spare, state.counters[AVAILABLE])
        state.counters[CHANGED] = 0
