import hashlib
import json
import multiprocessing
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass, replace

import pytest

from pairup import (
    ResultsError,
    SimulationError,
    Unimodal,
    load_results,
    run_experiment,
    simulate,
)
from pairup.experiments import work_units
from pairup.experiments.spec import Entry
from pairup.experiments.work_units import split_into_units
from pairup.policies.uniform import Uniform
from tests.support.experiments.races import UNITS, parts, race, start
from tests.support.service.small_disk import needs_mounts, own_mounts, run_python


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_experiment(race(), folder).computed == UNITS
    return (folder / "results.parquet").read_bytes()


def test_the_numbers_are_those_of_simulate(tmp_path):
    experiment = race(rounds=200, replications=3)
    run_experiment(experiment, tmp_path)
    frame = load_results(tmp_path)
    for entry in experiment.entries:
        for posed in experiment.problems:
            run = simulate(posed.problem, entry.policy, 200, 3, seed=7)
            rows = frame.filter(policy=entry.label, problem=posed.problem.name)
            assert rows["regret"].to_list() == run.regret.ravel().tolist()
            assert rows["games"].to_list() == run.games.ravel().tolist()
            assert rows["round"].to_list() == run.rounds.tolist() * 3


def test_two_runs_give_the_same_bytes(tmp_path, undisturbed):
    run_experiment(race(), tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_a_process_pool_gives_the_same_bytes(tmp_path, undisturbed):
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        run_experiment(race(), tmp_path, executor=pool)
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_a_killed_run_goes_on_and_recomputes_nothing(tmp_path, undisturbed):
    for last in (1, 3, 2):
        before = parts(tmp_path)
        process = start(tmp_path, last=last)
        process.communicate(timeout=120)
        assert process.returncode == -signal.SIGKILL
        after = parts(tmp_path)
        assert len(after) == len(before) + last
        assert before.items() <= after.items()
        assert not (tmp_path / "results.parquet").exists()
    (tmp_path / "parts" / ".tmp-left").write_bytes(b"half")
    (tmp_path / ".tmp-left").write_bytes(b"half")
    before = parts(tmp_path)
    process = start(tmp_path)
    out, _ = process.communicate(timeout=120)
    assert out.split() == ["ready", str(UNITS - 6), "6"]
    assert before.items() <= parts(tmp_path).items()
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed
    assert not list(tmp_path.rglob(".tmp-*"))


def test_killed_from_outside_at_any_moment(tmp_path, undisturbed):
    for wait in (0.0, 0.05, 0.2):
        process = start(tmp_path)
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
        process.communicate(timeout=120)
    before = parts(tmp_path)
    assert run_experiment(race(), tmp_path).reused == len(before)
    assert before.items() <= parts(tmp_path).items()
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_ctrl_c_is_heard_at_once_and_parts_stay(tmp_path):
    run_experiment(race(100), tmp_path)  # blocks of other rounds stay, unread
    process = start(tmp_path, rounds=500_000_000)  # hours
    process.stdout.readline()
    while (tmp_path / "run.json").read_text().count("started") < 2:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert run_experiment(race(100), tmp_path).reused == UNITS


@pytest.mark.parametrize("damage", ["cut", "emptied", "altered", "swapped"])
def test_a_damaged_part_is_computed_again(tmp_path, undisturbed, damage):
    run_experiment(race(), tmp_path)
    part, other, *_ = sorted(tmp_path.glob("parts/*.parquet"))
    data = part.read_bytes()
    spoilt = {
        "cut": data[: len(data) // 2],
        "emptied": b"",
        "altered": data[:200] + bytes([data[200] ^ 1]) + data[201:],
        "swapped": other.read_bytes(),
    }
    part.write_bytes(spoilt[damage])
    summary = run_experiment(race(), tmp_path)
    assert (summary.computed, summary.reused) == (1, UNITS - 1)
    assert part.read_bytes() == data
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_more_replications_or_policies_reuse_the_blocks_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(work_units, "_BLOCK_SECONDS", 1e-9)  # one replication a block
    first = run_experiment(race(100, replications=2), tmp_path)
    more = run_experiment(race(100, replications=3), tmp_path)
    assert (more.reused, more.computed) == (first.blocks, first.blocks // 2)
    experiment = race(100, replications=3)
    another = Entry("V1", Unimodal(compare="matchings"))
    renamed = tuple(replace(entry, label=f"my {entry.label}") for entry in experiment.entries)
    wider = replace(experiment, title="wider", entries=(another, *renamed))
    assert run_experiment(wider, tmp_path).reused == more.blocks
    assert load_results(tmp_path)["policy"].unique(maintain_order=True).to_list() == [
        "V1",
        "my V2",
        "my at random",
    ]


def test_fewer_replications_give_what_they_always_give(tmp_path):
    run_experiment(race(100, replications=4), tmp_path / "a")
    run_experiment(race(100, replications=2), tmp_path / "a")
    run_experiment(race(100, replications=2), tmp_path / "b")
    data = [(tmp_path / name / "results.parquet").read_bytes() for name in "ab"]
    assert data[0] == data[1]


def test_a_key_changes_with_all_that_determines_the_numbers(monkeypatch):
    block = split_into_units(race())[0]
    other = split_into_units(race())[-1]
    changed = [
        replace(block, rounds=block.rounds + 1),
        replace(block, marks=block.marks[1:]),
        replace(block, seed=8),
        replace(block, replications=range(1, 8)),
        replace(block, policy=Unimodal(index="kl", clock="round")),
        replace(block, problem=other.problem),
        replace(block, code="other"),
    ]
    assert len({block.key, *(each.key for each in changed)}) == len(changed) + 1
    assert replace(block, entry=3, posed=4).key == block.key
    assert [each.key for each in split_into_units(race())] == [
        each.key for each in split_into_units(race())
    ]


def test_a_policy_from_elsewhere_counts_its_source():
    block = split_into_units(race())[0]
    assert replace(block, policy=Mine()).key != replace(block, policy=Uniform()).key


@dataclass(frozen=True)
class Mine(Uniform):
    pass


def test_the_cut_follows_the_cost_and_never_the_number_of_replications():
    few, many = (
        {
            block.replications
            for block in split_into_units(race(2_000_000, replications=n))
            if not block.entry
        }
        for n in (20, 40)
    )
    assert {part.stop - part.start for part in many} > {4}
    assert len(few - many) <= len(race().problems)  # but for the last block of each problem
    assert all(
        0.5 <= block.cost <= 1.5
        for block in split_into_units(race(2_000_000, replications=1_000))
        if block.replications.stop < 1_000
    )


def test_a_folder_of_another_experiment_is_refused(tmp_path):
    run_experiment(race(100), tmp_path)
    with pytest.raises(ResultsError, match="holds the results of 'race', not of 'other'"):
        run_experiment(race(100, name="other"), tmp_path)


def test_a_second_run_is_kept_out(tmp_path):
    seen = []

    def second(_):
        if not seen:
            with pytest.raises(ResultsError, match="another run is writing to"):
                run_experiment(race(100), tmp_path)
            seen.append(True)

    run_experiment(race(100), tmp_path, progress=second)
    assert seen


def test_progress_is_reported_and_a_bar_needs_a_terminal(tmp_path, capfd):
    seen = []
    summary = run_experiment(race(100), tmp_path / "a", progress=seen.append)
    assert [each.done for each in seen] == list(range(1, UNITS + 1))
    assert seen[-1].share == pytest.approx(1.0)
    assert seen[-1].rounds == summary.rounds == UNITS * 8 * 100
    run_experiment(race(100), tmp_path / "b", progress=True)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_a_terminal(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    run_experiment(race(100), tmp_path, progress=True)
    shown = capfd.readouterr().err
    assert f"{UNITS}/{UNITS} blocks" in shown
    assert "rounds/s" in shown


def test_run_json_says_when_and_how_long(tmp_path):
    run_experiment(race(100), tmp_path)
    run_experiment(race(100), tmp_path)
    first, second = json.loads((tmp_path / "run.json").read_text())["runs"]
    assert first["computed"] == second["reused"] == UNITS
    assert first["seconds"] > 0
    assert first["engine"] == "threads"
    assert set(first["versions"]) == {"python", "pairup", "numba", "numpy", "polars"}


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_place_of_the_folder(tmp_path, out):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ResultsError, match=r"cannot write to .*file"):
        run_experiment(race(100), tmp_path / out)


# A limit on the size of files fails a write as a full disk does, everywhere and for real.
LIMITED = """
import resource, sys
from tests.support.experiments.races import race
from pairup import PairupError, run_experiment
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    run_experiment(race(), sys.argv[1])
except PairupError as error:
    print(type(error).__name__, error)
"""


def test_a_write_that_fails_is_an_error_and_valid_parts_stay(tmp_path, undisturbed):
    largest = 2 * 8 * 45 * 16  # between a part and all results
    out = run_python(LIMITED, tmp_path, largest)
    assert out.startswith(f"ResultsError cannot write to {tmp_path}: File too large")
    assert len(parts(tmp_path)) == UNITS
    assert not list(tmp_path.rglob(".tmp-*"))
    assert run_experiment(race(), tmp_path).computed == 0
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


# In a name space of its own, with a disk of 40 kB: it fills, it is enlarged, the run goes on.
SMALL_DISK = """
import hashlib, subprocess, sys
from pathlib import Path
from tests.support.experiments.races import parts, race
from pairup import PairupError, run_experiment
disk = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", disk], check=True)
try:
    run_experiment(race(), disk + "/out")
except PairupError as error:
    print(type(error).__name__, error)
kept = parts(disk + "/out")
subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
summary = run_experiment(race(), disk + "/out")
print(len(kept), summary.reused, kept.items() <= parts(disk + "/out").items())
print(hashlib.sha256(Path(disk, "out", "results.parquet").read_bytes()).hexdigest())
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
try:
    run_experiment(race(), disk + "/out")
except PairupError as error:
    print(type(error).__name__, error)
"""


@needs_mounts
def test_a_full_disk_and_a_read_only_one(tmp_path, undisturbed):
    out = run_python(SMALL_DISK, tmp_path, before=own_mounts()).splitlines()
    assert out[0].startswith(f"ResultsError cannot write to {tmp_path}/out")
    assert "No space left on device" in out[0]
    kept, reused, untouched = out[1].split()
    assert 0 < int(kept) == int(reused) < UNITS
    assert untouched == "True"
    assert out[2] == hashlib.sha256(undisturbed).hexdigest()
    assert "Read-only file system" in out[3]


class _Broken(Executor):
    """Loses every other block."""

    def __init__(self):
        self.count = 0

    def submit(self, function, /, *arguments, **options):
        self.count += 1
        future = Future()
        if self.count % 2:
            future.set_result(function(*arguments))
        else:
            future.set_exception(OSError("the worker is gone"))
        return future


def test_a_lost_block_is_named_and_the_others_stay(tmp_path):
    with pytest.raises(SimulationError, match=r"was lost: OSError: the worker is gone.*run again"):
        run_experiment(race(100), tmp_path, executor=_Broken())
    assert len(parts(tmp_path)) == 1
    with pytest.raises(ResultsError, match=f"holds 1 of {UNITS} blocks"):
        load_results(tmp_path)
    assert len(load_results(tmp_path, partial=True)["problem"].unique()) == 1


def test_a_worker_of_another_version_is_refused():
    block = replace(split_into_units(race(100))[0], code="another")
    with pytest.raises(SimulationError, match="another version of pairup"):
        work_units.compute_unit(block)


def test_a_stopped_block_ends():
    stop = threading.Event()
    stop.set()
    with pytest.raises(SimulationError, match="stopped"):
        work_units.compute_unit(split_into_units(race(100))[0], stop)
