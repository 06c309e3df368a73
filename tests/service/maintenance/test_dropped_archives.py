"""Archives that were deleted on purpose: recorded, and everything works without them."""

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pairup.cli import app
from pairup.service.domain.events import SECOND
from pairup.service.maintenance.archive import archive, drop_archives
from pairup.service.maintenance.backup import back_up, restore
from pairup.service.maintenance.repair import find_remedies, repair
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from pairup.service.store.archive_files import read_archive
from tests.support.service.damage import change
from tests.support.service.pools import Api
from tests.support.service.services import TickingClock, check_agreement, check_stored

DAY = 86_400
EVENTS = "/v1/pools/chess/events"


class History:
    """A pool that was archived on each of some days, and lives on."""

    def __init__(self, database, folder, days=2):
        self.api = Api(database, TickingClock())
        self.folder = None if self.api.service.store.file else folder
        self.api.pool(players="abcdef", lifetime_s=30 * DAY)
        self.late = self.api.propose(available=["a", "b"])["games"][0]  # stays open
        self.moments = []
        for _ in range(days):
            self.play()
            self.api.clock.advance(DAY)
            self.moments.append(self.api.clock.now())
            self.play()
            assert self.archive(self.moments[-1]).files == 1

    @property
    def store(self):
        return self.api.service.store

    @property
    def files(self):
        return sorted((self.folder or self.store.archive_folder).iterdir())

    def play(self):
        for _ in range(3):
            games = self.api.propose(available=["c", "d", "e", "f"])["games"]
            for game in games:
                self.api.report(game, "played")
        return games

    def archive(self, before):
        (done,) = archive(self.store, before, self.folder)
        assert done.error == ""
        return done

    def drop(self, before):
        (done,) = drop_archives(self.store, before, self.api.clock.now())
        read_archive.cache_clear()  # as another process has not read them either
        return done

    def check(self):
        check_agreement(self.api.service, "chess")
        check_stored(self.store)


@pytest.fixture
def history(database, tmp_path):
    made = History(database, tmp_path / "archives")
    yield made
    made.api.stop()


def test_archives_of_a_damaged_pool_are_not_dropped(history):
    """They may be needed to repair it."""
    change(
        history.api.database, "UPDATE events SET at = 0 WHERE seq = (SELECT max(seq) FROM events)"
    )
    dropped = history.drop(history.moments[0])
    assert dropped.error
    assert (dropped.files, len(history.files)) == (0, 2)
    moment = datetime.fromtimestamp(history.moments[0] / SECOND, UTC).strftime("%Y-%m-%d")
    command = ["archive", "--drop-before", moment, "--database", history.api.database]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1, done.output
    assert len(history.files) == 2


def remove_by_hand(history):
    """Delete the earlier archive, as the file of a system administrator's script."""
    history.files[0].unlink()


@pytest.mark.parametrize("before", [lambda history: None, remove_by_hand])
def test_everything_works_without_archives_that_were_dropped(history, before, tmp_path):
    before(history)
    api, digest = history.api, history.api.json("GET", "/v1/pools/chess/digest")
    dropped = history.drop(history.moments[0])
    assert (dropped.pool, dropped.files) == ("chess", 1)
    assert len(history.files) == 1
    history.check()
    page = api.json("GET", f"{EVENTS}?limit=1000")
    assert page["first"] == dropped.events + 1 == page["events"][0]["seq"]
    assert [each["seq"] for each in page["events"]] == [*range(page["first"], digest["seq"] + 1)]
    assert api.json("GET", f"{EVENTS}?after=3&limit=2")["events"] == page["events"][:2]
    for crash in (True, False):
        api.restart(crash=crash)
        api.wait()
        assert api.json("GET", "/v1/pools/chess/digest") == digest
    history.check()
    copy = tmp_path / "copy.db"
    assert [each.error for each in back_up(history.store, copy)] == [""]
    assert len(list((tmp_path / "copy.db.archive").iterdir())) == 1
    assert [each.error for each in restore(copy, str(tmp_path / "again.db"))] == [""]
    assert api.report(history.late, "played")["result"] == "learnt"
    history.play()
    api.clock.advance(DAY)
    history.play()
    assert history.archive(api.clock.now()).files == 1
    history.check()


def test_all_archives_can_be_dropped(history, postgres, tmp_path):
    history.drop(history.moments[1])
    assert history.files == []
    history.check()
    again = history.drop(history.moments[1])
    assert (again.files, again.events) == (0, 0)
    copy = tmp_path / "copy.db"
    assert [each.error for each in back_up(history.store, copy)] == [""]
    for database in (str(tmp_path / "again.db"), postgres.new_database()):
        assert [each.error for each in restore(copy, database)] == [""]
        with closing(Store(database)) as store:
            check_stored(store)
    history.play()
    history.api.restart(crash=True)
    history.api.wait()
    history.check()


