import hashlib
import json
import multiprocessing
import signal
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import replace

import pytest

from pairup import (
    GRAB,
    PairupError,
    PolicyError,
    ResultsError,
    SimulationError,
    Unimodal,
    load_results,
    run_experiment,
    simulate,
)
from pairup.experiments import work_units
from pairup.experiments.experiment import Entry
from tests.support.experiments.races import UNITS, parts, race, start
from tests.support.service.small_disk import needs_mounts, own_mounts, run_python


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_experiment(race(), folder).run.computed == UNITS
    return (folder / "results.parquet").read_bytes()


def test_the_numbers_are_those_of_simulate(tmp_path):
    experiment = race(rounds=200, replications=3)
    run_experiment(experiment, tmp_path)
    frame = load_results(tmp_path).frame
    for entry in experiment.entries:
        for posed in experiment.problems:
            run = simulate(posed.problem, entry.policy, 200, 3, seed=7)
            rows = frame.filter(policy=entry.label, problem=posed.problem.name)
            assert rows["regret"].to_list() == run.regret.ravel().tolist()
            assert rows["games"].to_list() == run.games.ravel().tolist()
            assert rows["round"].to_list() == run.rounds.tolist() * 3


def test_a_run_in_memory_gives_the_same_rows_and_writes_nothing(tmp_path, monkeypatch):
    experiment = replace(race(200, replications=3), horizon_check=("V2", "at random"))
    kept = run_experiment(experiment, tmp_path / "kept")
    for name in ("write_atomically", "hold_folder"):
        monkeypatch.setattr(f"pairup.experiments.storage.{name}", None)
    monkeypatch.setattr("pairup.experiments.runner.hold_folder", None)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    summary = run_experiment(experiment)
    assert sorted(tmp_path.rglob("*")) == before
    assert (summary.run.computed, summary.run.reused) == (UNITS + 2, 0)
    assert summary.experiment == experiment
    assert summary.frame.equals(kept.frame)
    assert summary.horizon_checks == kept.horizon_checks


def test_two_runs_give_the_same_bytes(tmp_path, undisturbed):
    run_experiment(race(), tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_a_process_pool_gives_the_same_bytes(tmp_path, undisturbed):
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as pool:
        run_experiment(race(), tmp_path, executor=pool)
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_a_killed_run_continues_and_recomputes_nothing(tmp_path, undisturbed):
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


def test_a_run_killed_at_any_moment_continues(tmp_path, undisturbed):
    for wait in (0.0, 0.05, 0.2):
        process = start(tmp_path)
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
        process.communicate(timeout=120)
    before = parts(tmp_path)
    assert run_experiment(race(), tmp_path).run.reused == len(before)
    assert before.items() <= parts(tmp_path).items()
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_ctrl_c_is_heard_at_once_and_parts_stay(tmp_path):
    run_experiment(race(100), tmp_path)  # units of other rounds stay, unread
    process = start(tmp_path, rounds=500_000_000)  # hours
    process.stdout.readline()
    while (tmp_path / "run.json").read_text().count("started") < 2:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert run_experiment(race(100), tmp_path).run.reused == UNITS


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
    assert (summary.run.computed, summary.run.reused) == (1, UNITS - 1)
    assert part.read_bytes() == data
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


def test_more_replications_or_policies_reuse_the_work_units_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(work_units, "_UNIT_SECONDS", 1e-9)  # one replication per unit
    first = run_experiment(race(100, replications=2), tmp_path)
    more = run_experiment(race(100, replications=3), tmp_path)
    assert (more.run.reused, more.run.computed) == (first.run.units, first.run.units // 2)
    experiment = race(100, replications=3)
    another = Entry("V1", Unimodal(compare="matchings"))
    renamed = tuple(replace(entry, label=f"my {entry.label}") for entry in experiment.entries)
    wider = replace(experiment, title="wider", entries=(another, *renamed))
    assert run_experiment(wider, tmp_path).run.reused == more.run.units
    assert load_results(tmp_path).frame["policy"].unique(maintain_order=True).to_list() == [
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
    assert seen[-1].rounds == summary.run.rounds == UNITS * 8 * 100
    run_experiment(race(100), tmp_path / "b", progress=True)
    assert capfd.readouterr() == ("", "")


def test_a_bar_is_shown_on_a_terminal(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    run_experiment(race(100), tmp_path, progress=True)
    shown = capfd.readouterr().err
    assert f"{UNITS}/{UNITS} work units" in shown
    assert "rounds/s" in shown


def test_run_json_says_when_and_how_long(tmp_path):
    run_experiment(race(100), tmp_path)
    run_experiment(race(100), tmp_path)
    first, second = json.loads((tmp_path / "run.json").read_text())["runs"]
    assert first["computed"] == second["reused"] == UNITS
    assert first["seconds"] > 0
    assert first["engine"] == "threads"
    assert set(first["versions"]) >= {"python", "pairup", "numba", "numpy", "polars"}


@pytest.mark.parametrize("out", ["file", "file/below"])
def test_a_file_in_place_of_the_folder_is_refused(tmp_path, out):
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
    assert run_experiment(race(), tmp_path).run.computed == 0
    assert (tmp_path / "results.parquet").read_bytes() == undisturbed


# In a name space of its own, with a disk of 40 kB: it fills, it is enlarged, the run continues.
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
print(len(kept), summary.run.reused, kept.items() <= parts(disk + "/out").items())
print(hashlib.sha256(Path(disk, "out", "results.parquet").read_bytes()).hexdigest())
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
try:
    run_experiment(race(), disk + "/out")
except PairupError as error:
    print(type(error).__name__, error)
"""


@needs_mounts
def test_a_full_disk_and_a_read_only_one_are_told_and_survived(tmp_path, undisturbed):
    out = run_python(SMALL_DISK, tmp_path, before=own_mounts()).splitlines()
    assert out[0].startswith(f"ResultsError cannot write to {tmp_path}/out")
    assert "No space left on device" in out[0]
    kept, reused, untouched = out[1].split()
    assert 0 < int(kept) == int(reused) < UNITS
    assert untouched == "True"
    assert out[2] == hashlib.sha256(undisturbed).hexdigest()
    assert "Read-only file system" in out[3]


class _Broken(Executor):
    """Loses every other work unit."""

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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"out": 3}, r"out must be the path of a folder, got 3: try \"results\""),
        ({"executor": "threads"}, r"executor must be an Executor, got 'threads'"),
        ({"progress": "yes"}, r"progress must be a bool, got 'yes': try True"),
        ({"engine": "gpu"}, r"engine cannot be 'gpu'; did you mean \"cpu\""),
    ],
)
def test_a_wrong_argument_is_refused_in_one_line(given, words):
    with pytest.raises(PairupError, match=words):
        run_experiment(race(), **given)


def test_a_lost_work_unit_is_named_and_the_others_stay(tmp_path):
    with pytest.raises(SimulationError, match=r"was lost: OSError: the worker is gone.*run again"):
        run_experiment(race(100), tmp_path, executor=_Broken())
    assert len(parts(tmp_path)) == 1
    with pytest.raises(ResultsError, match=f"1 of {UNITS} work units"):
        load_results(tmp_path)
    assert len(load_results(tmp_path, partial=True).frame["problem"].unique()) == 1


def test_a_policy_that_cannot_play_a_problem_is_refused_in_one_line():
    wrong = replace(race(100, 1), entries=(Entry("GRAB", GRAB()),))
    with pytest.raises(PolicyError, match="grab"):
        run_experiment(wrong)
