"""Archives: old events leave the database, and everything still follows from the log."""

import shutil
import signal
import stat
import time
from contextlib import closing
from pathlib import Path

import pytest

from pairup.errors import ServiceError
from pairup.service.domain.events import WallClock, format_moment
from pairup.service.maintenance import archive as archiving
from pairup.service.maintenance.archive import archive
from pairup.service.maintenance.backup import back_up
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from pairup.service.store.archive_files import read_archive
from tests.support.service.faults import archive_and_die
from tests.support.service.older_states import OlderState
from tests.support.service.pools import Api
from tests.support.service.processes import _FORKS
from tests.support.service.services import check_agreement, check_stored, services


def now():
    return time.time_ns() // 1_000


def sound(store):
    return {each.error for each in verify(store)} <= {""}


class History:
    """A pool with games from before a moment and after it."""

    def __init__(self, database, folder):
        self.api, self.folder = Api(database, WallClock()), folder
        self.api.pool(players="abcdef", lifetime_s=3600)
        self.old = [self.play() for _ in range(4)]
        self.open = self.api.propose(available=["a", "b"])["games"][0]
        time.sleep(0.001)
        self.cut = now()
        time.sleep(0.001)
        self.api.join("g")
        self.new = self.play(available=["c", "d", "e", "f"])

    def play(self, **wanted):
        matching = self.api.propose(**wanted)
        for game in matching["games"]:
            self.api.report(game, "played")
        return matching

    def archive(self, before=None):
        to = None if self.api.service.store.file else self.folder
        (done,) = archive(self.api.service.store, before or self.cut, to)
        return done


@pytest.fixture
def history(tmp_path):
    made = History(str(tmp_path / "pools.db"), None)
    yield made
    made.api.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_history(request, tmp_path):
    if request.param == "sqlite":
        database = str(tmp_path / "pools.db")
    else:
        database = request.getfixturevalue("postgres").emptied_database()
    made = History(database, tmp_path / "archives")
    yield made
    made.api.stop()


def count(api, table):
    with api.service.store._begin() as connection:
        return connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar()


def test_archived_events_are_still_the_log(any_history):
    api = any_history.api
    before = api.json("GET", "/v1/pools/chess/events?limit=1000")["events"]
    digest = api.json("GET", "/v1/pools/chess/digest")
    stored = count(api, "events")
    done = any_history.archive()
    assert done.error == ""
    assert done.events == sum(each["at"] < format_moment(any_history.cut) for each in before) > 20
    assert count(api, "events") == stored - done.events
    assert api.json("GET", "/v1/pools/chess/events?limit=1000")["events"] == before
    page = api.json("GET", f"/v1/pools/chess/events?after={done.events - 2}&limit=4")
    assert page["events"] == before[done.events - 2 : done.events + 2]  # across the cut
    assert page["next"]
    assert sound(api.service.store)
    for crash in (True, False):
        api.restart(crash=crash)
        assert api.json("GET", "/v1/pools/chess/digest") == digest
    any_history.play(available=["c", "d"])
    assert sound(api.service.store)
    again = any_history.archive()
    assert (again.events, again.games) == (0, 0)


def test_a_pool_whose_snapshots_are_gone_is_read_from_its_archive(history):
    api = history.api
    history.archive()
    digest = api.json("GET", "/v1/pools/chess/digest")
    api.service.close = api.service.store.close

    def lose_snapshots():
        with closing(Store(api.database)) as store, store._writer() as connection:
            connection.exec_driver_sql("DELETE FROM snapshots")

    api.restart(meanwhile=lose_snapshots)
    assert api.json("GET", "/v1/pools/chess/digest") == digest


def test_reports_of_archived_games_are_refused_and_others_taken(any_history):
    api = any_history.api
    done = any_history.archive()
    assert done.games == sum(len(each["games"]) for each in any_history.old)
    old = any_history.old[0]
    gone = old["games"][0]["id"]
    for method, path in (
        ("GET", f"/v1/games/{gone}"),
        ("PUT", f"/v1/games/{gone}/outcome"),
        ("GET", f"/v1/matchings/{old['id']}"),
    ):
        body = {"json": {"outcome": "played"}} if method == "PUT" else {}
        problem = api(method, path, 410, **body).json()
        assert problem["type"] == "/problems/archived"
        assert "in an archive" in problem["detail"]
    sent = {"outcomes": [{"game": gone, "outcome": "played"}]}
    (result,) = api.json("POST", "/v1/pools/chess/outcomes", json=sent)["results"]
    assert result["problem"]["type"] == "/problems/archived"
    assert (
        api.report(any_history.open, "played")["result"] == "learnt"
    )  # proposed before, still open
    assert api.report(any_history.new["games"][0], "played")["result"] == "repeated"
    assert sound(api.service.store)


