from itertools import combinations

import pytest

from pairup import SAM
from tests.support.twins import duel as duels
from tests.support.twins import sam as naive_sam
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled
from tests.support.twins.rate_families import FAMILIES

# Kinds of players in even numbers, so that clusters can part.
SEPARATED = {
    "two kinds": lambda n: [0.95 if i < 2 * (n // 4) else 0.3 for i in range(n)],
    "three kinds": lambda n: [(1.0, 0.7, 0.2)[min(i // 2, 2)] for i in range(n)],
    "steps": lambda n: [1.0 - 0.35 * (i // 4) for i in range(n)],
}
ALL = FAMILIES | SEPARATED


class Duel(duels.Duel):
    def __init__(self, rates, horizon, seed):
        twin = naive_sam.SAM(len(rates), horizon)
        super().__init__(SAM(), twin, streams.shuffled(seed, rates), seed, horizon=horizon)

    def propose_only(self, rounds):
        for _ in range(rounds):
            self.propose()


@pytest.mark.parametrize("horizon", [2, 200])
@pytest.mark.parametrize("family", ALL)
def test_equals_its_twin_step_for_step(family, horizon):
    for n in range(2, 13):
        Duel(ALL[family](n), horizon, seed=n).play(200)


@pytest.mark.parametrize("family", SEPARATED)
@pytest.mark.parametrize("n", [5, 6, 9, 12])
def test_equals_its_twin_until_it_has_split(family, n):
    duel = Duel(SEPARATED[family](n), 1000, seed=n).play(1000)
    assert len(duel.twin.clusters) > 1


def test_both_parts_of_a_cluster_split_again_at_once():
    # 0 and 1 play with everyone, 2 and 3 with all but 4 and 5, and 4 and 5 with the best alone.
    duel = Duel([1.0] * 6, horizon=2, seed=0)
    pairs = list(combinations(range(6), 2))
    for _ in range(100):
        duel.observe(pairs, [i < 2 or j < 4 for i, j in pairs])
    duel.propose_only(5)
    assert duel.propose() == [(0, 1), (2, 3), (4, 5)]


def test_late_games_with_worse_clusters_do_not_count():
    # First 0 to 5 part from 6 to 9, then 0 and 1 from 2 to 5. What these do against 6, who is in a
    # worse cluster though its number has moved up, must not part them.
    duel = Duel([1.0] * 10, horizon=2, seed=0)
    pairs, best = list(combinations(range(10), 2)), list(combinations(range(6), 2))
    for _ in range(100):
        duel.observe(pairs, [j < 6 for _, j in pairs])
    duel.propose_only(10)
    assert [len(cluster) for cluster in duel.twin.clusters] == [6, 4]
    for _ in range(300):
        duel.observe(best, [i < 2 for i, _ in best])
    duel.propose_only(6)
    assert [len(cluster) for cluster in duel.twin.clusters] == [2, 4, 4]
    for _ in range(2000):
        duel.observe([(2, 6), (3, 6), (4, 6), (5, 6)], [True, True, False, False])
    duel.propose_only(20)
    assert [len(cluster) for cluster in duel.twin.clusters] == [2, 4, 4]


@pytest.mark.parametrize("n", range(2, 13))
def test_a_cycle_brings_every_pair_together_once(n):
    compiled = Compiled(SAM(), n, horizon=1000)
    met = [couple for _ in range(n - 1 + n % 2) for couple in compiled.propose()]
    assert sorted(met) == sorted(combinations(range(n), 2))


@pytest.mark.parametrize("n", [7, 8])
@pytest.mark.parametrize("family", SEPARATED)
def test_equals_its_twin_when_the_available_players_change(family, n):
    duel = Duel(SEPARATED[family](n), 20, seed=n)
    duel.play_with_some_players(200, most_rounds=12)
    assert len(duel.twin.clusters) > 1


@pytest.mark.parametrize("n", [6, 9])
def test_equals_its_twin_when_outcomes_come_late_and_in_any_order(n):
    duel = Duel(SEPARATED["steps"](n), 50, seed=n)
    duel.play_late(1000)
    assert len(duel.twin.clusters) > 1
