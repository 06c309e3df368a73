"""Backups that someone has tampered with: nothing is written, and nothing is read outside."""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pairup.cli import app
from pairup.errors import ServiceError
from pairup.service.maintenance.archive import archive, drop_archives
from pairup.service.maintenance.backup import back_up, restore
from pairup.service.store import Store
from tests.support.service.services import check_stored, services

VICTIM = b"keep = this\n"


@pytest.fixture(scope="module")
def backup(tmp_path_factory):
    """A backup with an archive beside it, which nobody has touched."""
    folder = tmp_path_factory.mktemp("served")
    with services(str(folder / "pools.db"), 1) as (service,):
        service.create_pool("chess", {})
        service.put_players("chess", [(player, "waiting") for player in "abcd"])
        service.propose("chess")
        before = service.clock.now()
        service.put_player("chess", "e", "waiting")
        (done,) = archive(service.store, before)
        assert done.files == 1
        assert {each.error for each in back_up(service.store, folder / "copy.db")} == {""}
    return folder / "copy.db"


@pytest.fixture
def place(backup, tmp_path):
    """A folder with a copy of the backup, a file to hit, and one to restore into."""
    (tmp_path / "in").mkdir()
    shutil.copy(backup, tmp_path / "in" / "copy.db")
    shutil.copytree(f"{backup}.archive", tmp_path / "in" / "copy.db.archive")
    (tmp_path / "out").mkdir()
    for each in (tmp_path / "victim.conf", tmp_path / "out" / "victim.conf"):
        each.write_bytes(VICTIM)
    return tmp_path


def tamper(place, **columns):
    """Change the row of the archive."""
    with closing(sqlite3.connect(place / "in" / "copy.db")) as connection:
        for column, value in columns.items():
            connection.execute(f"UPDATE archives SET {column} = ?", (value,))
        connection.commit()


def archived(place):
    (file,) = (place / "in" / "copy.db.archive").iterdir()
    return file


def put_archive(place, target):
    """Put the archive somewhere, as an attacker does who wants it to be found there."""
    target.write_bytes(archived(place).read_bytes())


def name_elsewhere(place):
    tamper(place, name="../victim.conf")
    put_archive(place, place / "in" / "victim.conf")


def name_absolutely(place):
    tamper(place, name=str(place / "victim.conf"))


def name_a_folder_of_the_system(place):
    (file,) = (each for each in Path("/etc").iterdir() if each.name == "passwd")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    tamper(place, folder="/etc", name="passwd", sha256=digest)


def name_another_folder(place):
    put_archive(place, place / archived(place).name)
    tamper(place, folder=str(place))


def name_a_folder_up(place):
    tamper(place, name=f"../{archived(place).name}")
    put_archive(place, place / "in" / archived(place).name)


def change_the_checksum(place):
    tamper(place, sha256="0" * 64)


def change_the_archive(place):
    content = archived(place).read_bytes()
    archived(place).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def link_the_archive(place):
    file, elsewhere = archived(place), place / "elsewhere"
    put_archive(place, elsewhere)
    file.unlink()
    file.symlink_to(elsewhere)


def take_the_archive_away(place):
    archived(place).unlink()


def edit_the_log(place):
    with closing(sqlite3.connect(place / "in" / "copy.db")) as connection:
        connection.execute("DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)")
        connection.commit()


def name_a_dropped_one_elsewhere(place):
    tamper(place, name="../victim.conf", dropped_at=1)


def name_a_folder_of_a_dropped_one(place):
    tamper(place, folder=str(place), dropped_at=1)


TAMPERED = [
    name_elsewhere,
    name_absolutely,
    name_a_folder_of_the_system,
    name_another_folder,
    name_a_folder_up,
    change_the_checksum,
    change_the_archive,
    link_the_archive,
    take_the_archive_away,
    edit_the_log,
    name_a_dropped_one_elsewhere,
    name_a_folder_of_a_dropped_one,
]


def listing(place):
    """Return all files with their content, and where links lead."""
    return {
        str(path.relative_to(place)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in place.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize("tampering", TAMPERED)
def test_a_tampered_backup_is_refused_and_nothing_is_written(place, tampering):
    tampering(place)
    before = listing(place)
    target = place / "out" / "pools.db"
    done = CliRunner().invoke(
        app, ["restore", str(place / "in" / "copy.db"), "--database", str(target)]
    )
    assert done.exit_code == (1 if tampering is edit_the_log else 2), done.output
    assert isinstance(done.exception, SystemExit)
    assert listing(place) == before
    assert [each.name for each in (place / "out").iterdir()] == ["victim.conf"]


@pytest.mark.parametrize("tampering", [name_elsewhere, change_the_archive, edit_the_log])
def test_a_tampered_backup_leaves_an_empty_server_empty(place, postgres, tampering):
    tampering(place)
    before, database = listing(place), postgres.new_database()
    try:
        verdicts = restore(place / "in" / "copy.db", database)
        assert any(each.error for each in verdicts)
    except ServiceError:
        assert tampering is not edit_the_log
    assert listing(place) == before
    with closing(Store(database)) as store, store.reading() as transaction:
        assert transaction.pool_numbers() == []


def test_a_backup_that_nobody_touched_is_restored(place, postgres):
    before, target = listing(place / "in"), place / "out" / "pools.db"
    for database in (str(target), postgres.new_database()):
        assert [each.error for each in restore(place / "in" / "copy.db", database)] == [""]
        with closing(Store(database)) as store:
            check_stored(store)
    assert listing(place / "in") == before
    found = {each.name for each in (place / "out").iterdir()}
    assert found == {"pools.db", "pools.db.archive", "victim.conf"}
    assert (place / "victim.conf").read_bytes() == VICTIM


def test_a_failed_restore_does_not_disturb_what_is_there(place):
    """A database, or the archives of one that is gone, keep what they have."""
    (place / "out" / "pools.db.archive").mkdir()
    (place / "out" / "pools.db.archive" / "kept").write_bytes(b"kept")
    before = listing(place)
    with pytest.raises(ServiceError, match="exists already"):
        restore(place / "in" / "copy.db", str(place / "out" / "pools.db"))
    assert listing(place) == before


def test_dropping_archives_deletes_nothing_but_archives(place):
    """Also where the row of an archive was changed in the database that is served."""
    target = place / "out" / "pools.db"
    restore(place / "in" / "copy.db", str(target))
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("UPDATE archives SET name = '../victim.conf', dropped_at = 1")
        connection.commit()
    with closing(Store(str(target))) as store, pytest.raises(ServiceError, match=r"victim\.conf"):
        drop_archives(store, 2**62, 1)
    assert (place / "out" / "victim.conf").read_bytes() == VICTIM
