"""Combinatorial Thompson sampling: the exact best matching by one posterior draw for each couple.

Draw number k of a round is that of the k-th couple of the players available, in the order (0, 1),
(0, 2), ..., from a stream of the round's own; or the first draw is that of all couples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from pairup.compiled.couples.rows import set_members, write_mates
from pairup.compiled.couples.statistics import CoupleStatistics, count_outcomes
from pairup.compiled.distributions import fill_beta, fill_normal, normal
from pairup.compiled.kernels import kernel, outlined, slot
from pairup.compiled.logarithm import log
from pairup.compiled.matchings.graph_matcher import (
    can_meet,
    match_by_weights,
    set_weight,
    write_matching,
)
from pairup.compiled.matchings.max_matching import MatchingWorkspace, solve_loaded
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import (
    MEMBERS,
    OWN,
    ROUND,
    Integers,
    Keys,
    Reals,
    new_counters,
    new_state,
)
from pairup.compiled.steps import OK, provide
from pairup.errors import PolicyError
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import ExactMatchingPolicy
from pairup.policies.registry import register

# Places of counters.
(
    POSTERIOR,  # one of the kinds below
    COMMON,  # one draw for all couples
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 3)

BETA, GAUSSIAN, CLIPPED, BOOSTED = range(4)  # kinds of posteriors

_FIRST_ROUND = 3  # log log t is positive from here on
_BOOST = 0.01  # called lambda by the authors of BG-CTS, whose value it is
_BOOST_PER_COUPLE = 0.5 * math.log(1.0 + math.e / _BOOST)
_POSTERIORS = {
    "beta": BETA,
    "gaussian": GAUSSIAN,
    "clipped": CLIPPED,
    "boosted": BOOSTED,
}


@register
@dataclass(frozen=True)
class CombThompson(ExactMatchingPolicy):
    """Play the best matching by one posterior draw for each couple (Wang and Chen, 2018).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used.

    Parameters
    ----------
    prior : {"beta", "gaussian", "clipped", "boosted"}
        Posterior of a couple that played S times of N. "beta": Beta(1 + S, 1 + N - S). "gaussian":
        normal with mean S/N and variance 1/(4N); couples not seen yet come first. "clipped": the
        same, but a draw below the mean counts as the mean, and one above the upper confidence
        bound as that bound (Perrault et al., 2020). "boosted": the variance is larger by a factor
        that falls towards 2 as rounds go by, which keeps the regret of early rounds polynomial in
        the number of couples (BG-CTS; Zhang and Combes, 2024).
    draws : {"independent", "common"}
        "common" takes one standard normal draw per round for all couples, which then rise or fall
        together (Jin et al., 2026). Not for "beta".

    Examples
    --------
    >>> from pairup import CombThompson, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombThompson(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    prior: Literal["beta", "gaussian", "clipped", "boosted"] = "beta"
    draws: Literal["independent", "common"] = "independent"

    name: ClassVar[str] = "comb_thompson"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 450

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior == "beta" and self.draws == "common":
            raise PolicyError(
                'one draw for all couples is for normal posteriors: with draws="common" take '
                'prior="gaussian", "clipped" or "boosted"'
            )

    def start(self, context: StartContext) -> CombThompsonState:
        options = {POSTERIOR: _POSTERIORS[self.prior], COMMON: self.draws == "common"}
        return new_state(
            CombThompsonState,
            self.sizes(context),
            counters=new_counters(options, _COUNTERS),
            key=np.array([context.key]),
        )


_COUPLES = "slots * (slots - 1) // 2"


class CombThompsonState(NamedTuple):
    """State of `CombThompson`: statistics, the last matching, and a workspace for draws."""

    stats: CoupleStatistics
    workspace: MatchingWorkspace
    players: np.ndarray = Integers("slots + 1")  # the first `counters[MEMBERS]` are to be matched
    counters: np.ndarray = Integers(_COUNTERS)
    key: np.ndarray = Keys(1)
    # Of the couples available, in the order of their draws: both parameters of Beta
    # distributions, or means and deviations of normal ones.
    posteriors: np.ndarray = Reals(f"2, {_COUPLES}")
    draws: np.ndarray = Reals(_COUPLES)


def _propose(state, couples):
    players = state.players[: state.counters[MEMBERS]]
    _draw_weights(state, players)
    state.counters[ROUND] += 1
    solve_loaded(state.workspace, players)
    write_mates(state.workspace.kept_mate, players, couples)
    return OK


def _propose_on_graph(state, matcher, couples):
    _draw_weights_on_graph(state, matcher, len(couples))
    state.counters[ROUND] += 1
    match_by_weights(matcher)
    write_matching(matcher, couples)
    return OK


provide(
    CombThompsonState,
    set_available=set_members,
    propose=_propose,
    observe=count_outcomes,
    propose_on_graph=_propose_on_graph,
)


@kernel
def _draw_weights(state, players):
    """Weigh the couples by a draw from each posterior; all are worth the same with the phantom."""
    weight, real, count = state.workspace.weight, len(players), 0
    if real > 0 and players[real - 1] == len(state.stats.tries) - 1:
        real -= 1
    for a in range(real):
        for b in range(a + 1, real):
            _write_posterior(state, count, slot(players[a]), slot(players[b]))
            count += 1
    _draw(state, count, real // 2)
    k, draws = 0, state.draws
    for a in range(real):
        for b in range(a + 1, real):
            weight[a, b] = weight[b, a] = draws[k]
            k += 1
        for phantom in range(real, len(players)):
            weight[a, phantom] = weight[phantom, a] = 0.0


@kernel
def _write_posterior(state, k, i, j):
    """Write the posterior of the couple (i, j) as number `k` of this round."""
    tries, first, second = state.stats.tries[i, j], np.inf, 0.0  # not seen: it comes first
    if state.counters[POSTERIOR] == BETA:
        games = state.stats.games[i, j]
        first, second = 1.0 + games, 1.0 + (tries - games)
    elif tries > 0:
        first, second = state.stats.mean[i, j], 0.5 / math.sqrt(tries)
    state.posteriors[0, k], state.posteriors[1, k] = first, second


@kernel
def _draw(state, count, matched):
    """Fill `state.draws` with draws from the first `count` of `state.posteriors`.

    A matching has `matched` couples.
    """
    first, second, draws = state.posteriors[0], state.posteriors[1], state.draws[:count]
    key = word(state.key[0], state.counters[ROUND])
    if state.counters[POSTERIOR] == BETA:
        fill_beta(key, first[:count], second[:count], draws)
        return
    if state.counters[COMMON] != 0:
        draws[:] = normal(word(key, 0))
    else:
        fill_normal(key, draws)
    if state.counters[POSTERIOR] != GAUSSIAN:
        _reshape(state, draws, matched)
    for k in range(count):
        draws[k] = first[k] + second[k] * draws[k]  # infinite where a couple is unseen


@outlined
def _reshape(state, draws, matched):
    """Make standard normal draws wider, or cut them off below 0 and above."""
    level = log(float(max(state.counters[ROUND] + 1, _FIRST_ROUND)))
    if state.counters[POSTERIOR] == BOOSTED:
        more = (matched + 2) * log(level) + matched * _BOOST_PER_COUPLE
        wider = math.sqrt(2.0 * (1.0 + _BOOST) * (level + more) / level)
        for k in range(len(draws)):
            draws[k] *= wider
    else:
        most = math.sqrt(2.0 * (level + 3.0 * log(level)))
        for k in range(len(draws)):
            draws[k] = min(max(draws[k], 0.0), most)


@outlined
def _draw_weights_on_graph(state, matcher, matched):
    """Weigh the couples that can meet by a draw from each posterior, in their order."""
    numbers, count = matcher.order, 0
    for k in range(len(matcher.weights)):
        if can_meet(matcher, k):
            _write_posterior(state, count, slot(matcher.graph.low[k]), slot(matcher.graph.high[k]))
            numbers[count] = k
            count += 1
    _draw(state, count, matched)
    for x in range(count):
        set_weight(matcher, numbers[x], state.draws[x])
