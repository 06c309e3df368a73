"""Thompson sampling of rates, and of couples that may deviate from them.

The chance of a couple is drawn in three steps: how closely couples follow the rates, which is one
of the concentrations of the grid, by the chances of the last fits; the rates; and the couple's
own chance, from the Beta posterior that follows from both and from its own games. If they follow
exactly, the rates are those of the chain of `rank_one`, and the proposal is that of rank one.
Otherwise they are normal in log odds, around the mode for that concentration.
"""

import numpy as np

from pairup.compiled.couples.rows import fill_members, write_mates
from pairup.compiled.distributions import fill_beta, normal
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import exp
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    match_by_weights,
    set_weight,
    set_weights_by_players,
    write_matching,
)
from pairup.compiled.matchings.max_matching import solve_loaded
from pairup.compiled.randomness import word
from pairup.compiled.stable_sort import sort_by_values
from pairup.compiled.state_fields import AVAILABLE, ROUND
from pairup.compiled.steps import (
    FULL,
    OK,
    observe,
    observe_answers,
    provide,
    set_available,
)
from pairup.policies.hierarchical.fit import (
    back_substitute,
    climb,
    gather,
    log_evidence,
    measure_recency,
    set_precision,
    set_rate,
    start_at,
    weight_of_outcomes,
)
from pairup.policies.hierarchical.state import (
    COUPLES,
    DUE,
    NEWS,
    RATES,
    SCALE,
    HierarchicalState,
)
from pairup.policies.rank_one.couple_layouts import at, lacks_room, partner, place, row_length
from pairup.policies.rank_one.posterior import uniform
from pairup.policies.rank_one.sides import draw_on_sides_if_due
from pairup.policies.rank_one.state import OUTCOMES, PERIOD
from pairup.policies.rank_one.steps import (
    couple_neighbours,
    draw_if_due,
    draw_outlined,
    sort_by_mean,
)

_NEWS = 0.1  # of what is known: then everything is fitted again
_NEGLIGIBLE = 0.01  # chance of any deviation, below which means are those of rank one
RARE = 1e-3  # chance of a concentration, below which means leave it out

# What a proposal weighs couples by, besides draws under one of the concentrations.
DRAWN_RATES, MEAN_RATES, MEANS = 0, -1, -2


def _set_available(state, players):
    set_available(state.inner, players)


def _propose(state, couples):
    inner = state.inner
    count = inner.counters[AVAILABLE]
    if lacks_room(inner.couples, inner.available[:count]):
        return FULL
    explores = draw_if_due(inner)
    _fit_if_due(state)
    choice = choose(state, explores)
    if choice == DRAWN_RATES:
        sort_by_values(inner.by_rate, inner.rates, inner.spare, count)
        couple_neighbours(inner.by_rate, couples)
    elif choice == MEAN_RATES:
        sort_by_mean(inner)
        couple_neighbours(inner.by_mean, couples)
    else:
        _match_by_values(state, choice, couples)
    inner.counters[ROUND] += 1
    return OK


def _observe(state, couples, played):
    observe(state.inner, couples, played)
    state.counters[NEWS] += len(played)


def _observe_answers(state, couples, answers):
    observe_answers(state.inner, couples, answers)
    state.counters[NEWS] += len(answers)


def _set_available_on_graph(state, matcher, players):
    set_available(state.inner, players)


def _propose_on_graph(state, matcher, couples):
    inner = state.inner
    if len(matcher.columns):
        explores = draw_on_sides_if_due(inner, matcher.columns, state.keys[SCALE])
    else:
        explores = draw_outlined(inner)
    _fit_if_due(state)
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
    HierarchicalState,
    set_available=_set_available,
    propose=_propose,
    observe=_observe,
    observe_answers=_observe_answers,
    set_available_on_graph=_set_available_on_graph,
    propose_on_graph=_propose_on_graph,
)


@kernel
def _fit_if_due(state):
    if state.counters[NEWS] >= state.counters[DUE]:
        fit_all(state)


@kernel
def choose(state, explores):
    """Choose what this round weighs couples by; the number of a concentration stands for its draws.

    `explores` says whether rank one would play its draw of the rates.
    """
    counters, choice = state.inner.counters, 0
    if counters[ROUND] % counters[PERIOD] == 0:
        luck = uniform(word(state.keys[RATES], counters[ROUND]), 0) - state.chances[0]
        while luck > 0.0 and choice < len(state.chances) - 1:
            choice += 1
            luck -= state.chances[choice]
        if choice == DRAWN_RATES and not explores:
            choice = MEAN_RATES
        return choice
    return MEANS if deviates(state) else MEAN_RATES


@kernel
def deviates(state):
    """Whether means of couples differ from products of the players' by anything to speak of."""
    return state.chances[0] < 1.0 - _NEGLIGIBLE


@outlined
def fit_all(state):
    """Fit the rates and the chance of each concentration to all that is known."""
    inner, chances, known = state.inner, state.chances, 0.0
    gather(inner, state.fit)
    for g in range(len(chances)):
        concentration = state.concentrations[g]
        density = climb(inner, state.fit, concentration, state.modes[g])
        chances[g] = state.log_prior[g] + log_evidence(inner, state.fit, concentration, density)
    normalise(state)
    for i in range(len(inner.met)):
        known += inner.met[i]
    state.counters[NEWS] = 0
    state.counters[DUE] = 1 + np.int64(_NEWS * 0.5 * known * inner.reals[OUTCOMES])


