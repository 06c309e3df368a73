"""A batch plays what single replications play, whatever plays it."""

import threading

import numpy as np
import pytest

from pairup import SAM, Problem, RankOneThompson, Unimodal, get_policy, simulate
from pairup.errors import SimulationError
from pairup.side_process import SideProcessError
from pairup.simulation.batches import batch as batch_module
from pairup.simulation.batches import memory as memory_module
from pairup.simulation.batches.batch import Batch, block_size, play_batches
from pairup.simulation.batches.cuda_driver import check_versions
from pairup.simulation.batches.layout import leaves
from pairup.simulation.replication import new_replication, new_replications
from tests.support.host_memory import HostMemory
from tests.support.policy_variants import two_sided_variants, variants

ODD = Problem([0.9, 0.7, 0.5, 0.3, 0.2])
INTERPRETED = HostMemory(compiled=False)
PATH = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
ON_A_PATH = Problem([0.9, 0.8, 0.7, 0.5, 0.3, 0.2], allowed=PATH)
CHANGING = Problem.piecewise([0, 20], [[0.9, 0.1, 0.5, 0.4], [0.1, 0.9, 0.5, 0.4]])


def assert_same(problem, policy, batch, rounds, numbers, seed):
    run = simulate(problem, policy, rounds, numbers, seed, checkpoints=[rounds])
    assert np.array_equal(batch.regret, run.regret[:, -1])
    assert np.array_equal(batch.games, run.games[:, -1])


def played(problem, policy, rounds, numbers, seed, memory=INTERPRETED):
    batch = Batch(problem, policy, rounds, seed, numbers, memory)
    batch.play_to(7)
    batch.play_to(rounds)
    return batch


@pytest.mark.parametrize("variant", [*variants(), *two_sided_variants()], ids=str)
def test_a_batch_has_the_numbers_of_its_replications(variant):
    numbers, policy = range(4, 7), variant.policy(ODD.rates)
    problem = Problem.two_sided([0.9, 0.7, 0.2], [0.8, 0.5]) if policy.needs_sides else ODD
    batch = played(problem, policy, 60, numbers, 3)
    assert_same(problem, policy, batch, 60, numbers, 3)


def test_the_loop_that_a_gpu_runs_can_be_compiled_for_the_cpu():
    problem, policy, numbers = Problem.from_zero(3, 0.1), SAM(), range(5)
    batch = played(problem, policy, 200, numbers, 0, HostMemory())
    assert_same(problem, policy, batch, 200, numbers, 0)
    assert 0 < batch.layout.shared_bytes <= HostMemory().shared_bytes


@pytest.mark.parametrize("name", ["rank_one_thompson", "oracle", "uniform"])
@pytest.mark.parametrize(
    "problem",
    [ON_A_PATH, CHANGING, Problem.two_sided([0.9, 0.7, 0.2], [0.8, 0.5])],
    ids=["graph", "changing", "sides"],
)
def test_graphs_sides_and_changes_of_rates_are_played_in_batches(problem, name):
    policy = get_policy(name)
    batch = played(problem, policy, 50, range(3), 1)
    assert_same(problem, policy, batch, 50, range(3), 1)


def test_tables_grow_in_a_batch(monkeypatch):
    monkeypatch.setattr(batch_module, "_EARLY_GROWTH", 0)
    problem, policy = Problem.from_zero(10, 0.01), Unimodal(index="ucb")
    grown, grow = [], Unimodal.grow
    batch = Batch(problem, policy, 2_000, 0, range(2), INTERPRETED)
    monkeypatch.setattr(Unimodal, "grow", lambda own, state: grown.append(1) or grow(own, state))
    batch.play_to(2_000)
    assert grown, "no table was full: the test shows nothing"
    assert_same(problem, policy, batch, 2_000, range(2), 0)


@pytest.mark.parametrize("policy", [RankOneThompson(), Unimodal(), SAM()], ids=str)
def test_one_loop_plays_problems_of_several_sizes(policy):
    layouts = set()
    for players in (5, 6, 7, 8):
        problem = Problem(np.linspace(0.1, 0.9, players))
        layouts.add(Batch(problem, policy, 10, 0, range(1), INTERPRETED).layout)
    assert len(layouts) == 1


@pytest.mark.parametrize("players", [2, 3, 9, 33])
def test_sizes_do_not_show_in_the_numbers(players):
    problem = Problem(np.linspace(0.1, 0.9, players))
    batch = played(problem, RankOneThompson(), 20, range(2), 0)
    assert_same(problem, RankOneThompson(), batch, 20, range(2), 0)


