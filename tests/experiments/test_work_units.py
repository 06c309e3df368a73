from dataclasses import dataclass, replace

import numpy as np

from pairup import Problem, Uniform, Unimodal
from pairup.experiments.work_units import split_horizon_check, split_into_units
from tests.support.experiments.races import race

RATES = [0.9, 0.8, 0.7, 0.6]
CHAIN = [(0, 1), (1, 2), (2, 3)]


def worth_of_the_first_game(worth):
    games = np.ones((4, 4))
    games[0, 1] = games[1, 0] = worth
    return games


def test_a_key_changes_with_all_that_determines_the_numbers():
    unit = split_into_units(race())[0]
    other = split_into_units(race())[-1]
    problems = [
        other.problem,
        Problem.from_matrix(unit.problem.couple_rates),
        Problem.piecewise([0, 5], [unit.problem] * 2),
        Problem.piecewise([0, 6], [unit.problem] * 2),
        Problem(RATES),
        Problem(RATES, allowed=CHAIN),
        Problem(RATES, allowed=CHAIN[:2]),
        Problem(RATES, worth=worth_of_the_first_game(2)),
        Problem(RATES, worth=worth_of_the_first_game(3)),
        Problem.two_sided(RATES[:2], RATES[2:]),
        Problem.two_sided(RATES[:3], RATES[3:]),
        Problem.two_sided(RATES[:2], RATES[2:], draws="common"),
    ]
    changed = [
        replace(unit, rounds=unit.rounds + 1),
        replace(unit, checkpoints=unit.checkpoints[1:]),
        replace(unit, seed=8),
        replace(unit, replications=range(1, 8)),
        replace(unit, policy=Unimodal(index="kl", clock="round")),
        *(replace(unit, problem=each) for each in problems),
        replace(unit, code="other"),
    ]
    assert len({unit.key, *(each.key for each in changed)}) == len(changed) + 1
    assert replace(unit, entry_index=3, problem_index=4).key == unit.key
    assert [each.key for each in split_into_units(race())] == [
        each.key for each in split_into_units(race())
    ]


def test_a_key_covers_the_source_of_a_third_party_policy():
    unit = split_into_units(race())[0]
    assert replace(unit, policy=Mine()).key != replace(unit, policy=Uniform()).key


@dataclass(frozen=True)
class Mine(Uniform):
    pass


def test_units_follow_the_cost_and_never_the_number_of_replications():
    few, many = (
        {
            unit.replications
            for unit in split_into_units(race(2_000_000, replications=n))
            if not unit.entry_index
        }
        for n in (20, 40)
    )
    assert {part.stop - part.start for part in many} > {4}
    assert len(few - many) <= len(race().problems)  # except for the last unit of each problem
    assert all(
        0.5 <= unit.cost <= 1.5
        for unit in split_into_units(race(2_000_000, replications=1_000))
        if unit.replications.stop < 1_000
    )


def test_the_horizon_check_is_a_short_run_on_the_largest_problem():
    experiment = replace(race(1_000, replications=5), horizon_check=("at random",))
    (unit,) = split_horizon_check(experiment)
    assert unit.policy == Uniform()
    assert unit.problem == experiment.problems[-1].problem
    assert (unit.rounds, unit.replications) == (100, range(2))
    assert unit.checkpoints == tuple(
        each for each in split_into_units(experiment)[0].checkpoints if each <= 100
    )


def test_a_run_of_few_rounds_has_no_horizon_check():
    assert split_horizon_check(replace(race(9), horizon_check=("V2",))) == []
    assert split_horizon_check(race(1_000)) == []
