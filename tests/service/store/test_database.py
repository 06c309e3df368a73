"""One suite for every kind of database."""

import secrets
import sqlite3
import threading
import time

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, text

from pairup.errors import ServiceError
from pairup.service.domain import events, snapshot
from pairup.service.domain.events import KINDS, START, Recorded, unpack
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import SnapshotError, read_snapshot, write_snapshot
from pairup.service.store import Store, schema
from pairup.service.store.engine import parse_address
from pairup.service.store.failures import (
    StoreConflictError,
    StoreDamagedError,
    StoreFullError,
    StoreUnavailableError,
)
from pairup.service.store.tables import metadata


@pytest.fixture
def store(database):
    opened = Store(database)
    yield opened
    opened.close()


VERSION = {"package": "1", "code": "0"}
LOG = [
    Recorded.of(1, 10, events.Created("chess", Rules().as_json(), VERSION)),
    Recorded.of(2, 11, events.Joined([1], "waiting")),
    Recorded.of(3, 12, events.Joined([2], "away")),
]


def head_of(log):
    head = START
    for recorded in log:
        head = head.after(recorded)
    return head


def enter(store, name="chess", log=LOG):
    """Enter a pool with its log, and return its number."""
    with store.writing() as transaction:
        number = transaction.add_pool(name, "secret", 10)
        assert transaction.append(number, log, START) == head_of(log)
    return number


def test_the_migrations_make_the_tables(store):
    with store._engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_several_processes_may_start_at_once(database):
    opened, failed = [], []

    def start():
        try:
            opened.append(Store(database))
        except ServiceError as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in opened:
        store.close()
    assert failed == []


def test_the_migration_of_an_older_schema_is_logged(store, database, monkeypatch, capsys):
    """With a step that does not exist yet: the version only is another."""
    number = enter(store)
    store.close()
    monkeypatch.setattr(schema, "latest_version", lambda: "9998")
    monkeypatch.setattr(schema, "migrate", lambda connection: None)
    again = Store(database)
    with again.reading() as transaction:
        assert list(transaction.events(number)) == LOG
    again.close()
    assert "migrated" in capsys.readouterr().out


def test_events_are_read_as_they_were_written(store, database):
    number = enter(store)
    again = Store(database)
    with again.reading() as transaction:
        row = transaction.pool_named("chess")
        assert (row.number, row.created_at, row.head) == (number, 10, head_of(LOG))
        assert list(transaction.events(number)) == LOG
        assert list(transaction.events(number, after=1)) == LOG[1:]
    again.close()


def test_names_of_players_are_read_as_they_were_written(store, database):
    names = {1: "zoë \U0001f3b2", 2: "b", 70_000: "c"}
    number, other = enter(store), enter(store, "go")
    with store.writing() as transaction:
        transaction.add_names(number, names.items())
        transaction.add_names(other, [(1, "b")])
    again = Store(database)
    with again.reading() as transaction:
        assert transaction.names(number, {1, 2, 3, 70_000}) == names
        assert transaction.names(number, {1, 3}) == {1: names[1]}
        assert transaction.numbers_of(number, "b") == [2]
        assert transaction.numbers_of(other, "b") == [1]
    with again.writing() as transaction:
        transaction.erase_names(number, [2])
        assert transaction.names(number, {1, 2}) == {1: names[1]}
        assert transaction.numbers_of(number, "b") == []
        assert transaction.names(other, {1}) == {1: "b"}
        assert transaction.count_names(number) == (3, 70_000)  # the number stays taken
    again.close()


def test_a_long_log_is_read_in_order(store):
    log = [LOG[0], *(Recorded.of(seq, 10, LOG[1].event) for seq in range(2, 2002))]
    number = enter(store, log=log)
    with store.reading() as transaction:
        assert list(transaction.events(number)) == log
        assert list(transaction.events(number, after=1001)) == log[1001:]


def test_a_block_that_fails_writes_nothing(store):
    def fail():
        with store.writing() as transaction:
            number = transaction.add_pool("chess", "secret", 10)
            transaction.append(number, LOG, START)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with store.reading() as transaction:
        assert transaction.pools("", 10) == []
        assert transaction.pool_numbers() == []
    number = enter(store)
    with store.reading() as transaction:
        assert list(transaction.events(number)) == LOG


@pytest.mark.parametrize("known", ["shorter", "longer", "replaced"])
def test_a_log_that_does_not_end_as_the_writer_knows_it_is_not_touched(store, known):
    number, head = enter(store), head_of(LOG)
    wrong = {
        "shorter": head_of(LOG[:2]),
        "longer": head._replace(seq=4),
        "replaced": head_of([*LOG[:2], Recorded.of(3, 12, events.Joined([2], "waiting"))]),
    }[known]
    joined = Recorded.of(wrong.seq + 1, 13, events.Joined([3], "away"))
    with pytest.raises(StoreConflictError), store.writing() as transaction:
        transaction.append(number, [joined], wrong)
    with store.reading() as transaction:
        assert list(transaction.events(number)) == LOG
        assert transaction.pool(number).head == head


