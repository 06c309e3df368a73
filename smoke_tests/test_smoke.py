"""The package does its work with the lowest versions of libraries that are allowed.

Only what is installed there is used: pairup, its extras except `cuda`, and pytest.
"""

import importlib
import pkgutil
import re
import subprocess
import sys

import httpx
import polars as pl
import pytest
from typer.testing import CliRunner

import pairup
from pairup.cli.app import app
from pairup.client import Client
from tests.support.experiments.races import UNITS, race
from tests.support.paths import ROOT
from tests.support.service.running import Running

UNIMPORTABLE = {  # but by numba-cuda, by Alembic and by `python -m`
    "pairup.__main__",
    "pairup.service.store.migrations.env",
    "pairup.simulation.batches.cuda_target",
}
RACE = ("race", "sam", "uniform", "--rates", "0.9,0.8,0.3,0.1", "--rounds", "2000")


def command(*words):
    """Run the command line, which succeeds and says nothing but its results."""
    done = subprocess.run(
        [sys.executable, "-m", "pairup", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_every_module_can_be_imported():
    found = {each.name for each in pkgutil.walk_packages(pairup.__path__, "pairup.")}
    assert found > UNIMPORTABLE
    for name in found - UNIMPORTABLE:
        importlib.import_module(name)


def test_every_command_explains_itself():
    names = re.findall(r"^  ([a-z-]+)  ", explanation().partition("Commands:")[2], re.M)
    assert {"race", "serve", "keys"} <= set(names)
    for name in names:
        assert f"{name} [OPTIONS]" in explanation(name)


def explanation(*words):
    """Return the help page of a command, in this process: one for each would take seconds."""
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0, shown.exception
    return shown.output


def test_a_race_is_run_and_drawn(tmp_path):
    printed = command(*RACE, "--out", tmp_path)
    assert re.findall(r"\b(sam|uniform)\b", printed)[:2] == ["sam", "uniform"]
    command("plot", tmp_path)
    assert list(tmp_path.rglob("*.png"))


def test_a_simulation_has_the_numbers_of_the_readme():
    problem = pairup.Problem.around(mean=0.5, pairs=4, gap=0.1)
    run = pairup.simulate(problem, pairup.Uniform(), rounds=100_000, replications=20)
    assert f"\n{run}\n" in (ROOT / "README.md").read_text()


def test_workers_of_a_cluster_compute_the_same(tmp_path):
    from distributed import LocalCluster

    pairup.run_experiment(race(300), tmp_path / "threads")
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        cluster.get_client() as client,
    ):
        executor = client.get_executor(pure=False)
        summary = pairup.run_experiment(race(300), tmp_path / "dask", executor=executor)
    assert summary.run.computed == UNITS
    files = [tmp_path / each / "results.parquet" for each in ("threads", "dask")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_environment_keeps_the_rules_of_gymnasium():
    import gymnasium
    from gymnasium.utils.env_checker import check_env

    name, problem = "pairup.simulation.environment:pairup/Matching-v0", pairup.Problem([0.9, 0.2])
    check_env(gymnasium.make(name, problem=problem, rounds=10).unwrapped)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("service"))
    try:
        yield running
    finally:
        assert running.stop() == 0, running.log.read_text()
    assert "sound" in command("verify", "--database", running.database)


@pytest.fixture
def client(service):
    with Client(service.url) as client:
        client.create_pool("chess")
        for player in ("ann", "bob", "cyd", "dan"):
            client.join("chess", player)
        yield client
        client.delete_pool("chess")


def test_a_service_proposes_and_learns(client):
    games = client.propose("chess").games
    assert len(games) == 2
    for game in games:
        assert client.report(game.id, outcome="played").result == "learnt"
    assert client.stats("chess").games.played == 2
    assert "proposed" in [event.kind for event in client.events("chess")]


def test_a_history_is_imported(client, tmp_path):
    file = tmp_path / "games.parquet"
    rows = {"player_a": ["ann"] * 3, "player_b": ["bob"] * 3, "played": [True, False, True]}
    pl.DataFrame(rows).write_parquet(file)
    command("import", file, "--pool", "chess", "--url", client.url)
    assert client.stats("chess").imported == 3


@pytest.mark.parametrize("page", ["/", "/pools/chess", "/docs", "/openapi.json", "/metrics"])
def test_pages_are_shown(client, page):
    assert httpx.get(client.url + page, timeout=60).status_code == 200


def test_a_body_that_is_not_called_json_is_refused(service):
    assert httpx.post(f"{service.url}/v1/pools", content=b'{"name": "go"}').status_code == 422
