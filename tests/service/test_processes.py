"""Whole processes: started, stopped, killed, two on one database."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import httpx
import pytest

from pairup.cli import main
from pairup.service.domain.events import WallClock
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.pools import Api
from tests.support.service.running import free_port


class Process:
    """`pairup serve`, and a client of it."""

    def __init__(self, database, *options):
        self.port = free_port()
        command = [sys.executable, "-m", "pairup", "serve", "--database", database]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,  # with its workers, which a killed parent would leave behind
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)
        self._wait()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def _wait(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if self.client.get("/readyz").status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError("".join(self.lines))

    def end(self, number=signal.SIGTERM):
        if number == signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
        self.process.send_signal(number)
        code = self.process.wait(60)
        self._reader.join()
        self.process.stdout.close()
        self.client.close()
        return code


@contextlib.contextmanager
def serving(database, *options):
    process = Process(database, *options)
    try:
        yield process
    finally:
        process.end(signal.SIGKILL)  # nothing, if it has ended


def begin(client, players):
    assert client.post("/v1/pools", json={"name": "chess"}).status_code == 201
    for player in players:
        assert client.put(f"/v1/pools/chess/players/{player}").status_code == 201


def test_a_process_serves_streams_and_stops_in_order(tmp_path):
    database = str(tmp_path / "pools.db")
    with serving(database) as process:
        begin(process.client, "abcde")
        games = process.client.post("/v1/pools/chess/matchings").json()["games"]
        path = f"/v1/games/{games[0]['id']}/outcome"
        process.client.put(path, json={"outcome": "played"})
        digest = process.client.get("/v1/pools/chess/digest").json()
        assert digest["seq"] == 8
        seen = _streamed(process, 8)
        assert [seq for seq, _ in seen] == list(range(1, 9))
        assert [kind for _, kind in seen][-2:] == ["proposed", "decided"]
        assert [seq for seq, _ in _streamed(process, 2, {"Last-Event-ID": "6"})] == [7, 8]
        stream = threading.Thread(target=_streamed, args=(process, 99))  # one that never ends
        stream.start()
        time.sleep(0.2)
        assert process.end() == 0
        stream.join()
    lines = [json.loads(line) for line in process.lines]
    requests = [line for line in lines if line["event"] == "request"]
    assert all(len(line["request_id"]) == 16 for line in requests)
    assert {"method", "path", "status", "ms", "timestamp", "level"} <= set(requests[0])
    assert lines[-1]["level"] == "info"
    store = Store(database)
    (verdict,) = verify(store)
    assert (verdict.error, verdict.events, verdict.digest) == ("", 8, digest["digest"])
    with store.reading() as transaction:
        row = transaction.pool_named("chess")
        (snapshot,) = transaction.snapshots(row.number)
        assert snapshot.head == row.head
        assert row.seq == 8
    store.close()


def _streamed(process, count, headers=None):
    """Read events from a stream until there are `count`, or it ends."""
    seen, address = [], f"http://127.0.0.1:{process.port}/v1/pools/chess/events/stream"
    with httpx.stream("GET", address, headers=headers, timeout=60) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                seen.append((event["seq"], event["kind"]))
                if len(seen) == count:
                    break
    return seen


def test_killed_it_loses_nothing_that_it_acknowledged(database):
    learnt = []
    with serving(database) as process:
        begin(process.client, [f"p{number}" for number in range(8)])
        stopper = threading.Timer(0.5, process.process.kill)
        stopper.start()
        with contextlib.suppress(httpx.TransportError):
            while True:
                for game in process.client.post("/v1/pools/chess/matchings").json()["games"]:
                    path = f"/v1/games/{game['id']}/outcome"
                    receipt = process.client.put(path, json={"outcome": "played"}).json()
                    assert receipt["result"] == "learnt"
                    learnt.append(game["id"])
        process.process.wait()
    assert learnt
    api = Api(database, WallClock())
    try:
        for game in learnt:
            assert api.json("GET", f"/v1/games/{game}")["state"] == "played"
        assert api.stats()["games"]["learnt"] >= len(learnt)
        digest = api.json("GET", "/v1/pools/chess/digest")["digest"]
        (verdict,) = verify(api.service.store)
        assert (verdict.error, verdict.digest) == ("", digest)
    finally:
        api.stop()


def test_two_processes_serve_one_pool(postgres):
    database = postgres.new_database()
    with serving(database) as one, serving(database, "--workers", "2") as other:
        begin(one.client, [f"p{number}" for number in range(20)])
        learnt, errors = [], []

        def work(client):
            try:
                for _ in range(15):
                    answer = client.post("/v1/pools/chess/matchings")
                    for game in answer.json().get("games", []):
                        sent = {"outcome": "cancelled"}
                        path = f"/v1/games/{game['id']}/outcome"
                        assert client.put(path, json=sent).json()["result"] == "learnt"
                        learnt.append(game["id"])
                    open_games = client.get("/v1/pools/chess/stats").json()["open_games"]
                    players = [player for game in open_games for player in game["players"]]
                    assert len(set(players)) == len(players)
            except Exception as error:
                errors.append(error)

        threads = [
            threading.Thread(target=work, args=(process.client,))
            for process in (one, other, one, other)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(set(learnt)) == len(learnt) > 10
        # Of both workers, whichever answers; one process of the three serves the pool.
        counted = other.client.get("/metrics").text
        decided = 'pairup_events_total{kind="decided"}'
        own = one.client.get("/metrics").text
        assert _value(counted, decided) + _value(own, decided) == len(learnt)
        unstated = 'pairup_pool_games_cancelled_total{cause="unstated",pool="chess"}'
        _await_value((one, other), unstated, len(learnt))
        _await_value((one, other), 'pairup_pool_waiting_players{pool="chess"}', 20)
        digests = {p.client.get("/v1/pools/chess/digest").json()["digest"] for p in (one, other)}
        assert len(digests) == 1
        assert one.client.get("/v1/pools/chess/stats").json()["games"]["learnt"] == len(learnt)
        assert other.end() == 0
        assert one.end() == 0
    store = Store(database)
    (verdict,) = verify(store)
    assert (verdict.error, {verdict.digest}) == ("", digests)
    store.close()


def _await_value(processes, name, value):
    """Wait for a number of a pool, which the process that serves it collects every few seconds."""
    deadline, metrics = time.monotonic() + 60, []
    while sum(f"{name} {value:.1f}\n" in each for each in metrics) != 1:
        assert time.monotonic() < deadline, metrics
        time.sleep(0.2)
        metrics = [process.client.get("/metrics").text for process in processes]


def _value(metrics, name):
    """Read a counter, which is not shown before something is counted."""
    lines = [line for line in metrics.splitlines() if line.startswith(name)]
    return sum(float(line.split()[-1]) for line in lines)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a command in this process, which spares the start of another."""

    def command(*arguments, **environment):
        with monkeypatch.context() as patched:
            patched.setattr(sys, "argv", ["pairup", *map(str, arguments)])
            for name, value in {"COLUMNS": "200", **environment}.items():
                patched.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, ended.value.code, shown.out, shown.err)

    return command


