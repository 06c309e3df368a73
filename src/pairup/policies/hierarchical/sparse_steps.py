"""Steps of `HierarchicalThompson` live, where players are many.

As `steps`, but rates are fitted player by player, and the best matching is sought among
candidates: each player with those next to it in the order of rates, and couples that have met and
look better than two such meetings. If players have the rates r and s, meeting their equals is worth
about (r^2 + s^2) / 2 to them. A couple that has never met is taken for the product of its rates,
which is at most that, so that far from each other in the order only couples that have met can be
worth a game.
"""

import math

import numpy as np

from pairup.compiled.couples.rows import write_couple
from pairup.compiled.distributions import beta, fill_beta, normal
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import exp, log
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    match_by_weights,
    set_weight,
    set_weights_by_players,
    write_matching,
)
from pairup.compiled.matchings.sparse_matching import NOBODY, solve_nearly
from pairup.compiled.randomness import word
from pairup.compiled.stable_sort import sort_by_values
from pairup.compiled.state_fields import AVAILABLE, ROUND
from pairup.compiled.steps import FULL, OK, observe, observe_answers, provide, set_available
from pairup.policies.hierarchical.local_fits import fit_as_due
from pairup.policies.hierarchical.state import COUPLES, RATES, SparseHierarchicalState
from pairup.policies.hierarchical.steps import (
    DRAWN_RATES,
    MEAN_RATES,
    MEANS,
    RARE,
    choose,
)
from pairup.policies.rank_one.couple_layouts import at, lacks_room, partner, place, row_length
from pairup.policies.rank_one.posterior import recency
from pairup.policies.rank_one.state import FADED, OUTCOMES, PRIOR_A, PRIOR_B
from pairup.policies.rank_one.steps import (
    couple_neighbours,
    draw_if_due,
    draw_outlined,
    sort_by_mean,
)

NEIGHBOURS = 6  # in the order of rates, on each side, whom a player may meet
WAITING = 32  # players at the end of the order of whom one may be left over
MOST_MET = 24  # candidates per player that have met, on average, if there are more
_MOST_TOUCHED = 128  # players whom the search for a partner of one of them comes across
_FAR = 4.0  # standard deviations: a draw is hardly ever further from the mean


def _set_available(state, players):
    set_available(state.inner, players)


def _propose(state, couples):
    inner = state.inner
    count = inner.counters[AVAILABLE]
    if lacks_room(inner.couples, inner.available[:count]) or _lacks_places(state):
        return FULL
    explores = draw_if_due(inner)
    fit_as_due(state)
    choice = choose(state, explores)
    if choice == DRAWN_RATES:
        sort_by_values(inner.by_rate, inner.rates, inner.spare, count)
        couple_neighbours(inner.by_rate, couples)
    elif choice == MEAN_RATES:
        sort_by_mean(inner)
        couple_neighbours(inner.by_mean, couples)
    else:
        match_candidates(state, choice, couples)
    inner.counters[ROUND] += 1
    return OK


def _observe(state, couples, played):
    observe(state.inner, couples, played)


def _observe_answers(state, couples, answers):
    observe_answers(state.inner, couples, answers)


def _set_available_on_graph(state, matcher, players):
    set_available(state.inner, players)


def _propose_on_graph(state, matcher, couples):
    inner = state.inner
    explores = draw_outlined(inner)
    fit_as_due(state)
    choice = choose(state, explores)
    if choice == DRAWN_RATES:
        set_weights_by_players(matcher, inner.rates)
    elif choice == MEAN_RATES:
        set_weights_by_players(matcher, inner.mean)
    else:
        _weigh_by_values(state, choice, matcher)
    inner.counters[ROUND] += 1
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    SparseHierarchicalState,
    set_available=_set_available,
    propose=_propose,
    observe=_observe,
    observe_answers=_observe_answers,
    set_available_on_graph=_set_available_on_graph,
    propose_on_graph=_propose_on_graph,
)


