"""Every table and column that something follows from is verified, and can be repaired."""

import json
from functools import partial

import pytest
from typer.testing import CliRunner

from pairup.cli import app
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import write_snapshot
from pairup.service.maintenance.repair import find_remedies, repair
from pairup.service.maintenance.verify import verify
from tests.support.service.damage import change

ALL_PARTS = [
    ("UPDATE games SET state = 'played' WHERE state = 'proposed'", "records of games"),
    ("UPDATE games SET place = place + 2", "records of games"),
    ("UPDATE games SET chance = 0.123", "records of games"),
    ("UPDATE games SET one = other, other = one", "records of games"),
    ("UPDATE games SET answers = 'nonsense'", "records of games"),
    ("DELETE FROM games", "records of games"),
    ("DELETE FROM games WHERE state = 'played'", "records of games"),
    ("DELETE FROM games; DELETE FROM matchings", "records of matchings"),
    ("UPDATE matchings SET expires_at = expires_at + 1", "records of matchings"),
    ("UPDATE matchings SET waiting = '[]'", "records of matchings"),
    ("UPDATE matchings SET waiting = 'nonsense'", "records of matchings"),
    ("DELETE FROM players WHERE number = 2", "names are stored of 4 players"),
    ("UPDATE players SET number = 9 WHERE number = 2", "names are stored of 5 players up to 9"),
    ("INSERT INTO players SELECT pool, 9, name FROM players WHERE number = 2", "of 6 players"),
    ("UPDATE pools SET name = 'go'", "the name or the dates of the pool"),
    ("UPDATE pools SET created_at = created_at + 1", "the name or the dates of the pool"),
    ("UPDATE pools SET due_at = NULL", "the name or the dates of the pool"),
    ("UPDATE pools SET chain = '\\x00'", "one was replaced or edited"),
    ("UPDATE snapshots SET at = at + 1", "the snapshot after event"),
    ("UPDATE snapshots SET seq = seq - 1", "the snapshot of pool"),
    ("UPDATE snapshots SET chain = '\\x00'", "the snapshot of pool"),
    ("UPDATE snapshots SET body = '\\x00'", "the snapshot of pool"),
    ("UPDATE snapshots SET base = true", "is said to begin the log"),
    (
        "UPDATE idempotent_replies SET body = '\\x00'",
        "the reply stored for the idempotency key 'k'",
    ),
]


_SET_BODY = "UPDATE snapshots SET body = :body"


@pytest.fixture
def played(api):
    """A pool with two matchings, of which one is over, a snapshot and an idempotent reply."""
    api.pool(players="abcde")
    for game in api.propose()["games"]:
        api.report(game, "played")
    api("POST", "/v1/pools/chess/matchings", 201, headers={"Idempotency-Key": "k"})
    api.wait()
    api.restart()
    api.wait()
    assert {found.error for found in verify(api.service.store)} == {""}
    return api


@pytest.mark.parametrize(("damage", "says"), ALL_PARTS)
def test_whatever_differs_from_the_log_is_found_and_repaired(played, tmp_path, damage, says):
    before = played.json("GET", "/v1/pools/chess/digest")
    if "sqlite" in played.service.store.name:
        damage = damage.replace("'\\x00'", "x'00'")
    played.restart(meanwhile=lambda: change(played.database, *damage.split(";")))
    store = played.service.store
    findings = [finding for found in verify(store) for finding in found.findings]
    assert any(says in finding.what for finding in findings)
    assert all(remedy.can_be_done for remedy in find_remedies(store))
    repair(store, find_remedies(store), tmp_path / "rows.jsonl")
    assert {found.error for found in verify(store)} == {""}
    for line in (tmp_path / "rows.jsonl").read_text().splitlines():
        assert set(json.loads(line)) == {"table", "row"}
    played.restart()
    assert played.json("GET", "/v1/pools/chess/digest") == before


