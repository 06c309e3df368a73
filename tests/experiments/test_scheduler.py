"""What an engine plays at once, and which engine plays what."""

import dataclasses
import os
import threading

import pytest

from pairup import SimulationError, Uniform, run_experiment
from pairup.experiments import scheduler
from pairup.experiments.experiment import Entry
from pairup.experiments.scheduler import compute_task, make_tasks
from pairup.experiments.work_units import split_into_units
from pairup.simulation.batches import batch
from tests.support.experiments.races import UNITS, parts, race
from tests.support.host_memory import HostMemory


@pytest.fixture
def host_for_gpu(monkeypatch):
    """Let the CPU play what a GPU would, in the loop over batches."""
    monkeypatch.setattr(batch, "DeviceMemory", lambda: HostMemory(compiled=False))


def test_a_core_plays_unit_by_unit_the_longest_first():
    units = split_into_units(race())
    tasks = make_tasks(units, "cpu")
    assert all(len(task.units) == 1 and task.engine == "cpu" for task in tasks)
    costs = [task.cost for task in tasks]
    assert costs == sorted(costs, reverse=True)


def test_a_gpu_plays_all_replications_of_a_policy_on_a_problem_at_once():
    units = split_into_units(race(rounds=1_000_000, replications=40))
    tasks = make_tasks(units, "cuda")
    assert {task.engine for task in tasks} == {"cuda"}
    assert len(tasks) < len(units)
    assert len(tasks) == len({(unit.policy, unit.problem.name) for unit in units})
    assert sorted(unit.key for task in tasks for unit in task.units) == sorted(
        unit.key for unit in units
    )
    assert sum(task.memory_share for task in tasks) <= 1.0


def test_a_task_of_a_gpu_has_a_limit(monkeypatch):
    monkeypatch.setattr(scheduler, "_MAX_REPLICATIONS", 20)
    units = split_into_units(race(rounds=3_000_000, replications=40))
    sizes = [
        sum(len(unit.replications) for unit in task.units) for task in make_tasks(units, "cuda")
    ]
    assert max(sizes) <= 20
    assert sum(sizes) == 40 * UNITS


def test_third_party_policies_are_left_to_the_cores(host_for_gpu):
    @dataclasses.dataclass(frozen=True)
    class Mine(Uniform):
        pass

    experiment = race(100, 2)
    both = dataclasses.replace(experiment, entries=(*experiment.entries, Entry("mine", Mine())))
    tasks = make_tasks(split_into_units(both), "cuda")
    assert {type(task.units[0].policy) for task in tasks if task.engine == "cpu"} == {Mine}
    by_gpu, by_cores = (run_experiment(both, engine=engine) for engine in ("cuda", "cpu"))
    assert by_gpu.frame.equals(by_cores.frame)


@pytest.mark.parametrize(("more", "is_advised"), [(1, True), (0, False)])
def test_cores_are_advised_where_replications_are_few(
    host_for_gpu, monkeypatch, capsys, more, is_advised
):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(scheduler, "_CORE_SPEED", 2 * UNITS + more)
    run_experiment(race(100, 2), engine="cuda")
    said = capsys.readouterr().err
    assert said.startswith(f"pairup: {2 * UNITS} replications are too few for a GPU") == is_advised
    assert said.count("\n") == is_advised


def test_cores_are_not_advised_without_a_gpu(capsys):
    run_experiment(race(100, 2))
    assert not capsys.readouterr().err


def test_work_units_of_both_engines_are_interchangeable(tmp_path, host_for_gpu):
    run_experiment(race(200, 2), tmp_path / "mixed", engine="cuda")
    again = run_experiment(race(200, 4), tmp_path / "mixed")
    run_experiment(race(200, 4), tmp_path / "cpu")
    mixed, cpu = ((tmp_path / each / "results.parquet").read_bytes() for each in ("mixed", "cpu"))
    assert mixed == cpu
    assert again.run.reused + again.run.computed == UNITS


def test_a_run_on_a_gpu_shows_what_is_done_and_keeps_each_unit(tmp_path, host_for_gpu):
    seen = []
    summary = run_experiment(race(200, 2), tmp_path, progress=seen.append, engine="cuda")
    assert summary.run.computed == len(parts(tmp_path)) == UNITS
    assert [now.done for now in seen] == sorted(now.done for now in seen)
    assert seen[-1].share == 1.0


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_a_task_is_refused_by_another_version(host_for_gpu, engine):
    units = split_into_units(race(100, 2))
    other = tuple(dataclasses.replace(unit, code="other") for unit in units)
    (task, *_) = make_tasks(other, engine)
    with pytest.raises(SimulationError, match="another version of pairup"):
        compute_task(task)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_a_stopped_task_ends_with_an_error(host_for_gpu, engine):
    stop = threading.Event()
    stop.set()
    (task, *_) = make_tasks(split_into_units(race(100, 2)), engine)
    with pytest.raises(SimulationError, match="stopped"):
        compute_task(task, stop)


def test_without_a_gpu_one_line_says_so():
    with pytest.raises(SimulationError, match=r'engine="cuda" needs numba-cuda.*--cuda') as refusal:
        run_experiment(race(200, 2), engine="cuda")
    assert "\n" not in str(refusal.value)