@pytest.mark.parametrize(
    "problem",
    [
        ODD,
        ON_A_PATH,
        CHANGING.pieces[1],
        Problem.from_matrix([[0, 0.2, 0.4], [0.2, 0, 0.6], [0.4, 0.6, 0]]),
        Problem.two_sided([0.9, 0.2], [0.8, 0.5], draws="common"),
    ],
    ids=["rates", "graph", "piece", "couples", "sides"],
)
def test_replications_made_together_equal_those_made_one_by_one(problem):
    together = leaves(new_replications(problem, 3, [2, 5, 9]))
    for place, number in enumerate([2, 5, 9]):
        for many, one in zip(together, leaves(new_replication(problem, 3, number)), strict=True):
            np.testing.assert_array_equal(many[..., place], one)
            assert many.dtype == one.dtype


def test_blocks_and_launches_do_not_show_in_the_numbers(monkeypatch):
    monkeypatch.setattr(batch_module, "_MAX_REPLICATIONS", 2)
    monkeypatch.setattr(batch_module, "_FIRST_ROUNDS", 3)
    checkpoints, shares = [1, 17, 60], []
    regret, games = play_batches(
        ODD, SAM(), 60, range(5), 3, checkpoints, show=shares.append, memory=INTERPRETED
    )
    run = simulate(ODD, SAM(), 60, 5, 3, checkpoints=checkpoints)
    assert np.array_equal(regret, run.regret)
    assert np.array_equal(games, run.games)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_blocks_fit_into_the_memory_that_is_free():
    memory = HostMemory(compiled=False)
    memory.free_bytes = 100_000
    size = block_size(ODD, SAM(), 60, memory)
    assert 1 < size < 200
    batch = Batch(ODD, SAM(), 60, 0, range(size), memory)
    assert batch.nbytes < memory.free_bytes


def test_a_batch_can_be_stopped():
    stop = threading.Event()
    with pytest.raises(SimulationError, match="stopped"):
        play_batches(
            ODD, SAM(), 10_000, range(2), 0, [10_000], stop, lambda _: stop.set(), INTERPRETED
        )


def test_without_the_package_one_line_says_what_to_install():
    with pytest.raises(SimulationError, match=r'engine="cuda" needs numba-cuda.*pip') as refusal:
        simulate(ODD, SAM(), 10, 2, engine="cuda")
    assert "\n" not in str(refusal.value)


def refused_compilation(monkeypatch, tmp_path):
    """Return why the loop of a policy cannot be compiled for a GPU."""
    monkeypatch.setattr(memory_module, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(memory_module, "_compiler", lambda: "")
    monkeypatch.setattr(memory_module, "version", lambda library: f"of {library}")
    layout = Batch(ODD, SAM(), 10, 0, range(1), INTERPRETED).layout
    with pytest.raises(SimulationError) as refusal:
        memory_module.get_machine_code(layout, (9, 0))
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_a_compiler_that_does_not_work_is_not_blamed_on_the_steps(monkeypatch, tmp_path):
    """Without numba-cuda, as here, nothing can be compiled."""
    said = refused_compilation(monkeypatch, tmp_path)
    assert "steps" not in said
    assert "numba-cuda of numba-cuda, numba of numba, numpy of numpy (" in said
    assert 'pip install "pairup[cuda]"' in said


def test_steps_that_cannot_be_compiled_are_named_where_the_compiler_works(monkeypatch, tmp_path):
    def call_aside(function, *arguments):
        if function.endswith(":compile_loop"):
            raise SideProcessError("no such instruction")

    monkeypatch.setattr(memory_module, "call_aside", call_aside)
    said = refused_compilation(monkeypatch, tmp_path)
    assert said.startswith("the steps of SamState cannot be compiled for a GPU (no such instruct")


@pytest.mark.parametrize(
    ("capability", "driver", "missing"),
    [((6, 1), 13_000, "compute capability 7.0"), ((9, 0), 12_080, "a driver for CUDA 13")],
)
def test_old_cards_and_drivers_are_refused(capability, driver, missing):
    with pytest.raises(SimulationError, match=rf"needs .*{missing} or later, .*TITAN"):
        check_versions("TITAN", capability, driver)


def test_an_unknown_engine_is_refused():
    with pytest.raises(SimulationError, match='did you mean "cpu"'):
        simulate(ODD, SAM(), 10, 2, engine="gpu")


def test_third_party_policies_are_refused():
    class Mine(SAM):
        name = "mine"

    with pytest.raises(SimulationError, match="of pairup, and mine is third-party"):
        play_batches(ODD, Mine(), 10, range(2), 0, [10], memory=INTERPRETED)
