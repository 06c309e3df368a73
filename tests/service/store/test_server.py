"""PostgreSQL is looked at when it is opened; a primary that dies, and poolers in between."""

import os
import resource
import time
from contextlib import ExitStack, contextmanager, suppress

import psycopg
import pytest

from pairup.errors import ServiceError
from pairup.service.problems import RefusalError
from pairup.service.store import Store
from pairup.service.store.failures import StoreError
from tests.support.service.pooler import POOLERS
from tests.support.service.postgres import Server
from tests.support.service.services import check_agreement, check_stored, services


def test_settings_that_may_lose_acknowledged_changes_are_found(postgres):
    """The server of the tests does not wait for its disk."""
    database = postgres.new_database()
    for setting, expected in [("on", ["fsync"]), ("off", ["fsync", "synchronous_commit"])]:
        name = database.partition("?")[0].rpartition("/")[2]
        postgres.do(f"ALTER DATABASE {name} SET synchronous_commit = {setting}")
        store = Store(database)
        assert [each.partition(" ")[0] for each in store.server.unsafe] == expected
        assert store.server.settings["synchronous_commit"] == setting
        assert int(store.server.version.partition(".")[0]) >= 12
        store.close()


def test_notices_are_heard_however_many_files_are_open(postgres):
    """As after a failover, when the session is opened again beside a thousand streams."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limit, 2_048), most))
    store = Store(postgres.new_database())
    with ExitStack() as opened:
        for _ in range(1_100):
            opened.enter_context(open(os.devnull))
        session = store.open_session()
        opened.callback(store.close)
        opened.callback(session.close)
        session.tell(["7"])
        assert session.hear(20.0) == {"7"}
        session.wake()
        assert session.hear(20.0) == set()
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


@pytest.fixture(params=POOLERS, ids=lambda each: each.__name__)
def pooled(request, postgres):
    """A function that puts a pooler in front of an empty database."""
    started = []

    def start(mode):
        database = postgres.new_database()
        name = database.partition("?")[0].rpartition("/")[2]
        started.append(request.param(postgres, name, mode))
        return started[-1].url

    yield start
    for pooler in started:
        pooler.stop()


def test_a_pooler_that_changes_sessions_between_transactions_is_refused(pooled):
    with pytest.raises(ServiceError, match="set its pool_mode to session"):
        Store(pooled("transaction"))


def test_pools_are_shared_through_a_pooler_of_sessions(pooled):
    with services(pooled("session")) as (one, other):
        for number, service in enumerate((one, other)):
            service.share_pools(f"http://process{number}")
        one.pools.cache.ownership.join()
        one.create_pool("chess", {"policy": "uniform"})
        one.put_player("chess", "ann")
        with pytest.raises(RefusalError, match="another process serves pool"):
            _until_known(other)
        check_agreement(one, "chess")


def _until_known(service):
    deadline = time.monotonic() + 20
    while not service.pools.cache.ownership._live:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    service.show_pool("chess")


def test_a_promoted_standby_that_lost_the_end_of_a_log_is_noticed():
    """The primary dies; its standby has not received the end of the log."""
    with closing_server() as primary, closing_server(primary) as standby:
        primary.new_database()
        hosts = f"host={primary.folder},{standby.folder}&target_session_attrs=read-write"
        with services(f"postgresql://pairup@/test_1?{hosts}", 1, wait_s=5.0) as (one,):
            one.share_pools("http://process")
            one.pools.cache.ownership.join()
            one.create_pool("chess", {"policy": "uniform"})
            one.put_players("chess", [("ann", "waiting"), ("bob", "waiting")])
            _until_copied(one, standby)
            standby.follow_no_more()
            one.put_player("chess", "lost")
            digest = one.show_digest("chess")
            primary.kill()
            with pytest.raises(StoreError):
                one.put_player("chess", "cyd")
            standby.do("SELECT pg_promote()")
            _until_answered(lambda: one.put_player("chess", "dan"))
            assert one.show_digest("chess")["seq"] == digest["seq"]
            assert one.show_digest("chess") != digest
            players = {each["player"] for each in one.list_players("chess", None, "", 10)[0]}
            assert players == {"ann", "bob", "dan"}
            assert one.metrics.logs_replaced._value.get() == 1
            check_agreement(one, "chess")
            check_stored(one.store)


@contextmanager
def closing_server(primary=None):
    server = Server(primary)
    try:
        yield server
    finally:
        server.remove()


def _until_copied(service, standby):
    """Wait until a standby has the whole log, and who serves it."""
    with service.store.reading() as transaction:
        seq = transaction.pool_named("chess").seq
    deadline = time.monotonic() + 30
    while True:
        with suppress(psycopg.Error), psycopg.connect(standby.url("test_1")) as connection:
            if connection.execute("SELECT seq FROM pools").fetchone() == (seq,):
                return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _until_answered(ask):
    deadline = time.monotonic() + 30
    while True:
        try:
            return ask()
        except (StoreError, RefusalError):
            assert time.monotonic() < deadline
            time.sleep(0.1)
