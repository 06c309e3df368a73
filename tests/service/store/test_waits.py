"""Waits for a database that others have: they end when the settings say so."""

import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, closing, contextmanager

import psycopg
import pytest

from pairup.service.domain.pool import Pool
from pairup.service.maintenance import archive as archiving
from pairup.service.maintenance.archive import archive
from pairup.service.store import Store
from pairup.service.store.failures import StoreBusyError, StoreUnavailableError
from tests.support.service.pools import Api
from tests.support.service.services import check_stored, services

WAIT_S = 1.0
LONG_S = 12.0  # far beyond, and far below the 20 s that a connection waits by itself


@pytest.fixture
def api(tmp_path):
    made = Api(str(tmp_path / "pools.db"), wait_s=WAIT_S)
    made.wait()
    made.pool(players="ab")
    made.pool("go")
    yield made
    made.stop()


@contextmanager
def held_by_another_process(api):
    """Hold the writer of SQLite, as another process does."""
    with closing(sqlite3.connect(api.database, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@contextmanager
def held_by_another_thread(api):
    """Hold the writer, as another thread of the same process does."""
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with api.service.store.writing():
            held.set()
            let_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    try:
        yield
    finally:
        let_go.set()
        thread.join()


@pytest.mark.parametrize("hold", [held_by_another_process, held_by_another_thread])
def test_requests_do_not_wait_for_a_writer_longer_than_the_settings_say(api, hold):
    """Also several at once, which wait for one another first, and on other pools."""
    with hold(api):
        began = time.monotonic()
        for path in ("chess", "go"):
            answers = api.together(3, "PUT", f"/v1/pools/{path}/players/c", json={})
            for answer in answers:
                assert answer.status_code == 503
                assert answer.json()["type"] == "/problems/pool-busy"
                assert answer.headers["retry-after"]
        made = api("POST", "/v1/pools", json={"name": "new"})
        assert (made.status_code, made.json()["type"]) == (503, "/problems/pool-busy")
        assert time.monotonic() - began < LONG_S
        api("GET", "/v1/pools/chess", 200)  # who only reads does not wait
    api("PUT", "/v1/pools/chess/players/c", 201, json={})
    check_stored(api.service.store)


def test_a_writer_that_ends_in_time_is_waited_for(api):
    with closing(sqlite3.connect(api.database, isolation_level=None, check_same_thread=False)) as c:
        c.execute("BEGIN IMMEDIATE")
        letting_go = threading.Timer(0.3, lambda: c.execute("ROLLBACK"))
        letting_go.start()
        api("PUT", "/v1/pools/chess/players/c", 201, json={})
        letting_go.join()


def test_a_locked_row_of_postgresql_is_waited_for_no_longer(postgres):
    database = postgres.new_database()
    with services(database, 1, wait_s=WAIT_S) as (service,):
        service.create_pool("chess", {})
        with psycopg.connect(database) as connection:
            connection.execute("SELECT * FROM pools FOR UPDATE")
            began = time.monotonic()
            with pytest.raises(StoreBusyError):
                service.put_player("chess", "ann", "waiting")
            assert time.monotonic() - began < LONG_S
        service.put_player("chess", "ann", "waiting")


def test_a_locked_table_of_postgresql_is_waited_for_no_longer(postgres):
    """As a migration or VACUUM FULL locks it, also for those who only read."""
    database = postgres.new_database()
    with services(database, 1, wait_s=WAIT_S) as (service,):
        service.create_pool("chess", {})
        with psycopg.connect(database) as connection:
            connection.execute("LOCK TABLE pools IN ACCESS EXCLUSIVE MODE")
            began = time.monotonic()
            for ask in (service.show_pool, service.delete_pool):
                with pytest.raises(StoreBusyError):
                    ask("chess")
            assert time.monotonic() - began < LONG_S
        service.show_pool("chess")


def test_locks_of_postgresql_are_waited_for_until_the_deadline_of_the_request(postgres):
    """Of which some has passed already, for example in a wait for the pool."""
    with closing(Store(postgres.new_database(), wait_s=50.0)) as store:

        def wait_ms(opened):
            with opened as transaction:
                shown = "SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'"
                return transaction._connection.exec_driver_sql(shown).scalar()

        soon = time.monotonic() + 30
        assert 0 < wait_ms(store.reading(deadline=soon)) <= 30_000
        assert 0 < wait_ms(store.writing(deadline=soon)) <= 30_000
        assert wait_ms(store.reading(deadline=time.monotonic() - 1)) == 1  # 0: without end
        assert wait_ms(store.reading()) == wait_ms(store.writing()) == 50_000


def test_a_read_that_has_waited_for_its_pool_waits_less_for_the_database(postgres, monkeypatch):
    deadlines, reading = [], Store.reading

    def note(store, still=False, deadline=None):
        deadlines.append(deadline)
        return reading(store, still, deadline)

    with services(postgres.new_database(), 1) as (service,):
        service.create_pool("chess", {})
        monkeypatch.setattr(Store, "reading", note)
        for ask in (
            lambda: service.show_pool("chess"),
            lambda: service.put_player("chess", "ann", "waiting"),
        ):
            deadlines.clear()
            ask()
            assert len(set(deadlines)) == 1
            assert None not in deadlines
        monkeypatch.undo()


def test_a_server_that_accepts_and_says_nothing_is_waited_for_no_longer():
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        address = f"postgresql://x@127.0.0.1:{listening.getsockname()[1]}/x?sslmode=disable"
        began = time.monotonic()
        with pytest.raises(StoreUnavailableError):
            Store(address, wait_s=WAIT_S)
        assert time.monotonic() - began < LONG_S / 2


@contextmanager
def held_by_another_client(api):
    """Let nobody write events into PostgreSQL."""
    with psycopg.connect(api.database) as connection:
        connection.execute("LOCK TABLE idempotent_replies, events IN EXCLUSIVE MODE")
        yield
        connection.rollback()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_service_that_cannot_write_because_others_do_is_not_ready(kind, tmp_path, postgres):
    """Until a write succeeds, or the attempt that is made without a request."""
    file = kind == "sqlite"
    api = Api(str(tmp_path / "pools.db") if file else postgres.new_database(), wait_s=0.5)
    try:
        api.wait()
        api.pool(players="ab", policy="unimodal")
        for last in (api.service.store.probe, lambda: api.join("c")):
            with (held_by_another_process if file else held_by_another_client)(api):
                assert api.join("c").json()["type"] == "/problems/pool-busy"
                problem = api("GET", "/readyz", 503).json()
                assert "has been busy for too long" in problem["detail"]
                api.service.store.probe()
                api("GET", "/readyz", 503)
            last()
            api("GET", "/readyz", 200)
    finally:
        api.stop()


def test_a_connection_is_waited_for_no_longer(database):
    """All of them are in use."""
    with closing(Store(database, wait_s=WAIT_S)) as store, ExitStack() as opened:

        def open_many():
            for _ in range(100):
                opened.enter_context(store.reading())

        began = time.monotonic()
        with pytest.raises(StoreBusyError, match="all connections are in use"):
            open_many()
        assert time.monotonic() - began < LONG_S


def test_an_erasure_does_not_hold_up_others_while_somebody_reads(tmp_path):
    """The write-ahead log, which readers need, is emptied when they have ended."""
    log = tmp_path / "pools.db-wal"
    with services(str(tmp_path / "pools.db"), 1) as (service,):
        service.create_pool("chess", {})
        service.put_player("chess", "Wolfeschlegelsteinhausen", "waiting")
        with closing(sqlite3.connect(tmp_path / "pools.db", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM events").fetchall()
            began = time.monotonic()
            service.erase_player("chess", "Wolfeschlegelsteinhausen")
            service.put_player("chess", "ann", "waiting")
            assert time.monotonic() - began < LONG_S
            assert b"Wolfeschlegel" in log.read_bytes()
            service.forget_replies()
            assert b"Wolfeschlegel" in log.read_bytes()
        service.forget_replies()
        assert b"Wolfeschlegel" not in log.read_bytes()
        assert b"Wolfeschlegel" not in (tmp_path / "pools.db").read_bytes()


def test_archiving_replays_no_log_while_it_keeps_writers_out(database, tmp_path, monkeypatch):
    """Neither to verify a pool nor to make the snapshot that it needs."""
    with services(database, 1) as (service,):
        service.create_pool("chess", {})
        for number in range(20):
            service.put_player("chess", f"player-{number}", "waiting")
        service.propose("chess")
        writing, replayed = [False], []
        replay, open_writer = Pool.replay, Store.writing

        def note(pool, recorded):
            replayed.append(writing[0])
            replay(pool, recorded)

        @contextmanager
        def write(*given, **options):
            with open_writer(*given, **options) as transaction:
                writing[0] = True
                yield transaction
            writing[0] = False

        monkeypatch.setattr(Pool, "replay", note)
        monkeypatch.setattr(Store, "writing", write)
        (done,) = archive(service.store, service.clock.now(), tmp_path / "archives")
        assert (done.error, done.events) == ("", 22)
        assert len(replayed) >= 22
        assert not any(replayed)


def test_a_request_is_served_while_a_pool_is_archived(database, tmp_path, monkeypatch):
    """It writes while the log is verified, which takes the longest."""
    with services(database) as (service, other):
        service.create_pool("chess", {})
        service.put_player("chess", "ann", "waiting")
        verify = archiving.verify_pool

        def be_overtaken(*given):
            found = verify(*given)
            other.put_player("chess", "bob", "waiting")
            return found

        monkeypatch.setattr(archiving, "verify_pool", be_overtaken)
        (done,) = archive(service.store, service.clock.now(), tmp_path / "archives")
        assert done.error == ""
        check_stored(service.store)
        assert other.show_pool("chess")["players"]["waiting"] == 2
