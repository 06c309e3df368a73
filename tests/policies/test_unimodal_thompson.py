import pytest

from pairup import Problem, UnimodalThompson, simulate
from tests.support.twins import duel as duels
from tests.support.twins import unimodal_thompson as naive_thompson
from tests.support.twins.rate_families import FAMILIES

OPTIONS = [{"compare": "players"}, {"compare": "matchings"}, {"compare": "players", "period": 5}]
every_option = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: "-".join(map(str, o.values()))
)


class Duel(duels.Duel):
    def __init__(self, options, rates, seed):
        twin = naive_thompson.UnimodalThompson(len(rates), duels.policy_key(seed), **options)
        super().__init__(UnimodalThompson(**options), twin, rates, seed)
        self.explored = 0

    def agree(self, expected, proposed):
        assert self.compiled.leader == self.twin.leading
        assert proposed == expected
        self.explored += not set(proposed) <= set(self.twin.leading)


@every_option
@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(options, family):
    for n in range(2, 13):
        duel = Duel(options, FAMILIES[family](n), seed=n)
        duel.play(60)
        assert duel.explored > 0 or n == 2


@every_option
@pytest.mark.parametrize("n", [5, 6])
def test_equals_its_twin_in_the_long_run(options, n):
    duel = Duel(options, FAMILIES["around"](n), seed=1)
    duel.play(800)
    assert 50 < duel.explored < 700


def test_equals_its_twin_through_the_growth_of_its_table():
    duel = Duel({}, FAMILIES["equal"](12), seed=3)
    duel.play(300)
    assert duel.compiled.growths >= 2


@every_option
@pytest.mark.parametrize("n", [7, 8])
def test_equals_its_twin_when_the_available_players_change(options, n):
    duel = Duel(options, FAMILIES["random"](n), seed=n)
    duel.play_with_some_players(80)


@every_option
def test_equals_its_twin_when_outcomes_come_late_and_in_any_order(options):
    duel = Duel(options, FAMILIES["tied"](7), seed=2)
    duel.play_late(200)


def test_equals_its_twin_with_room_for_more_players():
    duel = Duel({}, FAMILIES["random"](9), seed=4)
    for present in ([0, 2, 3, 5, 8], [1, 2, 3, 5, 6, 8]):
        duel.set_present(present)
        duel.play(100)


def test_a_leader_is_played_in_every_period():
    duel = Duel({"period": 3}, [1.0, 1.0, 0.0, 0.0], seed=0)
    for _ in range(300):
        matching = duel.propose()
        leader = duel.twin.leading
        if duel.twin.led[leader] % 3 == 0:
            assert matching == sorted(leader)
        duel.observe(matching, duel.outcomes(matching))


# Measured by an independent simulator over ten runs and more.
@pytest.mark.parametrize(
    ("problem", "known", "margin"),
    [(Problem.from_zero(2, 0.1), 18, 3), (Problem.around(0.8, 4, 0.1), 40, 12)],
    ids=str,
)
def test_regret_is_as_known(problem, known, margin):
    run = simulate(problem, UnimodalThompson(), rounds=1_000_000, replications=6, seed=0)
    assert abs(run.mean()[-1] - known) < margin
