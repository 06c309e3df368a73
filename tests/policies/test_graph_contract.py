"""What every policy must do where not all couples may meet, or games differ in worth."""

import dataclasses

import numpy as np
import pytest

from pairup import CombThompson, PolicyError, Problem, RankOneThompson, simulate
from pairup.policies.contract import Policy
from pairup.simulation.playthrough import Playthrough
from pairup.simulation.replication import new_replication, replicated_ground
from pairup.testing.playing import outcomes
from tests.support.policy_variants import variants


def plays_graphs(variant):
    try:
        variant.policy([0.5] * 4).check_graph()
    except PolicyError:
        return False
    return True


ON_GRAPHS = [variant for variant in variants() if plays_graphs(variant)]
COMPLETE_ONLY = [variant for variant in variants() if variant not in ON_GRAPHS]
on_graphs = pytest.mark.parametrize("variant", ON_GRAPHS, ids=str)


def test_both_kinds_of_policies_exist():
    complete = {variant.given.name for variant in COMPLETE_ONLY}
    assert complete == {"unimodal", "unimodal_thompson", "osub", "sam", "pmed"}
    assert {variant.given.name for variant in ON_GRAPHS} >= {"rank_one_thompson", "escb", "oracle"}


def rules(graph, names=None):
    """The graph as a learner takes it: by the names of its players."""
    names = list(range(graph.players)) if names is None else names
    couples = [(names[i], names[j]) for i, j in zip(graph.low, graph.high, strict=True)]
    return {"allowed": couples, "worth": dict(zip(couples, graph.worth.tolist(), strict=True))}


@on_graphs
def test_what_is_served_is_what_is_simulated_on_a_graph(variant):
    problem = Problem.random_graph(8, 0.6, seed=3, random_worth=True)
    replication, rounds = new_replication(problem, 5, 0), 60
    policy = variant.policy(replication.rates)
    graph = replicated_ground(problem, 5, 0).graph
    learner = policy.learner(range(8), seed=5)
    playthrough = Playthrough(problem, policy, rounds, 5, 0)
    games = 0
    for t in range(rounds):
        matching = learner.propose(**rules(graph))
        played = outcomes(replication, t, matching)
        learner.observe(matching, played)
        games += sum(played)
        playthrough.play_to(t + 1)
        couples = playthrough.totals.couples.tolist()
        assert sorted(map(list, matching)) == [each for each in couples if each[0] >= 0]
        assert playthrough.totals.games[0] == games
    run = simulate(problem, policy, rounds, 1, seed=5)
    assert run.games[0, -1] == games
    assert run.regret[0, -1] == playthrough.totals.regret[0]


@on_graphs
def test_all_couples_for_the_same_worth_are_the_complete_graph(variant):
    learner, twin = variant.learner("abcdef"), variant.learner("abcdef")
    everybody = ~np.eye(6, dtype=bool)
    for turn in range(20):
        matching = learner.propose(allowed=everybody, worth=np.full((6, 6), 2.5))
        assert matching.couples == twin.propose().couples
        for each in (learner, twin):
            each.observe(matching, [turn % 3 == 0] * len(matching))
    assert learner.to_bytes() == twin.to_bytes()


@on_graphs
def test_a_player_who_may_meet_nobody_waits(variant):
    problem = Problem([0.9, 0.8, 0.7, 0.6, 0.5], allowed=[(0, 1), (2, 3)])
    run = simulate(problem, variant.policy(problem.rates), 50, 2)
    assert np.all(run.regret == 0.0)  # there is only one matching to which nothing can be added
    learner = variant.learner("abc")
    assert learner.propose(allowed=[("a", "b")]).waiting == ("c",)
    assert learner.propose(allowed=[]).waiting == ("a", "b", "c")


@pytest.mark.parametrize("variant", COMPLETE_ONLY, ids=str)
def test_policies_for_complete_graphs_are_refused_elsewhere_in_one_line(variant):
    problem = Problem.random_graph(6, 0.5)
    policy = variant.policy(problem.rates)
    with pytest.raises(PolicyError, match=r"for complete graphs .*: .*take [^\n]*$"):
        simulate(problem, policy, 10, 1)
    learner = variant.learner("abcd")
    before = learner.to_bytes()
    with pytest.raises(PolicyError, match="for complete graphs"):
        learner.propose(allowed=[("a", "b")])
    assert learner.to_bytes() == before


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_equal_worth_of_all_couples_is_for_every_policy(variant):
    plain = Problem([0.9, 0.7, 0.5, 0.3, 0.2])
    problem = Problem(plain.rates, worth=np.full((5, 5), 3.0))
    policy = variant.policy(plain.rates)
    run, twin = (simulate(each, policy, 50, 2) for each in (problem, plain))
    assert np.array_equal(run.games, twin.games)
    assert run.regret == pytest.approx(3 * twin.regret)


def test_a_third_party_policy_is_for_complete_graphs_unless_it_says_otherwise():
    @dataclasses.dataclass(frozen=True)
    class ThirdParty(Policy):
        def start(self, context):
            raise AssertionError

        def saved(self, state):
            raise AssertionError

        def load(self, state, arrays):
            raise AssertionError

    with pytest.raises(PolicyError, match="for complete graphs"):
        simulate(Problem.random_graph(6, 0.5), ThirdParty(), 10, 1)


@pytest.mark.parametrize("random_worth", [False, True])
def test_rank_one_thompson_loses_at_most_half_of_what_comb_thompson_loses(random_worth):
    """`python -m scripts.figures.graphs --half` has more replications: 0.27 and 0.41 of it."""
    ours, theirs = RankOneThompson(), CombThompson()
    lost = dict.fromkeys((ours, theirs), 0.0)
    for seed in range(24):
        problem = Problem.random_graph(10, 0.5, seed=seed, random_worth=random_worth)
        for policy in lost:
            lost[policy] += simulate(problem, policy, 4_000, 1).mean()[-1]
    assert 0.0 < lost[ours] <= 0.5 * lost[theirs]