def test_a_name_belongs_to_one_pool_at_a_time(store):
    first = enter(store)
    with pytest.raises(StoreConflictError):
        enter(store)
    with store.writing() as transaction:
        deleted = [Recorded.of(4, 13, events.Deleted())]
        transaction.append(first, deleted, head_of(LOG))
    with store.reading() as transaction:
        assert transaction.pool(first) is transaction.pool_named("chess") is None
    second = enter(store)
    assert second != first
    with store.reading() as transaction:
        assert transaction.pool_named("chess").number == second
        assert len(list(transaction.events(first))) == 4  # the log stays


def test_two_snapshots_are_kept(store):
    number = enter(store)
    heads = {seq: head_of(LOG[:seq]) for seq in (1, 2, 3)}
    with store.writing() as transaction:
        for seq in (1, 2, 3, 3):
            transaction.add_snapshot(number, heads[seq], 10, b"\0\xff%d" % seq)
    with store.reading() as transaction:
        stored = list(transaction.snapshots(number))
    assert stored == [(heads[3], 10, False, b"\0\xff3"), (heads[2], 10, False, b"\0\xff2")]


def test_the_snapshot_that_a_log_begins_with_is_kept_too(store):
    number = enter(store)
    with store.writing() as transaction:
        transaction.add_snapshot(number, head_of(LOG[:1]), 10, b"1")
        transaction.drop_archives(number, 1, head_of(LOG[:1]), 13)
        for seq in (2, 3, 1):
            transaction.add_snapshot(number, head_of(LOG[:seq]), 10, b"%d" % seq)
    with store.reading() as transaction:
        stored = [(each.head.seq, each.base) for each in transaction.snapshots(number)]
    assert stored == [(3, False), (2, False), (1, True)]


def test_replies_are_kept_and_dropped(store):
    answer, number = ("d" * 64, '{"a":1}'), enter(store)
    with store.writing() as transaction:
        transaction.keep_reply("me", "key", number, *answer, 5)
        transaction.keep_reply("you", "key", number, *answer, 6)
    with pytest.raises(StoreConflictError), store.writing() as transaction:
        transaction.keep_reply("me", "key", number, *answer, 7)
    with store.writing() as transaction:
        assert transaction.reply("me", "key") == answer
        assert not transaction.drop_replies(before=6, after=10)
    with store.reading() as transaction:
        assert transaction.reply("me", "key") is None
        assert transaction.reply("you", "key") == answer


def test_writers_of_a_pool_take_turns(store):
    """A writer who has the lock of a pool's row keeps another out until it has committed."""
    number = enter(store)
    first_has_it, order = threading.Event(), []

    def write(name, wait):
        with store.writing() as transaction:
            transaction.pool(number, lock=True)
            order.append(f"{name} in")
            if wait:
                first_has_it.set()
                second.start()
                second.join(0.3)
            order.append(f"{name} out")

    second = threading.Thread(target=write, args=("second", False))
    write("first", wait=True)
    assert first_has_it.is_set()
    second.join()
    assert order == ["first in", "first out", "second in", "second out"]


def test_waiting_for_locks_is_limited_on_postgresql(postgres):
    store = Store(postgres.new_database())
    with store._begin() as connection:
        shown = {
            name: connection.execute(text(f"SHOW {name}")).scalar()
            for name in ("lock_timeout", "idle_in_transaction_session_timeout")
        }
    store.close()
    assert shown == {"lock_timeout": "20s", "idle_in_transaction_session_timeout": "1min"}


def test_a_writer_of_postgresql_waits_for_locks_until_its_deadline(postgres):
    store = Store(postgres.new_database(), wait_s=3)
    waits = text("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'")
    with store._writer() as connection:
        assert 0 < connection.execute(waits).scalar() <= 3_000
    with store._writer(time.monotonic() + 1) as connection:
        assert 0 < connection.execute(waits).scalar() <= 1_000
    store.close()


@pytest.mark.parametrize("version", ["0004", "9999"])
def test_a_schema_of_another_version_is_not_touched(store, database, version):
    enter(store)
    store.close()
    _do(database, f"UPDATE alembic_version SET version_num = '{version}'")
    before = _content(database)
    with pytest.raises(ServiceError, match=rf"schema {version}, this pairup knows 0005 to \d+: "):
        Store(database)
    assert _content(database) == before


def test_a_database_of_others_is_not_touched(database):
    _do(database, "CREATE TABLE invoices (id INTEGER)")
    before = _content(database)
    with pytest.raises(ServiceError, match=r"not pairup's, it has a table 'invoices'"):
        Store(database)
    assert _content(database) == before


def _do(database, statement):
    engine = create_engine(parse_address(database))
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _content(database):
    """Return the bytes of a file, or the tables and rows of a database in a server."""
    if "://" not in database:
        with open(database, "rb") as file:
            return file.read()
    with psycopg.connect(database) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
        names = [name for (name,) in connection.execute(query)]
        return [(name, connection.execute(f"SELECT * FROM {name}").fetchall()) for name in names]