@kernel
def places_needed(state):
    """Places, and candidates, for which a proposal to the players available has room."""
    inner, met = state.inner, 0
    count = inner.counters[AVAILABLE]
    for x in range(count):
        met += row_length(inner.couples, slot(inner.available[x]))
    return count + 1, NEIGHBOURS * count + WAITING + min(met // 2, MOST_MET * count)


@kernel
def _lacks_places(state):
    places, couples = places_needed(state)
    return places > len(state.candidates.free) or couples > len(state.candidates.values)


@outlined
def match_candidates(state, choice, couples):
    """Find the best matching of the players available among candidates."""
    order, count = state.order, state.inner.counters[AVAILABLE]
    write_rates(state, choice)
    for x in range(count):
        order[x] = state.inner.available[x]
    sort_by_values(order, state.rate, state.inner.spare, count)
    for x in range(count):
        state.place[order[x]] = x
    number = _add_met(state, choice, _add_neighbours(state, choice, count))
    _write_values(state, choice, number)
    number = _add_phantom(state, count, number)
    _start_from_neighbours(state, count)
    _load_edges(state, count + count % 2, number)
    solve_nearly(state.candidates.workspace, state.candidates.free, _MOST_TOUCHED)
    _couple_single_players(state, count + count % 2)
    _write_couples(state, count, couples)
    for x in range(count):
        state.place[order[x]] = -1


@outlined
def find_leader(state, couples, values):
    """Find the matching that looks best, and the mean chance of each of its couples."""
    match_candidates(state, MEANS, couples)
    for row in range(len(couples)):
        i, j = slot(couples[row, 0]), slot(couples[row, 1])
        values[row] = mean_of_couple(state, i, j, *outcomes_of(state, i, j))


@outlined
def write_rates(state, choice):
    """Write the rates of the players available, drawn or mean ones, and what outcomes weigh."""
    inner = state.inner
    key = word(word(state.keys[RATES], inner.counters[ROUND]), 1)
    odds = log(inner.reals[PRIOR_A] / inner.reals[PRIOR_B])
    known = inner.reals[PRIOR_A] + inner.reals[PRIOR_B]
    for x in range(inner.counters[AVAILABLE]):
        i = slot(inner.available[x])
        new = inner.met[i] == 0.0
        if inner.counters[FADED] == 1:
            state.recency[i] = recency(inner, i) * inner.reals[OUTCOMES]
        if choice == MEANS:
            rate = _mean_rate(state, i)
            state.rate[i], state.rest[i] = rate, 1.0 - rate
            continue
        middle, spread = odds, 0.0
        if new:
            rest = 1.0 / (1.0 + exp(odds))
            spread = 1.0 / math.sqrt(known * rest * (1.0 - rest))
        else:
            mode = np.float64(state.modes[choice, i])
            middle, spread = log(mode / (1.0 - mode)), np.float64(state.spread[choice, i])
        rest = 1.0 / (1.0 + exp(middle + spread * normal(word(key, i))))
        state.rest[i] = min(max(rest, 1e-15), 1.0 - 1e-15)
        state.rate[i] = 1.0 - state.rest[i]


@kernel
def _mean_rate(state, i):
    """The rate by which player i is sorted between the draws."""
    chances = state.chances
    if state.inner.met[i] == 0.0:
        return state.inner.mean[i]
    total = chances[0] * state.inner.mean[i]
    for g in range(1, len(chances)):
        total += chances[g] * state.modes[g, i]
    return total


@kernel
def _add_neighbours(state, choice, count):
    """Add the couples of players next to each other in the order; returns how many there are."""
    order, number = state.order, 0
    for x in range(count):
        for y in range(x + 1, min(x + 1 + NEIGHBOURS, count)):
            i, j = slot(min(order[x], order[y])), slot(max(order[x], order[y]))
            games, missed = outcomes_of(state, i, j)
            _add(state, number, x, y)
            _write_posterior(state, choice, number, i, j, games, missed)
            number += 1
    return number


@kernel
def _add_met(state, choice, number):
    """Add couples that have met and may be worth more than meetings with their equals."""
    couples, inner = state.inner.couples, state.inner
    most = len(state.candidates.values) - WAITING  # the phantom needs some
    for a in range(inner.counters[AVAILABLE]):
        i = slot(inner.available[a])
        x = state.place[i]
        for r in range(place(couples, i, i), row_length(couples, i)):
            j = slot(partner(couples, i, r))
            y = state.place[j]
            if y < 0 or abs(x - y) <= NEIGHBOURS or number == most:
                continue
            k = at(couples, i, r)
            if couples.games[k] == 0:
                continue  # it cannot look better than its players' rates
            games, missed = _weighed(state, i, j, k)
            rate, other = state.rate[i], state.rate[j]
            least = 0.5 * (rate * rate + other * other)
            if _is_promising(state, choice, rate * other, games, missed, least):
                _add(state, number, min(x, y), max(x, y))
                _write_posterior(state, choice, number, i, j, games, missed)
                number += 1
    return number


@kernel
def _is_promising(state, choice, m, games, missed, least):
    """Whether a couple whose rates have the product m may be worth at least so much."""
    if choice == MEANS:
        return games > least * (games + missed)
    k = state.concentrations[choice]
    known = k + games + missed
    mean = (k * m + games) / known
    return mean + _FAR * math.sqrt(mean * (1.0 - mean) / (known + 1.0)) > least


@kernel
def _add(state, number, x, y):
    state.candidates.low[number], state.candidates.high[number] = x, y


@kernel
def _add_phantom(state, count, number):
    """Add the couples of the last players with the phantom, if players are odd."""
    if count % 2:
        for x in range(max(count - WAITING, 0), count):
            _add(state, number, x, count)
            state.candidates.values[number] = 0.0
            number += 1
    return number


@kernel
def outcomes_of(state, i, j):
    """Games and misses of the couple (i, j), i < j, weighed."""
    couples = state.inner.couples
    x = place(couples, i, j)
    if x >= row_length(couples, i) or slot(partner(couples, i, x)) != j:
        return 0.0, 0.0
    return _weighed(state, i, j, at(couples, i, x))


@kernel
def _weighed(state, i, j, k):
    tries, games, weight = state.inner.couples.tries[k], state.inner.couples.games[k], 1.0
    if state.inner.counters[FADED] == 1:
        weight = 0.5 * (state.recency[i] + state.recency[j])
    return np.float64(games) * weight, np.float64(tries - games) * weight


@kernel
def _write_posterior(state, choice, number, i, j, games, missed):
    """Write the posterior of the couple (i, j) as number `number`, or its mean."""
    candidates = state.candidates
    if choice == MEANS:
        candidates.values[number] = mean_of_couple(state, i, j, games, missed)
        return
    a, b = _posterior(state, choice, i, j, games, missed)
    candidates.posteriors[0, number], candidates.posteriors[1, number] = a, b


@kernel
def _posterior(state, choice, i, j, games, missed):
    """Parameters of the Beta distribution of a couple's chance under a concentration."""
    concentration, rate, rest = state.concentrations[choice], state.rate, state.rest
    a = concentration * (rate[i] * rate[j]) + games
    return a, concentration * (rest[i] + rate[i] * rest[j]) + missed


@kernel
def mean_of_couple(state, i, j, games, missed):
    """The mean of a couple's chance, over the concentrations that have one to speak of."""
    chances, mean = state.chances, state.inner.mean
    total, weight = 0.0, 0.0
    if chances[0] > RARE:
        total, weight = chances[0] * mean[i] * mean[j], chances[0]
    for g in range(1, len(chances)):
        if chances[g] > RARE:
            k = state.concentrations[g]
            expected = k * _mode(state, g, i) * _mode(state, g, j) + games
            total += chances[g] * expected / (k + (games + missed))
            weight += chances[g]
    return total / weight


@kernel
def _mode(state, g, i):
    if state.inner.met[i] == 0.0:
        return state.inner.mean[i]
    return np.float64(state.modes[g, i])


@kernel
def _write_values(state, choice, number):
    """Draw the values of the first candidates, if they are not means."""
    if choice != MEANS:
        candidates = state.candidates
        key = word(state.keys[COUPLES], state.inner.counters[ROUND])
        first, second = candidates.posteriors[0], candidates.posteriors[1]
        fill_beta(key, first[:number], second[:number], candidates.values[:number])


@kernel
def _start_from_neighbours(state, count):
    """Start the search from neighbours, with half the squares of rates as duals.

    These duals fit products: r s is at most (r^2 + s^2) / 2.
    """
    work, free = state.candidates.workspace, state.candidates.free
    for x in range(len(free)):
        free[x] = x < count + count % 2
        work.mate[x], work.dual[x] = NOBODY, 0.0
    for x in range(count):
        work.dual[x] = 0.5 * state.rate[state.order[x]] * state.rate[state.order[x]]
    for x in range(0, count, 2):
        work.mate[x], work.mate[x + 1] = x + 1, x


@kernel
def _load_edges(state, places, number):
    """Load candidates as the edges of the matching, from both ends."""
    candidates, work = state.candidates, state.candidates.workspace
    low, high, end = candidates.low, candidates.high, candidates.end
    end[:] = 0
    for k in range(number):
        end[low[k]] += 1
        end[high[k]] += 1
    first = 0
    for x in range(len(end)):
        work.start[x] = first
        first += end[x]
        end[x] = work.start[x]
    work.start[len(end)] = first
    for k in range(number):
        for turn in range(2):
            x, y = (high[k], low[k]) if turn else (low[k], high[k])
            work.to[end[x]], work.weight[end[x]] = y, candidates.values[k]
            end[x] += 1


@kernel
def _couple_single_players(state, places):
    """Couple those with each other for whom the search was given up, in their order."""
    mate, single = state.candidates.workspace.mate, NOBODY
    for x in range(places):
        if mate[x] == NOBODY:
            if single == NOBODY:
                single = x
            else:
                mate[x], mate[single] = single, x
                single = NOBODY


@kernel
def _write_couples(state, count, couples):
    mate, order, row = state.candidates.workspace.mate, state.order, 0
    for x in range(count):
        if x < mate[x] < count:
            write_couple(couples, row, order[x], order[mate[x]])
            row += 1


@outlined
def _weigh_by_values(state, choice, matcher):
    """Weigh the couples of the graph who can meet, by their values."""
    graph = matcher.graph
    write_rates(state, choice)
    key = word(state.keys[COUPLES], state.inner.counters[ROUND])
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            i, j = slot(graph.low[k]), slot(graph.high[k])
            games, missed = outcomes_of(state, i, j)
            if choice == MEANS:
                value = mean_of_couple(state, i, j, games, missed)
            else:
                a, b = _posterior(state, choice, i, j, games, missed)
                value = beta(key, k, a, b)
            set_weight(matcher, k, value)
