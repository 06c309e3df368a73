"""A real cluster: a scheduler and two workers of two threads, each a process of its own, here."""

import json
import os
import signal
import subprocess
import sys
import time

import dask
import pytest
from distributed import Client

from pairup import SimulationError, dask_executor, load_experiment, run_experiment
from tests.support.docs.pages import blocks
from tests.support.experiments.races import UNITS, parts, race
from tests.support.paths import DOCS

DASK = (sys.executable, "-m", "dask")
RACE = race(rounds=100_000)  # long enough that something is under way when a process is killed
HERE = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


class Cluster:
    def __init__(self, folder):
        self.file = folder / "scheduler.json"
        self.processes = []
        self._start("scheduler", "--port", "0")
        single = ("--no-nanny", "--nthreads", "2", "--memory-limit", "0")
        self.workers = {
            name: self._start("worker", *single, "--name", name) for name in ("ann", "bob")
        }

    def _start(self, what, *options):
        log = open(self.file.parent / f"{len(self.processes)}.log", "w")  # noqa: SIM115 - the process writes on
        command = [*DASK, what, *options, *HERE, "--scheduler-file", str(self.file)]
        process = subprocess.Popen(command, cwd=self.file.parent, stdout=log, stderr=log)
        log.close()
        self.processes.append(process)
        return process

    @property
    def address(self):
        while not self.file.exists() or not self.file.read_text().endswith("}"):
            assert self.processes[0].poll() is None, (self.file.parent / "0.log").read_text()
            time.sleep(0.05)
        return json.loads(self.file.read_text())["address"]

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        with Client(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield cluster
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def by_threads(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads")
    run_experiment(RACE, folder)
    return (folder / "results.parquet").read_bytes()


def test_a_cluster_gives_the_same_bytes(tmp_path, cluster, by_threads):
    with dask_executor(cluster.address) as executor:
        summary = run_experiment(RACE, tmp_path, executor=executor)
    assert summary.run.computed == UNITS
    assert (tmp_path / "results.parquet").read_bytes() == by_threads


def test_workers_run_the_code_of_a_policy_of_your_own(tmp_path, cluster, foreign_folder):
    """They cannot import its module, and an edit reaches them."""
    toml = blocks("how-to/add-a-policy.md", "toml")[0]
    python = blocks("how-to/add-a-policy.md", "python")
    file = next(block for block in python if block.title == "mine.py")
    (tmp_path / toml.title).write_text(toml.text)
    frames = []
    for means in ("games + 1, tries - games + 1", "2, 1"):
        foreign_folder.write("mine", file.text.replace("games + 1, tries - games + 1", means))
        experiment = load_experiment(tmp_path / toml.title)
        with dask_executor(cluster.address) as executor:
            run = run_experiment(experiment, tmp_path / "results", executor=executor)
        assert run.run.computed == 2 - len(frames)  # SAM's results are there the second time
        frames.append(run.frame)
        assert run.frame.equals(run_experiment(experiment).frame)
        foreign_folder.forget("mine")
    assert not frames[0].equals(frames[1])


def under_way(client, name):
    """The tasks that a worker computes."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    address = next(each for each, worker in workers.items() if worker["name"] == name)
    return client.processing()[address]


def test_a_killed_worker_costs_its_work_units_not_the_run(tmp_path, cluster, by_threads):
    victim, lost = cluster.workers["bob"], []

    def kill_one(progress):
        if progress.done == 3:
            lost.extend(under_way(client, "bob"))
            os.kill(victim.pid, signal.SIGKILL)

    with (
        dask_executor(cluster.address) as executor,
        Client(cluster.address, set_as_default=False) as client,
    ):
        summary = run_experiment(RACE, tmp_path, executor=executor, progress=kill_one)
    assert lost
    assert victim.wait(timeout=10) == -signal.SIGKILL
    assert summary.run.computed == UNITS
    assert (tmp_path / "results.parquet").read_bytes() == by_threads


def test_a_cluster_that_goes_away_is_named_and_the_run_continues_elsewhere(
    tmp_path, tmp_path_factory, by_threads
):
    cluster = Cluster(tmp_path_factory.mktemp("short"))

    def end_it(progress):
        if progress.done == 1:
            cluster.close()

    try:
        with dask_executor(cluster.address) as executor, pytest.raises(SimulationError) as caught:
            run_experiment(RACE, tmp_path, executor=executor, progress=end_it)
    finally:
        cluster.close()
    assert "was lost" in str(caught.value)
    assert 1 <= len(parts(tmp_path)) < UNITS
    run_experiment(RACE, tmp_path)
    assert (tmp_path / "results.parquet").read_bytes() == by_threads


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://1", "127.0.0.1:9"])
def test_a_scheduler_that_does_not_answer_is_named(address):
    with (
        pytest.raises(SimulationError, match=f"no Dask scheduler answers at {address}"),
        dask_executor(address, timeout=1),
    ):
        pass


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(SimulationError, match=r'pip install "pairup\[dask\]"'),
        dask_executor("tcp://127.0.0.1:9"),
    ):
        pass


def test_the_documented_setting_exists():
    text = (DOCS / "how-to/run-on-a-cluster.md").read_text()
    assert "distributed.scheduler.allowed-failures" in text
    assert dask.config.get("distributed.scheduler.allowed-failures") == 3
