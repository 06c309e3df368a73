"""The file of a database is private, and not exchanged while it is served."""

import os
import shutil
import sqlite3
import stat

import httpx
import pytest

from pairup.errors import ServiceError
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.pools import Api
from tests.support.service.processes import Process


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_files_are_readable_by_their_owner_only(tmp_path, open_umask):
    api = Api(str(tmp_path / "pools.db"))
    api.pool(players="ab")
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["pools.db", "pools.db-shm", "pools.db-wal"]
    assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    api.stop()


def test_a_new_database_and_one_that_others_can_read_are_logged(tmp_path):
    file, log = tmp_path / "pools.db", tmp_path / "log"
    process = Process(str(file), log, sweep_s=3600)
    for told in ("created a new, empty database", "other users can read the database"):
        process.start()
        assert process.wait(), process.said()
        assert process.stop() == 0
        assert told in log.read_text()
        log.write_text("")
        file.chmod(0o644)


def removed(file):
    file.unlink()


def moved(file):
    file.rename(file.with_name("elsewhere.db"))


def replaced(file):
    shutil.copy(file, file.with_name("copy.db"))
    file.with_name("copy.db").replace(file)


def without_its_log(file):
    file.with_name("pools.db-wal").unlink()


@pytest.mark.parametrize("exchange", [removed, moved, replaced, without_its_log])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(tmp_path, exchange):
    file = tmp_path / "pools.db"
    process = Process(str(file), tmp_path / "log", log_level="error", sweep_s=3600)
    process.start()
    assert process.wait(), process.said()
    with httpx.Client(base_url=process.url, timeout=30) as client:
        assert client.post("/v1/pools", json={"name": "chess"}).status_code == 201
        assert client.put("/v1/pools/chess/players/ann").status_code == 201
        exchange(file)
        for method, path in (("PUT", "/v1/pools/chess/players/bob"), ("GET", "/v1/pools/chess")):
            answer = client.request(method, path)
            assert answer.status_code == 503, answer.text
            problem = answer.json()
            assert problem["type"] == "/problems/store-unavailable"
            assert "deleted, moved or replaced" in problem["detail"]
            assert str(tmp_path) not in problem["detail"]
        assert client.get("/readyz").status_code == 503
        assert client.post("/v1/pools", json={"name": "go"}).status_code == 503
    assert process.stop() == 0
    assert exchange in (replaced, without_its_log) or not file.exists()


def test_a_file_that_is_put_back_is_served_again(tmp_path):
    api = Api(str(tmp_path / "pools.db"))
    api.pool(players="ab")
    elsewhere = tmp_path / "elsewhere.db"
    (tmp_path / "pools.db").rename(elsewhere)
    api("PUT", "/v1/pools/chess/players/c", 503, json={})
    elsewhere.rename(tmp_path / "pools.db")
    api("PUT", "/v1/pools/chess/players/c", 201, json={})
    assert [each.error for each in verify(api.service.store)] == [""]
    api.stop()


def test_no_empty_database_is_begun_beside_what_is_left_of_another(tmp_path):
    file = tmp_path / "pools.db"
    store = Store(str(file))
    connection = sqlite3.connect(file)  # keeps the write-ahead log when the store is closed
    connection.execute("SELECT count(*) FROM pools").fetchall()
    with store.writing() as transaction:
        transaction.add_pool("p", "chess", 1)
    store.close()
    file.unlink()
    with pytest.raises(ServiceError, match=r"no database .*but there is .*-wal.*restore it"):
        Store(str(file))
    assert not file.exists()
    connection.close()