@pytest.mark.parametrize("damage", ["header", "page", "text"])
def test_a_damaged_file_is_not_touched(tmp_path, damage):
    file = tmp_path / "pools.db"
    store = Store(str(file))
    enter(store, log=[LOG[0], *(Recorded.of(n, 9, LOG[1].event) for n in range(2, 4000))])
    with store.writing() as transaction:
        transaction.add_api_key(
            {"id": "k", "name": "", "digest": "", "scopes": "", "created_at": 0}
        )
    store._engine.dispose()
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(file.read_bytes())
    if damage == "text":
        content = bytearray(b"no database at all, but a letter to the reader\n" * 100)
    start = {"header": 0, "page": len(content) // 2, "text": 0}[damage]
    content[start : start + 5000] = content[start : start + 5000][::-1]
    file.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"is damaged.*nothing was changed"):
        Store(str(file))
    assert file.read_bytes() == content
    assert list(tmp_path.glob("*.db")) == [file]


def test_a_full_disk_is_reported_and_nothing_is_lost(tmp_path):
    store = Store(str(tmp_path / "pools.db"))
    number = enter(store)
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    store._engine.dispose()
    from sqlalchemy import event

    @event.listens_for(store._engine, "connect")
    def limit(connection, _):
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")

    large = Recorded.of(4, 13, events.Loaded(secrets.token_hex(50_000)))
    with pytest.raises(StoreFullError, match="no room left on its disk"), store.writing() as full:
        full.append(number, [large], head_of(LOG))
    with store.reading() as transaction:
        assert list(transaction.events(number)) == LOG
        assert transaction.pool(number).head == head_of(LOG)
    store.close()


@pytest.mark.parametrize(
    ("database", "error", "says"),
    [
        ("/no/such/folder/pools.db", ServiceError, "does not exist: make "),
        ("postgresql://pairup@/x?host=/no/such/folder", StoreUnavailableError, "cannot be used"),
        ("mysql://db/pairup", ServiceError, "SQLite or PostgreSQL, got 'mysql'"),
        ("://", ServiceError, "not the address of a database"),
        ("sqlite://", ServiceError, "in memory loses everything"),
    ],
)
def test_an_unusable_database_is_refused_with_the_reason(database, error, says):
    with pytest.raises(error, match=says):
        Store(database)


def test_a_password_is_not_shown():
    with pytest.raises(StoreUnavailableError) as refused:
        Store("postgresql://me:secret@/x?host=/no/such/folder")
    assert "secret" not in str(refused.value)


def test_a_log_with_a_gap_is_refused(store):
    number = enter(store, log=[LOG[0], LOG[2]])
    with store.reading() as transaction:
        log = list(transaction.events(number))
    says = f"event 2 of pool {number} is missing, found event 3"
    with pytest.raises(ServiceError, match=says):
        replay(number, log)


@pytest.mark.parametrize("kind", KINDS)
def test_an_event_that_cannot_be_read_is_named(kind):
    with pytest.raises(ServiceError, match=f"event 7 of pool 3 cannot be read.*'{kind}'"):
        unpack(3, 7, kind, '{"nonsense":1}')
    with pytest.raises(ServiceError, match="event 7 of pool 3 cannot be read"):
        unpack(3, 7, kind, "{")


def test_events_of_a_newer_pairup_are_named():
    with pytest.raises(ServiceError, match=r"'invented'.*newer pairup"):
        unpack(3, 7, "invented", "{}")


def test_an_event_that_cannot_have_happened_is_named():
    log = [*LOG, Recorded.of(4, 13, events.Joined([3], "waiting"))]
    for couple, says in (([2, 3], "player 2 is away, not waiting"), ([3, 4], r"KeyError\(4\)")):
        wrong = {"players": couple, "chance": None, "explores": False}
        event = events.Proposed(7, [wrong], [], None, [], 99, None, None, None)
        with pytest.raises(
            ServiceError, match=rf"event 5 of pool 3 \(proposed\) .*{says}.*damaged"
        ):
            replay(3, [*log, Recorded.of(5, 14, event)])


@pytest.mark.parametrize("error", [MemoryError, ZeroDivisionError])
def test_what_fails_when_it_happens_is_not_called_a_damaged_log(monkeypatch, error):
    pool = replay(3, LOG)

    def fail(*_):
        raise error

    monkeypatch.setattr(pool.learner, "join", fail)
    with pytest.raises(error):
        pool.apply(Recorded.of(4, 13, events.Joined([3], "waiting")))
    assert pool.head not in (head_of(LOG), START)  # it is the pool of no log any more


def test_events_are_written_the_same_way():
    for recorded in LOG:
        assert recorded.body.isascii()
        assert unpack(3, 1, recorded.event.kind, recorded.body) == recorded.event


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b"{}", b'{"head":[1,""]}', b"\xff"])
def test_a_snapshot_that_cannot_be_read_is_refused(monkeypatch, state):
    pool = replay(3, LOG)
    monkeypatch.setattr(snapshot, "durable_part", lambda _: state)
    body = write_snapshot(pool)
    with pytest.raises(SnapshotError, match=r"snapshot of pool 3 .*it cannot be read"):
        read_snapshot(3, pool.head, body)
