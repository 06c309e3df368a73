from itertools import product

import pytest

from pairup import Unimodal
from tests.support.twins import duel as duels
from tests.support.twins import unimodal as naive_unimodal
from tests.support.twins.rate_families import FAMILIES

OPTIONS = [
    dict(zip(("compare", "index", "clock"), values, strict=True))
    for values in product(("players", "matchings"), ("kl", "ucb"), ("leader", "round"))
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o.values()))


class Duel(duels.Duel):
    def __init__(self, options, rates, seed):
        twin = naive_unimodal.Unimodal(len(rates), duels.policy_key(seed), **options)
        super().__init__(Unimodal(**options), twin, rates, seed)
        self.doubtful = 0

    def agree(self, expected, proposed):
        """Where rounding decides, either matching will do."""
        assert self.compiled.leader == self.twin.leading
        assert proposed == expected or proposed in self.twin.doubts
        self.doubtful += bool(self.twin.doubts)


@every_option
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(options, family):
    for n in range(2, 13):
        duel = Duel(options, FAMILIES[family](n), seed=n)
        duel.play(100)
        # Certain players make equal sums of different indices, and then rounding decides.
        assert duel.doubtful <= (60 if family == "zeros and ones" else 10)


@every_option
@pytest.mark.parametrize("n", [5, 6])
def test_equals_its_twin_in_the_long_run(options, n):
    duel = Duel(options, FAMILIES["around"](n), seed=1)
    duel.play(1000)
    assert duel.doubtful <= 10


def test_equals_its_twin_through_the_growth_of_its_table():
    duel = Duel({"index": "ucb"}, FAMILIES["equal"](12), seed=3)
    duel.play(400)
    assert duel.compiled.growths >= 2
    assert len(duel.twin.led) > 64


@every_option
@pytest.mark.parametrize("n", [7, 8])
def test_equals_its_twin_when_the_available_players_change(options, n):
    duel = Duel(options, FAMILIES["random"](n), seed=n)
    duel.play_with_some_players(100)


def test_all_but_one_are_not_everyone():
    # The phantom completes the couples, but three of four are still not all players.
    duel = Duel({}, [0.5] * 4, seed=0)
    duel.play(4)
    duel.compiled.set_available([0, 1, 2])
    for _ in range(10):
        matching = duel.propose([0, 1, 2])
        duel.observe(matching, duel.outcomes(matching))


@every_option
def test_equals_its_twin_when_outcomes_come_late_and_in_any_order(options):
    duel = Duel(options, FAMILIES["tied"](7), seed=2)
    duel.play_late(300)


@every_option
def test_equals_its_twin_with_room_for_more_players(options):
    rates = FAMILIES["random"](9)
    duel = Duel(options, rates, seed=4)
    for present in ([0, 2, 3, 5, 8], [1, 2, 3, 5, 6, 8]):
        duel.set_present(present)
        duel.play(100)


def test_two_players_are_always_coupled():
    duel = Duel({}, [0.0, 1.0], seed=0)
    duel.play(20)
    assert duel.twin.led == {((0, 1),): 20}


@every_option
def test_couples_of_players_who_wait_are_learnt_too(options):
    # The swap with the phantom's couple is a neighbour like any other.
    duel = Duel(options, [0.9, 0.9, 0.1], seed=0)
    waiting = set()
    for _ in range(30):
        matching = duel.propose()
        waiting |= {0, 1, 2}.difference(*matching)
        duel.observe(matching, duel.outcomes(matching))
    assert waiting == {0, 1, 2}
