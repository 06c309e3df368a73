"""Trouble with the database: a clear message, nothing touched, and on it goes when it is over."""

import ctypes
import os
import resource
import sqlite3
import subprocess
import sys

import httpx
import pytest

from pairup.cli import main
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from pairup.service.store.failures import StoreConflictError
from tests.support.service.pools import Api
from tests.support.service.processes import Process
from tests.support.service.small_disk import needs_mounts, own_mounts, run_python


@pytest.fixture
def file(tmp_path):
    """A database with a pool that has learnt, all of it in one file."""
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / "pools.db"
    api = Api(str(file))
    api.pool(players="abcdefgh")
    for _ in range(3):
        for game in api.propose()["games"]:
            api.report(game, "played")
    api.stop()
    with sqlite3.connect(file) as connection:
        connection.execute("VACUUM")  # damage to pages that are free would do no harm
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return file


def start(file, monkeypatch, capsys):
    """Try `pairup serve`, and return what it says; it must end with 2."""
    monkeypatch.setattr("uvicorn.Server.run", lambda *_, **__: pytest.fail("it starts"))
    monkeypatch.setattr(sys, "argv", ["pairup", "serve", "--database", str(file), "--port", "0"])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2, said
    assert said.startswith("pairup: ")
    assert "Traceback" not in said
    return said


def truncated(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def ending_within_a_page(file):
    file.write_bytes(file.read_bytes()[: -2 * 4096 - 1000])  # the last pages are empty


def with_another_head(file):
    file.write_bytes(b"\x00garbage" * 12 + file.read_bytes()[96:])


def overwritten(file):
    content = file.read_bytes()
    file.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))


def do(statement):
    def change(file):
        with sqlite3.connect(file) as connection:
            connection.execute(statement)
        connection.close()

    change.__name__ = statement
    return change


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (truncated, "is damaged"),
        (ending_within_a_page, "is damaged"),
        (with_another_head, "is damaged"),
        (overwritten, "is damaged"),
        (do("DROP TABLE events"), "lacks the table 'events'"),
        (do("DROP TABLE snapshots"), "lacks the table 'snapshots'"),
        (do("DROP TABLE alembic_version"), "is not pairup's"),
        (
            do("UPDATE alembic_version SET version_num = '9999'"),
            "serve it with the pairup that wrote it",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_damaged_database_is_not_touched(file, monkeypatch, capsys, damage, says):
    damage(file)
    before = file.read_bytes()
    said = start(file, monkeypatch, capsys)
    assert says in said
    assert file.read_bytes() == before
    log = file.with_name("pools.db-wal")  # SQLite makes an empty one even to look
    assert not log.exists() or log.stat().st_size == 0


def without_right_to_override():
    """Bind root to permissions too; it still reads what is its own, wherever the clone lies."""
    if os.geteuid() == 0:
        prctl, drop_capability, dac_override = ctypes.CDLL(None).prctl, 24, 1
        assert prctl(drop_capability, dac_override) == 0


def test_a_folder_that_cannot_be_written(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-m", "pairup", "serve", "--port", "0", "--database", "pools.db"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=without_right_to_override,
    )
    assert done.returncode == 2, done.stderr
    assert "unable to open database file" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(folder.iterdir()) == []


def test_a_full_disk_is_reported_and_survived(tmp_path, file):
    """No file may grow beyond a size for a while: what writes meet on a disk without room."""
    process = Process(str(file), tmp_path / "log", log_level="error", sweep_s=3600)
    process.start()
    assert process.wait(), process.said()
    with httpx.Client(base_url=process.url, timeout=30) as client:
        before = client.get("/v1/pools/chess/digest").json()
        pid = process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, limits[1]))
        for _ in range(3):
            refused = client.put("/v1/pools/chess/players/zoe")
            assert refused.status_code == 503, refused.text  # to SQLite, it is an error of the disk
            problem = refused.json()
            assert problem["type"] == "/problems/store-unavailable"
            assert "may be written, then try again" in problem["detail"]
            assert refused.headers["retry-after"] == "5"
        assert client.get("/v1/pools/chess/digest").json() == before
        resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
        assert client.put("/v1/pools/chess/players/zoe").status_code == 201
        assert client.post("/v1/pools/chess/matchings").status_code == 201
    assert process.stop() == 0
    store = Store(str(file))
    (verdict,) = verify(store)
    store.close()
    assert verdict.error == ""


# In a name space of its own: a disk of 600 kB fills, is enlarged, and cannot be written any more.
SMALL_DISK = """
import subprocess, sys, time
import structlog
from pairup.service.maintenance.verify import verify
from tests.support.service.pools import Api
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
disk = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", disk], check=True)
api = Api(disk + "/pools.db", min_free_bytes=0, sweep_s=0.2)
api.wait()
api.pool(players="abcd")
api.game()
def ready_in_the_end():
    for _ in range(100):
        if api("GET", "/readyz").status_code == 200:
            return True
        time.sleep(0.1)
print(ready_in_the_end())
acknowledged = 0
while (answer := api.join(f"player-{acknowledged}" + "x" * 100)).status_code == 201:
    acknowledged += 1
print(answer.status_code, answer.json()["type"], acknowledged > 10)
print(api("POST", "/v1/pools/chess/matchings").status_code)
api.clock.advance(61)  # games are due, and cannot expire
time.sleep(1)  # in which it tries to write
api.service.forget_replies()  # which has nothing to do, and succeeds
refused = api("GET", "/readyz", 503).json()
print(api("GET", "/v1/pools/chess/stats").status_code, refused["type"], refused["detail"])
print(sum(api.json("GET", "/v1/pools/chess")["players"].values()) == acknowledged + 4)
subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
print(ready_in_the_end())  # though nobody sends anything
print(api("POST", "/v1/pools/chess/matchings").status_code)
print(api.restart(crash=True), [verdict.error for verdict in verify(api.service.store)])
api.stop()
subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
try:
    Api(disk + "/pools.db")
except Exception as error:
    print(type(error).__name__, "nothing was changed" in str(error) or "written" in str(error))
"""