@pytest.mark.parametrize("extra", ["matchings", "games"])
def test_a_record_of_something_that_never_happened_is_found(played, extra):
    columns = {
        "matchings": "INSERT INTO matchings (pool, key, expires_at, waiting) "
        "SELECT pool, key + 9, expires_at, waiting FROM matchings ORDER BY key LIMIT 1",
        "games": "INSERT INTO games (pool, matching, place, one, other, state, learnt, late) "
        "SELECT pool, matching, 9, one, other, state, learnt, late FROM games LIMIT 1",
    }
    change(played.database, columns[extra])
    (found,) = verify(played.service.store)
    assert found.error == f"the records of {extra} differ from the log"


def test_a_snapshot_that_is_sealed_again_is_compared_with_the_log(played):
    store, number = played.service.store, played.service.pool_number("chess")
    with store.reading() as transaction:
        pool = replay(number, transaction.events(number))
    pool.counters.matchings += 1
    change(played.database, _SET_BODY, body=write_snapshot(pool))
    (found,) = verify(store)
    assert found.error == f"the snapshot after event {pool.seq} differs from the log"


def test_dates_that_run_backwards_are_found(played):
    change(played.database, "UPDATE events SET at = at - 1 WHERE seq = 4")
    (found,) = verify(played.service.store)
    assert "event 4 is dated before event 3" in found.error


def test_a_snapshot_that_is_said_to_begin_the_log_hides_nothing(played):
    change(played.database, "UPDATE snapshots SET base = true")
    change(played.database, "UPDATE events SET at = at - 1 WHERE seq = 4")
    (found,) = verify(played.service.store)
    assert "event 4 is dated before event 3" in found.error
    assert "is said to begin the log" in found.error


def test_one_changed_byte_of_a_snapshot_is_not_served(played):
    """The older snapshot or the log is used, with a warning and a metric."""
    before = played.json("GET", "/v1/pools/chess/digest")
    with played.service.store.reading() as transaction:
        (snapshot,) = transaction.snapshots(played.service.pool_number("chess"))
    for place in (0, len(snapshot.body) // 2, len(snapshot.body) - 1):
        body = bytearray(snapshot.body)
        body[place] ^= 1
        damaged = partial(change, played.database, _SET_BODY, body=bytes(body))
        played.restart(crash=True, meanwhile=damaged)
        assert played.json("GET", "/v1/pools/chess/digest") == before
        assert "pairup_snapshots_refused_total 1.0" in played("GET", "/metrics").text


def test_a_log_is_cut_only_if_that_is_asked_for(lone, tmp_path):
    lone.pool(players="abcd")
    lone.propose()
    lone.pool("sound", players="ab")
    lone.stop()
    change(lone.database, "UPDATE events SET kind = 'nonsense' WHERE pool = 1 AND seq = 4")
    command, copy = ["repair", "--database", lone.database], str(tmp_path / "rows.jsonl")
    said = CliRunner().invoke(app, [*command, "--json"])
    assert said.exit_code == 1
    (row,) = json.loads(said.stdout)
    assert "--cut chess" in row["remedy"]
    assert CliRunner().invoke(app, [*command, "--apply", "--copy", copy]).exit_code == 1
    lines = CliRunner().invoke(app, ["export", "chess", "--database", lone.database]).stdout
    assert [json.loads(line)["seq"] for line in lines.splitlines()] == [1, 2, 3, 4, 5, 6]
    (tmp_path / "rows.jsonl").unlink()
    done = CliRunner().invoke(app, [*command, "--apply", "--cut", "chess", "--copy", copy])
    assert done.exit_code == 0, done.output
    lone.start()
    assert lone.kinds() == ["created", "joined", "joined"]
    assert {found.error for found in verify(lone.service.store)} == {""}
    lone.join("c")
    lone.propose()


def test_a_sound_log_is_not_cut(lone):
    lone.pool(players="ab")
    done = CliRunner().invoke(app, ["repair", "--database", lone.database, "--cut", "chess"])
    assert done.exit_code == 2
    assert "need not be cut" in done.output