def test_a_service_that_cannot_start_says_why(run, tmp_path):
    text = tmp_path / "letter.txt"
    text.write_text("Dear reader, " * 100)
    before = text.read_bytes()
    taken = socket.create_server(("127.0.0.1", 0))
    for arguments, environment, said in [
        (["--port", "0", "--database", text], {}, "is damaged, or is not a database"),
        (["--port", "0", "--database", tmp_path / "no" / "x.db"], {}, "does not exist: make"),
        (["--port", "0", "--database", tmp_path], {}, "is a folder: try"),
        (
            ["--host", "0.0.0.0", "--port", "0", "--database", tmp_path / "x.db"],
            {},
            "pairup keys create",
        ),
        (["--workers", "2", "--database", tmp_path / "x.db"], {}, "2 processes need PostgreSQL"),
        (["--port", "99999"], {}, "the setting port cannot be 99999"),
        ([], {"PAIRUP_MAX_BODY_BYTES": "x"}, "PAIRUP_MAX_BODY_BYTES"),
        ([], {"PAIRUP_PROT": "80"}, "the variable PAIRUP_PROT sets nothing"),
        ([], {"PAIRUP_PROT": "80"}, 'did you mean "port"?'),
        (
            ["--port", "0", "--database", tmp_path / "y.db"],
            {"PAIRUP_KEYS": "required"},
            "API keys are required, and the database has none: make one with",
        ),
        (["--host", "192.0.2.1", "--database", tmp_path / "x.db"], {}, "'192.0.2.1' cannot be"),
        (["--port", taken.getsockname()[1]], {}, "cannot be listened on (Address already in use)"),
    ]:
        done = run("serve", *arguments, **environment)
        assert done.returncode == 2, done
        assert said in done.stderr
        assert done.stderr.startswith("pairup: ")
        assert len(done.stderr.splitlines()) == 1
        assert ("--host 127.0.0.1" in done.stderr) == ("0.0.0.0" in arguments)
    taken.close()
    assert text.read_bytes() == before


def test_commands_that_read_do_not_make_a_database(run, tmp_path):
    database = tmp_path / "x.db"
    for command in (["verify"], ["keys", "list"], ["keys", "revoke", "0"]):
        done = run(*command, "--database", database)
        assert done.returncode == 2, done
        assert f"there is no database '{database}'" in done.stderr
        assert not database.exists()


def test_keys_are_made_listed_and_revoked_on_the_command_line(run, tmp_path):
    database = ["--database", tmp_path / "x.db"]
    made = run("keys", "create", "backend", "--scope", "chess:write", *database)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("pairup_")
    assert made.stderr == f"a new database is made, {tmp_path / 'x.db'}\n"
    (listed,) = json.loads(run("keys", "list", "--json", *database).stdout)
    assert (listed["name"], listed["scopes"], listed["revoked"]) == ("backend", "chess:write", "")
    assert run("keys", "revoke", listed["id"], *database).returncode == 0
    refused = run("keys", "revoke", listed["id"], *database)
    assert refused.returncode == 2
    assert "no valid key has the id" in refused.stderr
    assert run("verify", *database).returncode == 0


def test_without_the_extra_it_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "pairup.service.server", None)
    done = run("serve")
    assert done.returncode == 2
    assert 'pip install "pairup[serve]"' in done.stderr