@needs_mounts
def test_a_service_on_a_full_disk_recovers_when_there_is_room(tmp_path):
    out = run_python(SMALL_DISK, tmp_path, before=own_mounts()).splitlines()
    assert out[:3] == ["True", "507 /problems/store-full True", "507"]
    assert out[3].startswith("200 /problems/not-ready nothing can be stored now, the database has ")
    assert out[4:7] == ["True", "True", "201"]
    assert out[7] == "None ['']"
    assert out[8].startswith("Store")
    assert out[8].endswith("True")


# A disk of 8 MB of which half is reserved; something else fills it, and goes away again.
RESERVE = """
import os, subprocess, sys
import structlog
from pairup.service.maintenance.verify import verify
from tests.support.service.pools import Api
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
disk = sys.argv[1]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", disk], check=True)
api = Api(disk + "/pools.db", min_free_bytes=4_000_000)
api.wait()
api.pool(players="abcd")
api.game(available=["a", "b"])
with open(disk + "/other", "wb") as other:
    other.write(bytes(4_500_000))
def tell():
    ready = api("GET", "/readyz")
    metrics = api("GET", "/metrics").text.splitlines()
    gauge = [line for line in metrics if line.startswith("pairup_read_only ")]
    print(ready.status_code, ready.json().get("detail", "")[:39], *gauge)
tell()
refused = api.join("eve")
print(refused.status_code, refused.json()["type"], "min_free_bytes" in refused.json()["detail"])
print(api("POST", "/v1/pools", json={"name": "go"}).status_code)
api.clock.advance(61)  # the game is due, and cannot expire
api.service.expire_games()
for path in ("", "/players", "/stats", "/estimates", "/events", "/digest"):
    print(api("GET", "/v1/pools/chess" + path).status_code, end=" ")
print(api("GET", "/").status_code, api("GET", "/pools/chess").status_code, api.status("a"))
api.restart()
print(api.status("a"))
api.service.forget_replies()
os.remove(disk + "/other")
print(api.join("eve").status_code, api.status("a"))
tell()
print([verdict.error for verdict in verify(api.service.store)])
api.stop()
"""


@needs_mounts
def test_a_disk_nearly_full_is_only_read_until_there_is_room(tmp_path):
    assert run_python(RESERVE, tmp_path, before=own_mounts()).splitlines() == [
        "503 nothing can be stored now, the database pairup_read_only 1.0",
        "507 /problems/store-full True",
        "507",
        "200 200 200 200 200 200 200 200 proposed",
        "proposed",
        "201 waiting",
        "200  pairup_read_only 0.0",
        "['']",
    ]


def test_a_server_that_only_reads_makes_the_service_not_ready_until_it_writes(postgres):
    """As after a failover to a replica."""
    url = postgres.new_database()
    name = url.partition("@/")[2].partition("?")[0]

    def set_read_only(value):
        postgres.do(f"ALTER DATABASE {name} SET default_transaction_read_only = {value}")
        connections = f"FROM pg_stat_activity WHERE datname = '{name}'"
        postgres.do(f"SELECT pg_terminate_backend(pid) {connections}")

    api = Api(url)
    try:
        api.wait()
        api.pool(players="ab")
        api("GET", "/readyz", 200)
        set_read_only("on")
        while api.join("c").json()["type"] != "/problems/store-unavailable":
            continue  # connections that broke off are made again
        assert "nothing can be stored now" in api("GET", "/readyz", 503).json()["detail"]
        api("GET", "/v1/pools/chess", 200)
        api.service.store.probe()
        api("GET", "/readyz", 503)
        set_read_only("off")
        while api("GET", "/readyz").status_code != 200:
            api.service.store.probe()
        assert api.kinds() == ["created", "joined", "joined"]
    finally:
        api.stop()


def test_a_conflict_or_a_refusal_is_no_trouble(lone):
    store = lone.service.store
    lone.pool()
    lone("POST", "/v1/pools", 409, json={"name": "chess"})
    row = {"id": "k", "name": "", "digest": "", "scopes": "", "created_at": 0}
    with store.writing() as transaction:
        transaction.add_api_key(row)
    with pytest.raises(StoreConflictError), store.writing() as transaction:
        transaction.add_api_key(row)
    assert store.write_trouble == ""


def test_damage_met_while_it_runs_is_a_problem(tmp_path, file):
    process = Process(str(file), tmp_path / "log", log_level="error", sweep_s=3600)
    process.start()
    assert process.wait(), process.said()
    with httpx.Client(base_url=process.url, timeout=30) as client:
        overwritten(file)
        answer = client.get("/v1/pools/chess/events")  # what is in memory is served still
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    damaged = file.read_bytes()
    assert process.stop() == 0
    assert file.read_bytes() == damaged
