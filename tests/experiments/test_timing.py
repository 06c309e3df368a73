import dataclasses

import pytest

from pairup import SAM, Problem, Unimodal
from pairup.experiments.families import PosedProblem
from pairup.experiments.spec import Entry, Experiment
from pairup.experiments.timing import measure_timings, read_timings, write_timings
from pairup.simulation.timing import time_rounds


@pytest.fixture(scope="module")
def race():
    posed = tuple(PosedProblem(Problem.random(n, seed=0), "random", {"players": n}) for n in (3, 4))
    entries = (Entry("SAM", SAM()), Entry("V2", Unimodal(index="ucb")))
    return Experiment("e", "E", "", 50, 1, 0, posed, entries)


@pytest.fixture(scope="module")
def costs(race):
    return measure_timings(race)


def test_every_policy_is_timed_on_every_problem(race, costs):
    names = [posed.problem.name for posed in race.problems]
    assert set(costs) == {(name, label) for name in names for label in ("SAM", "V2")}
    assert all(cost.nanoseconds > 0 and cost.rounds == 50 for cost in costs.values())


def test_a_long_replication_is_timed_in_part():
    nanoseconds, played = time_rounds(Problem.from_zero(4, 0.1), SAM(), 10**15, seconds=0.001)
    assert 0 < played < 10**15
    assert nanoseconds > 0


def test_what_is_written_is_read(race, costs, tmp_path):
    write_timings(tmp_path, race, costs)
    assert read_timings(tmp_path, race) == costs


def test_costs_of_other_options_are_not_believed(race, costs, tmp_path):
    write_timings(tmp_path, race, costs)
    changed = dataclasses.replace(race, entries=(race.entries[0], Entry("V2", Unimodal())))
    assert {policy for _, policy in read_timings(tmp_path, changed)} == {"SAM"}


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"costs": [{}]}', '{"costs": 3}', '{"costs": [']
)
def test_a_damaged_file_is_no_cost(race, tmp_path, text):
    (tmp_path / "timings.json").write_text(text)
    assert read_timings(tmp_path, race) == {}
    assert read_timings(tmp_path / "nowhere", race) == {}
