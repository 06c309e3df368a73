"""Policies on graphs against their slow twins, and what they draw against what they match."""

import math
import random

import numpy as np
import pytest

from pairup import (
    ESCB,
    CombThompson,
    CombUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    Oracle,
    RankOneThompson,
    Uniform,
)
from pairup.compiled.matchings.graph_matcher import new_graph_matcher
from pairup.compiled.state_fields import ROUND
from pairup.compiled.steps import observe_step, propose_step, set_available_step
from pairup.policies.contract import StartContext
from pairup.policies.rank_one.state import PERIOD
from pairup.problem.meeting_graph import MeetingGraph
from tests.support.twins import graphs as naive
from tests.support.twins import streams

TWINS = {
    "comb_ucb": (CombUCB(), naive.CombUCB),
    "comb_ucb-kl": (CombUCB("kl"), naive.CombUCBKL),
    "comb_thompson": (CombThompson(), naive.CombThompson),
    "comb_thompson-gaussian": (CombThompson("gaussian"), naive.CombThompsonGaussian),
    "explore_then_commit": (ExploreThenCommit(cycles=3), naive.ExploreThenCommit),
    "epsilon_greedy": (EpsilonGreedy(epsilon=2.0), naive.EpsilonGreedy),
    "uniform": (Uniform(), naive.Uniform),
    "escb": (ESCB("approximate"), naive.ESCB),
    "escb-budgeted": (ESCB("budgeted"), naive.ESCB),
}


class Playing:
    """A policy on a graph, played by coins."""

    def __init__(self, policy, graph, seed, rates=None):
        self.graph, self.draw, n = graph, random.Random(seed), graph.players
        self.key = streams.stream_key(seed, 0, streams.POLICY)
        context = StartContext(n, np.uint64(self.key), 1_000, rates)
        self.inner = policy.start(context)
        policy.set_present(self.inner, np.arange(n))
        matcher = new_graph_matcher(*graph.compiled())
        self.state = policy.on_graph(self.inner, matcher, context)

    def propose(self, available):
        set_available_step(self.state, np.array(sorted(available), np.int64))
        couples = np.full((len(available) // 2, 2), -7, np.int64)
        propose_step(self.state, couples)
        used = couples[:, 0] >= 0
        assert np.all(couples[~used] == -1)
        assert not np.any(np.diff(used.astype(int)) > 0)  # unused rows come last
        return [(i, j) for i, j in couples[used].tolist()]

    def observe(self, couples):
        played = [self.draw.random() < 0.5 for _ in couples]
        table = np.array(couples, np.int64).reshape(-1, 2)
        observe_step(self.state, table, np.array(played, np.bool_))
        return played


def random_meetings(seed, n=7, share=0.6):
    """Couples by chance, some of them worth nothing; the greatest worth is near 1."""
    draw = random.Random(seed)
    worth = {
        (i, j): draw.choice([0.0, 1.0, draw.random()])
        for i in range(n)
        for j in range(i + 1, n)
        if draw.random() < share
    }
    worth.setdefault((0, n - 1), 1.0)
    table = np.zeros((n, n))
    for (i, j), each in worth.items():
        table[i, j] = table[j, i] = each
    return worth, MeetingGraph(n, list(worth), table)


@pytest.mark.parametrize("name", TWINS)
def test_proposes_what_its_twin_allows_step_for_step(name):
    policy, twin_class = TWINS[name]
    for seed in range(2):
        worth, graph = random_meetings(seed)
        playing = Playing(policy, graph, seed)
        twin = twin_class(worth, playing.key)
        for round in range(30):
            away = playing.draw.sample(range(7), 2 if round % 4 == 3 else 0)
            available = [player for player in range(7) if player not in away]
            couples = playing.propose(available)
            twin.propose(available)
            if isinstance(policy, ESCB):
                _, twin.certified = policy.certified(playing.inner)  # the least ratio so far
            assert twin.allows(couples), (seed, round)
            twin.observe(couples, playing.observe(couples))


def test_rates_are_drawn_and_matched_by_worth_times_both():
    worth, graph = random_meetings(5)
    playing = Playing(RankOneThompson(), graph, 5)
    twin = naive.OnGraph(worth)
    drawn = set()
    for _ in range(60):
        couples = playing.propose(range(7))
        by_rate = (playing.inner.counters[ROUND] - 1) % playing.inner.counters[PERIOD] == 0
        values = (playing.inner.rates if by_rate else playing.inner.mean).tolist()
        twin.value = lambda couple, values=values: values[couple[0]] * values[couple[1]]
        twin.propose(range(7))
        assert twin.allows(couples)
        playing.observe(couples)
        drawn.add(by_rate)
    assert True in drawn


def test_the_oracle_proposes_the_matching_of_greatest_expected_worth():
    worth, graph = random_meetings(6)
    rates = np.random.default_rng(6).random(7)
    playing = Playing(Oracle(), graph, 6, rates)
    twin = naive.OnGraph(worth)
    twin.value = lambda couple: rates[couple[0]] * rates[couple[1]]
    for available in (range(7), [0, 2, 3, 6]):
        couples = playing.propose(available)
        twin.propose(available)
        assert twin.allows(couples)


def test_a_random_matching_of_a_complete_graph_is_drawn_uniformly():
    playing, seen = Playing(Uniform(), MeetingGraph(4), 0), []
    for _ in range(600):
        seen.append(tuple(sorted(playing.propose(range(4)))))
    shares = [seen.count(each) / len(seen) for each in set(seen)]
    assert len(shares) == 3
    assert shares == pytest.approx([1 / 3] * 3, abs=5 * math.sqrt(2 / 9 / 600))
