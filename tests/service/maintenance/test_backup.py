"""Backups of both kinds of database, taken while they are served, and what they are good for."""

import sqlite3
import stat
import threading
from contextlib import closing

import pytest
from sqlalchemy import text

from pairup.errors import ServiceError
from pairup.service import api_keys
from pairup.service.maintenance.archive import archive
from pairup.service.maintenance.backup import back_up, restore
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store, copies
from tests.support.service.pools import Api


def events_of(database, pool="chess"):
    with closing(Store(database)) as store, store.reading() as transaction:
        return list(transaction.events(transaction.pool_named(pool).number))


@pytest.fixture
def served(api):
    """A service with a pool that has learnt, and a key."""
    api.pool(players="abcd")
    for game in api.propose()["games"]:
        api.report(game, "played")
    api_keys.create(api.service.store, "backend", {"*": "read"}, 1)
    return api


def test_a_backup_of_a_service_at_work_is_sound_and_can_be_served(served, tmp_path):
    file, stopping, joined = tmp_path / "copy.db", threading.Event(), []

    def work():
        while not stopping.is_set():
            joined.append(served.join(f"player-{len(joined)}").status_code)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        verdicts = back_up(served.service.store, file)
    finally:
        stopping.set()
        worker.join()
    assert [each.error for each in verdicts] == [""]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert set(joined) <= {201}
    log, copied = events_of(served.database), events_of(str(file))
    assert copied == log[: len(copied)]
    again = Api(str(file), served.clock)
    again.report(again.game(), "played")
    assert len(api_keys.list_keys(again.service.store)) == 1
    assert [each.error for each in verify(again.service.store)] == [""]
    again.stop()


def test_a_backup_is_restored_to_either_kind_of_database(served, database, tmp_path):
    file = tmp_path / "copy.db"
    back_up(served.service.store, file)
    before = file.read_bytes()
    other = database if database.startswith("postgres") else str(tmp_path / "restored.db")
    verdicts = restore(file, other)
    assert [each.error for each in verdicts] == [""]
    assert file.read_bytes() == before
    assert events_of(other) == events_of(served.database)
    again = Api(other, served.clock)
    again.pool("go", players="xyz")  # its number follows those that were copied
    again.report(again.game(), "played")
    assert {each.error for each in verify(again.service.store)} == {""}
    again.stop()
    with pytest.raises(ServiceError, match=r"exists already|has pools already"):
        restore(file, other)


def test_a_backup_replaces_nothing(lone, tmp_path):
    file = tmp_path / "copy.db"
    file.write_text("another thing")
    with pytest.raises(ServiceError, match="exists already: give another name"):
        back_up(lone.service.store, file)
    assert file.read_text() == "another thing"


def test_a_backup_of_an_unsound_database_says_so(lone, tmp_path):
    """It is a copy nevertheless: whoever repairs the database needs one first."""
    lone.pool(players="ab")
    lone.game()
    with lone.service.store._writer() as connection:
        connection.execute(text("UPDATE games SET state = 'played'"))
    (verdict,) = back_up(lone.service.store, tmp_path / "copy.db")
    assert "records of games differ" in verdict.error
    assert len(events_of(str(tmp_path / "copy.db"))) == 4


@pytest.mark.parametrize("place", ["made", "checked"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_backup_is_whole_if_events_are_archived_meanwhile(
    served, tmp_path, monkeypatch, place, beside
):
    """Before its rows are copied or after it; it never names the archives of the service."""
    store = served.service.store
    folder = None if beside and store.file else tmp_path / "archives"
    step = {"made": "_new_file", "checked": "_copy_archives"}[place]
    real = getattr(copies, step)

    def be_overtaken(*given, **options):
        monkeypatch.undo()
        (done,) = archive(store, served.clock.now() + 1, folder)
        assert (done.error, done.files) == ("", 1)
        return real(*given, **options)

    monkeypatch.setattr(copies, step, be_overtaken)
    file = tmp_path / "copy.db"
    assert [each.error for each in back_up(store, file)] == [""]
    with closing(sqlite3.connect(file)) as copy:
        named = copy.execute("SELECT folder, name FROM archives").fetchall()
    assert {each for each, _ in named} <= {None}
    assert len(named) == (place == "made")
    found = {each.name for each in (tmp_path / "copy.db.archive").glob("*")}
    assert found == {name for _, name in named}
    assert events_of(str(file)) == events_of(served.database)
