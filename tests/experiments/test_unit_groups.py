"""What a GPU plays at once, and what the cores take from it."""

import os

import pytest

from pairup import SimulationError, run_experiment
from pairup.experiments import unit_groups
from pairup.experiments.unit_groups import compute_group, group_units
from pairup.experiments.work_units import split_into_units
from pairup.simulation.batches import play
from tests.support.experiments.races import UNITS, parts, race
from tests.support.host_memory import HostMemory


@pytest.fixture
def host_for_gpu(monkeypatch):
    """Let the CPU play what a GPU would, in the loop over batches."""
    monkeypatch.setattr(play, "DeviceMemory", lambda: HostMemory(compiled=False))
    monkeypatch.setattr(unit_groups, "_MIN_SECONDS", 0)
    monkeypatch.setattr(unit_groups, "_THREAD_SLOWNESS", 0)


def test_a_core_plays_unit_by_unit_the_longest_first():
    units = split_into_units(race())
    groups = group_units(units, "cpu", share=True)
    assert all(len(group.units) == 1 for group in groups)
    costs = [group.cost for group in groups]
    assert costs == sorted(costs, reverse=True)


def test_a_gpu_plays_all_replications_of_a_policy_on_a_problem_at_once():
    units = split_into_units(race(rounds=1_000_000, replications=40))
    groups = group_units(units, "cuda", share=False)
    assert len(groups) < len(units)
    played = {(unit.policy, unit.problem.name) for unit in units}
    assert len(groups) == len(played)
    assert sorted(unit.key for group in groups for unit in group.units) == sorted(
        unit.key for unit in units
    )
    assert sum(group.memory_share for group in groups) <= 1.0


@pytest.mark.parametrize(
    ("rounds", "replications", "engines"),
    [
        (10_000_000, 20, {"cpu"}),  # each takes longer on a GPU than all on the cores
        (1_000, 20_000, {"cpu"}),  # not worth to be compiled
        (10_000, 200_000, {"cuda"}),
    ],
    ids=["few and long", "soon done", "many"],
)
def test_cores_take_what_they_end_first(monkeypatch, rounds, replications, engines):
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    groups = group_units(split_into_units(race(rounds, replications)), "cuda", share=True)
    assert {group.engine for group in groups} == engines


def test_cores_and_a_gpu_share_an_experiment(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    groups = group_units(split_into_units(race(3_000_000, 40)), "cuda", share=True)
    longest = {
        engine: [group.longest for group in groups if group.engine == engine]
        for engine in ("cpu", "cuda")
    }
    assert min(longest["cpu"]) >= max(longest["cuda"])


def test_work_units_of_both_engines_are_interchangeable(tmp_path, host_for_gpu):
    run_experiment(race(200, 2), tmp_path / "mixed", engine="cuda")
    again = run_experiment(race(200, 4), tmp_path / "mixed")
    run_experiment(race(200, 4), tmp_path / "cpu")
    mixed, cpu = ((tmp_path / each / "results.parquet").read_bytes() for each in ("mixed", "cpu"))
    assert mixed == cpu
    assert again.reused + again.computed == UNITS


def test_a_run_on_a_gpu_shows_what_is_done_and_keeps_each_unit(tmp_path, host_for_gpu):
    seen = []
    summary = run_experiment(race(200, 2), tmp_path, progress=seen.append, engine="cuda")
    assert summary.computed == len(parts(tmp_path)) == UNITS
    assert [now.done for now in seen] == sorted(now.done for now in seen)
    assert seen[-1].share == 1.0


def test_a_group_is_refused_by_another_version(host_for_gpu):
    import dataclasses

    units = split_into_units(race(100, 2))
    other = tuple(dataclasses.replace(unit, code="other") for unit in units)
    (group, *_) = group_units(other, "cuda", share=False)
    with pytest.raises(SimulationError, match="another version of pairup"):
        compute_group(group)


def test_without_a_gpu_one_line_says_so():
    with pytest.raises(SimulationError, match=r'engine="cuda" needs numba-cuda.*--cuda') as refusal:
        run_experiment(race(200, 2), engine="cuda")
    assert "\n" not in str(refusal.value)
