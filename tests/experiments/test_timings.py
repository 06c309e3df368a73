import dataclasses

import pytest

from pairup import SAM, Problem, Unimodal
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.timings import measure_timings, read_timings, time_rounds, write_timings


@pytest.fixture(scope="module")
def race():
    posed = tuple(PosedProblem(Problem.random(n, seed=0), "random", {"players": n}) for n in (3, 4))
    entries = (Entry("SAM", SAM()), Entry("V2", Unimodal(index="ucb")))
    return Experiment("e", "E", "", 50, 1, 0, posed, entries)


@pytest.fixture(scope="module")
def timings(race):
    return measure_timings(race)


def test_every_policy_is_timed_on_every_problem(race, timings):
    names = [posed.problem.name for posed in race.problems]
    assert set(timings) == {(name, label) for name in names for label in ("SAM", "V2")}
    assert all(timing.nanoseconds > 0 and timing.rounds == 50 for timing in timings.values())


def test_a_long_replication_is_timed_in_part():
    nanoseconds, played = time_rounds(Problem.from_zero(4, 0.1), SAM(), 10**15, seconds=0.001)
    assert 0 < played < 10**15
    assert nanoseconds > 0


def test_what_is_written_is_read(race, timings, tmp_path):
    write_timings(tmp_path, race, timings)
    assert read_timings(tmp_path, race) == timings


def test_costs_of_other_options_are_not_believed(race, timings, tmp_path):
    write_timings(tmp_path, race, timings)
    changed = dataclasses.replace(race, entries=(race.entries[0], Entry("V2", Unimodal())))
    assert {policy for _, policy in read_timings(tmp_path, changed)} == {"SAM"}


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"timings": [{}]}', '{"timings": 3}', '{"timings": [']
)
def test_a_damaged_file_gives_no_timings(race, tmp_path, text):
    (tmp_path / "timings.json").write_text(text)
    assert read_timings(tmp_path, race) == {}
    assert read_timings(tmp_path / "nowhere", race) == {}
