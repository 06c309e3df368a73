import pytest

from pairup import UniRank
from tests.support.twins import unirank as naive_unirank
from tests.support.twins.side_families import SIDES, SideDuel


class Duel(SideDuel):
    def __init__(self, sides, seed):
        super().__init__(UniRank(), sides, seed)
        self.twin = naive_unirank.UniRank(self.rows, self.columns, self.policy_key)
        self.merged = 0

    def propose(self):
        expected, proposed = self.twin.propose(), self.compiled.propose()
        assert not self.twin.doubtful
        assert proposed == expected
        self.merged += any(len(block) > 1 for block in self.twin.blocks)
        return proposed


@pytest.mark.parametrize("sides", SIDES)
def test_equals_its_twin_step_for_step(sides):
    Duel(SIDES[sides], seed=len(sides)).play(300)


def test_equals_its_twin_in_the_long_run():
    duel = Duel(([0.9, 0.7, 0.5, 0.3, 0.1, 0.1], [1.0, 0.8, 0.5]), seed=2).play(3_000)
    assert [len(block) for block in duel.twin.leader()][:3] == [1, 1, 1]
    assert 0 < duel.merged < 3_000


def test_equals_its_twin_through_the_growth_of_its_table():
    duel = Duel(([0.5] * 9, [1.0, 0.9, 0.8, 0.7, 0.6]), seed=3).play(1_200)
    assert duel.compiled.growths >= 1
    assert len(duel.twin.led) > 32


def test_couples_that_were_not_proposed_together_are_not_compared():
    duel = Duel(([0.9, 0.7, 0.5], [1.0, 0.8]), seed=0)
    matching = duel.propose()
    duel.compiled.observe(matching[:1], [True])
    duel.compiled.observe(matching, [True, False])
    assert duel.compiled.state.wins.sum() > 0
    before = duel.compiled.state.wins.copy()
    duel.compiled.observe(matching, [True, False])  # it counts once
    assert (duel.compiled.state.wins == before).all()