def test_a_damaged_or_missing_archive_is_reported(history):
    api = history.api
    history.archive()
    store = api.service.store
    (file,) = (store.archive_folder or history.folder).iterdir()
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    read_archive.cache_clear()
    (verdict,) = verify(store)
    assert "differs from its checksum" in verdict.error
    file.unlink()
    read_archive.cache_clear()
    problem = api("GET", "/v1/pools/chess/events", 503).json()
    assert problem["type"] == "/problems/store-unavailable"
    assert file.name in problem["detail"]
    api("GET", "/v1/pools/chess", 200)
    file.write_bytes(content)
    read_archive.cache_clear()
    assert sound(store)


def test_the_file_shrinks_and_archives_are_private(tmp_path):
    file = tmp_path / "pools.db"
    history = History(str(file), None)
    for _ in range(20):
        history.play(available=["c", "d", "e", "f"])
    history.api.restart()
    before = file.stat().st_size
    done = history.archive(now())
    assert done.bytes < before / 4
    assert file.stat().st_size < before
    folder = tmp_path / "pools.db.archive"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in folder.iterdir()} == {0o600}
    history.api.stop()


def test_a_backup_has_its_archives_beside_it(any_history, tmp_path):
    any_history.archive()
    verdicts = back_up(any_history.api.service.store, tmp_path / "copy.db")
    assert [each.error for each in verdicts] == [""]
    assert len(list((tmp_path / "copy.db.archive").iterdir())) == 1


def test_a_server_needs_a_folder(postgres):
    with (
        closing(Store(postgres.new_database())) as store,
        pytest.raises(ServiceError, match="give --to FOLDER"),
    ):
        archive(store, now())


def test_an_unsound_pool_is_left_alone(history):
    api = history.api
    with api.service.store._writer() as connection:
        connection.exec_driver_sql("UPDATE games SET state = 'expired'")
    stored = count(api, "events")
    done = history.archive()
    assert "records of games differ" in done.error
    assert count(api, "events") == stored


def test_a_run_that_is_killed_loses_nothing_and_is_done_by_the_next(tmp_path):
    """Killed before or after a sync of a file (1 to 4) or a commit (-1 to -4)."""
    history = History(str(tmp_path / "pools.db"), None)
    history.api.stop()
    log = _log(tmp_path / "pools.db")
    for step in (1, 2, 4, -1, -2, -3, -4):
        folder = tmp_path / str(step)
        folder.mkdir()
        file = Path(shutil.copy(tmp_path / "pools.db", folder / "pools.db"))
        run = _FORKS.Process(target=archive_and_die, args=(str(file), history.cut, step))
        run.start()
        run.join(60)
        assert run.exitcode == -signal.SIGKILL, step
        assert _log(file) == log
        with closing(Store(str(file))) as store:
            (done,) = archive(store, history.cut)
            assert done.error == ""
            assert sound(store)
        assert _log(file) == log
        (archived,) = (folder / "pools.db.archive").iterdir()
        assert archived.name.endswith(".jsonl.gz")


def _log(file):
    with closing(Store(str(file))) as store, store.reading() as transaction:
        return transaction.raw_events(transaction.pool_named("chess").number, 0, 1_000)


@pytest.mark.parametrize("step", ["verify_pool", "find_base", "write_archive"])
@pytest.mark.parametrize("refill", [0, 4, 9])
def test_a_log_that_is_replaced_while_it_is_archived_is_left_alone(
    database, tmp_path, monkeypatch, step, refill
):
    """By one that is shorter than what was read, as long, or longer; its games are kept too."""
    with services(database) as (one, other):
        one.create_pool("chess", {"policy": "unimodal"})
        one.put_players("chess", [("ann", "waiting"), ("bob", "waiting")])
        other.show_pool("chess")
        folder = tmp_path / "archives"
        with closing(OlderState(database, folder)) as state:
            one.propose("chess")
            for number in range(3):
                one.put_player("chess", f"lost-{number}", "waiting")
            done = getattr(archiving, step)

            def be_replaced(*given):
                found = done(*given)
                monkeypatch.undo()
                state.put_back()
                other.release("chess", other.propose("chess").view["id"])
                for number in range(refill):
                    other.put_player("chess", f"kept-{number}", "waiting")
                return found

            monkeypatch.setattr(archiving, step, be_replaced)
            before = one.clock.now() + 1_000
            (refused,) = archive(one.store, before, folder)
        assert "was replaced while it was read" in refused.error
        assert (refused.events, refused.games) == (0, 0)
        assert not folder.exists() or list(folder.iterdir()) == []
        check_stored(one.store)
        for service in (one, other):
            check_agreement(service, "chess")
        (again,) = archive(one.store, before, folder)
        assert (again.error, again.events) == ("", refill + 4)
        check_stored(one.store)


def test_a_log_that_goes_on_while_it_is_archived_is_archived(database, tmp_path, monkeypatch):
    with services(database) as (one, other):
        one.create_pool("chess", {"policy": "unimodal"})
        one.put_player("chess", "ann", "waiting")
        write = archiving.write_archive

        def be_overtaken(*given):
            other.put_player("chess", "bob", "waiting")
            return write(*given)

        monkeypatch.setattr(archiving, "write_archive", be_overtaken)
        (done,) = archive(one.store, one.clock.now(), tmp_path / "archives")
        assert (done.error, done.events) == ("", 2)
        check_stored(one.store)
