"""Experiments on a GPU give the files that a CPU gives, byte for byte."""

import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from pairup import dask_executor, run_experiment
from pairup.cli import app
from tests.support.experiments.races import race

ROUNDS = 200


@pytest.fixture(scope="module")
def by_cores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cores")
    run_experiment(race(ROUNDS, 4), folder)
    return results(folder)


def results(folder):
    return (folder / "results.parquet").read_bytes()


def test_work_units_of_a_gpu_go_on_with_those_of_a_cpu(tmp_path, by_cores):
    run_experiment(race(ROUNDS, 2), tmp_path, engine="cuda")
    run_experiment(race(ROUNDS, 4), tmp_path)
    assert results(tmp_path) == by_cores


def test_dask_workers_play_on_a_gpu(tmp_path, by_cores):
    """Two workers share the card here; where there are several, each has its own."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        run_experiment(race(ROUNDS, 4), tmp_path, executor=executor, engine="cuda")
    assert results(tmp_path) == by_cores


def test_the_command_line_plays_on_a_gpu(tmp_path):
    given = ["race", "sam", "unimodal", "--rates", ".9,.8,.3,.1", "--rounds", "300"]
    given += ["--replications", "500", "--out"]
    for folder, engine in (("cores", []), ("gpu", ["--cuda"])):
        done = CliRunner().invoke(app, [*given, str(tmp_path / folder), *engine])
        assert done.exit_code == 0, done.output
    assert results(tmp_path / "gpu") == results(tmp_path / "cores")
