"""A load test is bounded, measures what it sends, and leaves nothing behind."""

import json
import threading
import time

import pytest
from typer.testing import CliRunner

from pairup.cli import app
from pairup.client import Client
from pairup.client.load import Load, run_load
from pairup.errors import ClientError
from tests.support.service.served import served

SMALL = Load(pools=2, players=10, seconds=60, requests=40)


@pytest.fixture
def service(tmp_path):
    with served(str(tmp_path / "pools.db")) as url:
        yield url


def pools(url):
    with Client(url) as client:
        return [each.name for each in client.pools()]


def test_requests_are_counted_up_to_their_bound_and_the_pools_deleted(service):
    found = run_load(service, load=SMALL)
    rows = {row["operation"]: row for row in found["operations"]}
    assert 40 <= sum(row["requests"] for row in rows.values()) < 40 + 2 * 5  # whole rounds
    assert rows["propose"]["requests"] == rows["report"]["requests"]
    assert found["games_per_s"] == found["outcomes_per_s"] > 0
    assert all(row["errors"] == {} for row in rows.values())
    for row in rows.values():
        assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]
    assert pools(service) == []


def test_it_ends_in_time(service):
    began = time.monotonic()
    found = run_load(service, load=Load(pools=1, players=4, seconds=0.5))
    assert 0.5 <= found["seconds"] < 5
    assert time.monotonic() - began < 20


def test_refusals_are_counted_by_their_kind(tmp_path):
    with served(str(tmp_path / "pools.db"), max_requests_per_s=1.0, burst_s=20.0) as url:
        found = run_load(url, load=Load(pools=1, players=4, seconds=60, requests=30))
    failed = [row["errors"].get("too-many-requests", 0) for row in found["operations"]]
    assert sum(failed) > 0


def test_pools_that_cannot_be_deleted_are_an_error(tmp_path):
    errors, found = [], []
    with served(str(tmp_path / "pools.db")) as url:

        def test():
            try:
                found.append(run_load(url, load=Load(pools=1, players=4, seconds=3)))
            except ClientError as error:
                errors.append(str(error))

        thread = threading.Thread(target=test)
        thread.start()
        while not pools(url):
            time.sleep(0.05)
        time.sleep(0.5)
    thread.join()
    assert found == []
    assert "no service answers" in errors[0]


@pytest.mark.parametrize("url", ["http://play.example.com", "http://192.0.2.1:8000"])
def test_another_machine_is_refused_unless_its_host_is_confirmed(url):
    with pytest.raises(ClientError, match="give --confirm-host "):
        run_load(url, load=SMALL)
    with pytest.raises(ClientError, match="give --confirm-host "):
        run_load(url, load=SMALL, confirmed_host="other.example.com")


@pytest.mark.parametrize(
    "given", [{"pools": 0}, {"players": 1}, {"seconds": 4_000}, {"requests": 10**9}]
)
def test_a_load_without_bounds_is_refused(given):
    (name,) = given
    with pytest.raises(ClientError, match=f"{name}, got .* try --{name} "):
        Load(**given)


def test_the_command_prints_a_table_or_json(service):
    options = ["load", "--url", service, "--pools", "1", "--players", "4", "--requests", "5"]
    table = CliRunner().invoke(app, options)
    assert table.exit_code == 0, table.output
    assert "propose" in table.output
    assert "outcomes per second, 1 pools of 4 players" in table.output
    printed = CliRunner().invoke(app, [*options, "--json"]).output  # with lines of the service
    found, _ = json.JSONDecoder().raw_decode(printed, printed.index('{\n "seconds"'))
    assert [row["requests"] for row in found["operations"]] == [1, 1, 1, 1, 1]