@pytest.fixture
def brief_history(tmp_path):
    made = History(str(tmp_path / "pools.db"), None, days=1)
    yield made
    made.api.stop()


def test_what_was_not_dropped_is_verified_also_before_the_snapshot_that_begins(brief_history):
    history = brief_history
    history.drop(history.moments[0])
    first = history.api.json("GET", EVENTS)["first"]
    history.check()
    change(history.api.database, f"DELETE FROM events WHERE seq = {first + 1}")
    (found,) = verify(history.store)
    assert f"event {first + 1} is missing" in found.error


def test_files_that_a_killed_run_left_are_deleted_by_the_next(history, monkeypatch):
    def die(path, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", die)
        with pytest.raises(KeyboardInterrupt):
            history.drop(history.moments[0])
    assert len(history.files) == 2
    history.check()
    history.drop(history.moments[0])
    assert len(history.files) == 1
    history.check()


def test_an_archive_that_is_missing_without_a_record_is_reported(history):
    remove_by_hand(history)
    read_archive.cache_clear()
    problem = history.api("GET", EVENTS, 503).json()
    assert "pairup archive --drop-before" in problem["detail"]
    history.drop(history.moments[0])
    history.api("GET", EVENTS, 200)


def test_the_command_drops_archives_while_the_service_runs(history):
    moment = datetime.fromtimestamp(history.moments[0] // SECOND, UTC)
    given = f"{moment:%Y-%m-%dT%H:%M:%S}"
    command = ["archive", "--drop-before", given, "--database", history.api.database]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "chess" in done.output
    assert len(history.files) == 1
    read_archive.cache_clear()
    assert history.api.json("GET", EVENTS)["first"] > 1
    history.play()
    history.check()


def test_reports_of_games_whose_archive_was_dropped_are_refused_as_before(history):
    api = history.api
    games = history.play()
    history.play()  # the latest records of all are kept
    history.archive(api.clock.now())
    history.drop(api.clock.now())
    assert api("GET", f"/v1/games/{games[0]['id']}").status_code == 410
    sent = {"outcomes": [{"game": game["id"], "outcome": "played"} for game in games]}
    results = api.json("POST", "/v1/pools/chess/outcomes", json=sent)["results"]
    assert {each["problem"]["type"] for each in results} == {"/problems/archived"}
    history.check()


def test_archives_of_a_deleted_pool_can_be_dropped(history):
    """Its last events are in them."""
    api = history.api
    api("DELETE", "/v1/pools/chess", 204)
    history.archive(api.clock.now())
    history.drop(api.clock.now())
    assert history.files == []
    check_stored(history.store)
    api.pool(players="ab")
    check_agreement(api.service, "chess")
    check_stored(history.store)


NOTHING = "UPDATE snapshots SET body = :nothing"


@pytest.mark.parametrize(
    ("damage", "part"),
    [("UPDATE matchings SET expires_at = 5", "games"), (f"{NOTHING} WHERE base", "base")],
)
def test_damage_from_before_the_log_begins_is_found_and_repaired(history, tmp_path, damage, part):
    """By what a later snapshot and the log still tell."""
    history.drop(history.moments[1])
    history.play()
    history.api.restart()
    history.api.wait()
    digest = history.api.json("GET", "/v1/pools/chess/digest")
    values = {"nothing": b"nothing"} if ":" in damage else {}
    history.api.restart(meanwhile=lambda: change(history.api.database, damage, **values))
    remedies = find_remedies(history.store)
    assert part in {each.finding.part for each in remedies}
    assert all(each.can_be_done for each in remedies)
    repair(history.store, remedies, tmp_path / "rows.jsonl")
    history.check()
    assert history.api.json("GET", "/v1/pools/chess/digest") == digest
    assert history.api.report(history.late, "played")["result"] == "learnt"
    history.check()


def test_a_log_without_a_snapshot_to_begin_with_is_not_to_be_cut(history):
    history.drop(history.moments[1])
    damage = lambda: change(history.api.database, NOTHING, nothing=b"nothing")  # noqa: E731
    history.api.restart(meanwhile=damage)
    (found,) = verify(history.store)
    assert "neither that nor a later one can be read" in found.error
    (remedy,) = find_remedies(history.store)
    assert remedy.says == "restore a copy of the database, or delete the pool"