@kernel
def normalise(state):
    """Turn logs of what is proportional to the chances into the chances, in place."""
    chances = state.chances
    greatest, total = chances[0], 0.0
    for g in range(len(chances)):
        greatest = max(greatest, chances[g])
    for g in range(len(chances)):
        state.log_chances[g] = chances[g] - greatest
        chances[g] = exp(state.log_chances[g])
        total += chances[g]
    for g in range(len(chances)):
        chances[g] /= total


@outlined
def _match_by_values(state, choice, couples):
    """Find the best matching of all players available, by values of couples."""
    inner, weight, players = state.inner, state.matching.weight, state.players
    count = inner.counters[AVAILABLE]
    members = fill_members(players, inner.available[:count], len(state.matching.kept_mate) - 1)
    number = 0
    prepare(state, choice)
    for a in range(count):
        for b in range(a + 1, count):
            write_posterior(state, choice, number, slot(players[a]), slot(players[b]))
            number += 1
    finish(state, choice, number)
    number = 0
    for a in range(count):
        for b in range(a + 1, count):
            weight[a, b] = weight[b, a] = state.values[number]
            number += 1
        for phantom in range(count, members):
            weight[a, phantom] = weight[phantom, a] = 0.0
    solve_loaded(state.matching, players[:members])
    write_mates(state.matching.kept_mate, players[:members], couples)


@outlined
def _weigh_by_values(state, choice, matcher):
    """Weigh the couples who can meet, by their values."""
    graph, numbers, count = matcher.graph, matcher.order, 0
    prepare(state, choice)
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            write_posterior(state, choice, count, slot(graph.low[k]), slot(graph.high[k]))
            numbers[count] = k
            count += 1
    finish(state, choice, count)
    for x in range(count):
        set_weight(matcher, numbers[x], state.values[x])


@outlined
def prepare(state, choice):
    """Draw the rates under the concentration of number `choice`, if it is one."""
    inner, fit = state.inner, state.fit
    if choice == MEANS:
        measure_recency(inner, fit)
        return
    key = word(word(state.keys[RATES], inner.counters[ROUND]), 1)
    gather(inner, fit)
    start_at(inner, fit, state.modes[choice])
    set_precision(inner, fit, state.concentrations[choice])
    for i in range(len(inner.met)):
        fit.step[i] = normal(word(key, i))
    back_substitute(fit)
    for i in range(len(inner.met)):
        fit.place[i] += fit.step[i]
        set_rate(fit, i)


@kernel
def write_posterior(state, choice, number, i, j):
    """Write the posterior of the couple (i, j) as number `number`, or its mean."""
    games, missed = _outcomes(state, i, j)
    if choice == MEANS:
        state.values[number] = _mean(state, i, j, games, missed)
        return
    concentration, rate, rest = state.concentrations[choice], state.fit.rate, state.fit.rest
    state.posteriors[0, number] = concentration * (rate[i] * rate[j]) + games
    state.posteriors[1, number] = concentration * (rest[i] + rate[i] * rest[j]) + missed


@kernel
def finish(state, choice, count):
    """Draw the values of the first `count` couples from their posteriors, if they are not means."""
    if choice != MEANS:
        key = word(state.keys[COUPLES], state.inner.counters[ROUND])
        first, second = state.posteriors[0], state.posteriors[1]
        fill_beta(key, first[:count], second[:count], state.values[:count])


@kernel
def _outcomes(state, i, j):
    """Games and misses of the couple (i, j), i < j."""
    couples = state.inner.couples
    x = place(couples, i, j)
    if x >= row_length(couples, i) or slot(partner(couples, i, x)) != j:
        return 0.0, 0.0
    k = at(couples, i, x)
    games, tries = couples.games[k], couples.tries[k]
    if tries == 0:
        return 0.0, 0.0
    weight = weight_of_outcomes(state.inner, state.fit, i, j)
    return np.float64(games) * weight, np.float64(tries - games) * weight


@kernel
def _mean(state, i, j, games, missed):
    """The mean of a couple's chance, over the concentrations that have one to speak of."""
    chances, mean, modes = state.chances, state.inner.mean, state.modes
    total, weight = 0.0, 0.0
    if chances[0] > RARE:
        total, weight = chances[0] * mean[i] * mean[j], chances[0]
    for g in range(1, len(chances)):
        if chances[g] > RARE:
            k = state.concentrations[g]
            expected = (k * (modes[g, i] * modes[g, j]) + games) / (k + (games + missed))
            total += chances[g] * expected
            weight += chances[g]
    return total / weight


@outlined
def fill_means(state, players, table):
    """Fill a table by slots with the mean chance of each couple of some players."""
    prepare(state, MEANS)
    for a in range(len(players)):
        for b in range(a + 1, len(players)):
            i, j = slot(players[a]), slot(players[b])
            games, missed = _outcomes(state, i, j)
            table[i, j] = table[j, i] = _mean(state, i, j, games, missed)
