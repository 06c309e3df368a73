"""Erasing a player: nothing that is stored says who it was, and everything goes on."""

import gzip
import json
import sqlite3
import zlib
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from pairup import RankOneThompson, Unimodal
from pairup.cli import app
from pairup.errors import ServiceError
from pairup.service.domain.imports import loaded
from pairup.service.domain.snapshot import durable_part, read_snapshot
from pairup.service.maintenance.archive import archive
from pairup.service.maintenance.backup import back_up, restore
from pairup.service.pools.idempotency import KeyedRequest
from pairup.service.store import Store, tables
from pairup.service.store.event_log import decode_body
from tests.support.service.pools import Api
from tests.support.service.services import (
    TickingClock,
    check_agreement,
    check_stored,
    keyed,
    players_of,
    services,
)

NAME = "Wolfeschlegelsteinhausenbergerdorff"
PIECES = [NAME[start : start + 8].encode() for start in range(len(NAME) - 7)]
OTHERS = ("ann", "bob", "eve")
PLAYERS = "/v1/pools/chess/players"


class Life:
    """A pool in which the name of a player got wherever a name can get."""

    def __init__(self, database, folder):
        self.api, self._keys = Api(database, TickingClock()), 0
        self.folder = None if self.api.service.store.file else folder
        self.api.pool(players=[NAME, *OTHERS], keep_records=True, policy="rank_one_thompson")
        self.load_a_learner()
        self.import_games()
        self.change_players()
        self.play()

    def post(self, path, status, body):
        self._keys += 1
        headers = {"Idempotency-Key": f"key-{self._keys}"}
        return self.api("POST", path, status, json=body, headers=headers).json()

    def load_a_learner(self):
        learner = RankOneThompson().learner([NAME, *OTHERS], seed=1)
        learner.learn([(NAME, "ann"), ("bob", "eve")], played=[True, False])
        self.api("PUT", "/v1/pools/chess/learner", 200, content=learner.to_bytes())

    def import_games(self):
        sent = {"rows": 1, "players": [NAME, "ann"], "player_a": [0], "player_b": [1]}
        path = "/v1/pools/chess/imports/source/rows/0"
        self.api("PUT", path, 200, json={**sent, "played": [True]})

    def change_players(self):
        twice = [{"player": NAME, "status": "away"}, {"player": NAME, "status": "waiting"}]
        results = self.post(PLAYERS, 200, {"players": twice})["results"]
        assert [each["result"] for each in results] == ["moved", "refused"]
        self.api("DELETE", f"{PLAYERS}/{NAME}", 204)  # whose record is kept
        self.post(PLAYERS, 200, {"players": [{"player": NAME, "status": "waiting"}]})

    def play(self):
        body = {"available": [NAME, "ann", "gone"], "unknown": "skip", "apart": [["bob", "eve"]]}
        self.games = [self.post("/v1/pools/chess/matchings", 201, body)["games"][0]]
        (game,) = self.games
        said = {NAME: "accepted", "ann": "declined"}
        sent = [
            {"game": game["id"], "answers": said},
            {"game": game["id"], "outcome": "played"},  # contradicts
            {"game": game["id"], "answers": {NAME: "accepted", "bob": "accepted"}},  # not bob's
        ]
        results = self.post("/v1/pools/chess/outcomes", 200, {"outcomes": sent})["results"]
        assert [each["result"] for each in results] == ["learnt", "refused", "refused"]
        for wanted in ([NAME, "bob"], ["ann", "eve"]):
            matching = self.post("/v1/pools/chess/matchings", 201, {"available": wanted})
            self.games += matching["games"]
        body = {"available": [NAME, "eve"], "unknown": "skip"}
        self.post("/v1/pools/chess/matchings", 409, body)

    def archive(self):
        self.api.clock.advance(86_400)
        self.api.join("fay")
        (done,) = archive(self.api.service.store, self.api.clock.now(), self.folder)
        assert (done.error, done.files) == ("", 1)

    def copy(self, file):
        assert {each.error for each in back_up(self.api.service.store, file)} == {""}
        return file


@pytest.fixture
def life(database, tmp_path):
    made = Life(database, tmp_path / "archives")
    yield made
    made.api.stop()


@pytest.fixture
def lone_life(tmp_path):
    made = Life(str(tmp_path / "pools.db"), None)
    yield made
    made.api.stop()


def stored(store):
    """Return all that a database holds, unpacked, as one text for each row."""
    found = []
    with store._begin() as connection:
        for table in tables.metadata.sorted_tables:
            for row in connection.execute(select(table)):
                texts = [str(value) for name, value in row._mapping.items() if name != "body"]
                found.append(" ".join([*texts, _unpacked(table.name, row._mapping.get("body"))]))
    return found


def _unpacked(table, body):
    if body is None:
        return ""
    return _unpacked_snapshot(body) if table == "snapshots" else decode_body(body)


def _unpacked_snapshot(body):
    _, header, rest = body.split(b"\n", 2)
    texts = []
    for size in json.loads(header)["sizes"]:
        texts.append(zlib.decompress(rest[:size]))
        rest = rest[size:]
    return b"".join(texts).decode("latin-1")


def naming(texts, name=NAME):
    return [text for text in texts if name in text]


def archives_of(life):
    folder = life.folder or life.api.service.store.archive_folder
    return [gzip.decompress(path.read_bytes()).decode() for path in folder.iterdir()]


def test_before_it_is_erased_a_name_is_found(life):
    """Otherwise the tests below would search in the wrong place."""
    found = naming(stored(life.api.service.store))
    assert len(found) >= 6
    assert naming([str(life.api.json("GET", "/v1/pools/chess/events?limit=1000"))])


def test_the_log_and_its_archives_never_had_the_name(life):
    """Players are numbers there: what is archived need not be found and changed."""
    life.archive()
    assert naming(archives_of(life)) == []
    with life.api.service.store.reading() as transaction:
        row = transaction.pool_named("chess")
        log = [each.body for each in transaction.raw_events(row.number, 0, 1_000)]
        saved = [
            read_snapshot(row.number, each.head, each.body)
            for each in transaction.snapshots(row.number)
        ]
        learners = [
            loaded(each.event).players
            for each in transaction.events(row.number)
            if each.event.kind == "loaded"
        ]
    assert naming(log) == []
    assert saved
    assert naming(durable_part(each).decode("latin-1") for each in saved) == []
    learners += [each.learner.players for each in saved]  # which are compressed
    assert {type(player) for players in learners for player in players} == {int}


@pytest.mark.parametrize("archived", [False, True])
def test_nothing_that_is_stored_names_an_erased_player(life, tmp_path, archived):
    if archived:
        life.archive()
    api = life.api
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    assert naming(stored(api.service.store)) == []
    shown = [
        api("GET", f"/v1/pools/chess{path}", 200).text
        for path in ("", "/players", "/events?limit=1000", "/stats", "/estimates")
    ]
    assert naming(shown) == []
    for game in life.games:
        assert naming([api("GET", f"/v1/games/{game['id']}").text]) == []
    check_agreement(api.service, "chess")
    check_stored(api.service.store)
    copy = life.copy(tmp_path / "copy.db")
    with closing(Store(str(copy))) as store:
        assert naming(stored(store)) == []
    assert restore(copy, str(tmp_path / "again.db"))[0].error == ""
    api.restart(crash=True)
    api.wait()
    check_agreement(api.service, "chess")
    assert naming([api("GET", "/v1/pools/chess/events?limit=1000").text]) == []


@pytest.mark.parametrize("archived", [False, True])
def test_no_byte_of_the_files_of_sqlite_names_an_erased_player(lone_life, tmp_path, archived):
    """Neither free pages nor the write-ahead log, nor the answers as they were compressed."""
    crowd = [{"player": f"player-{number}", "status": "away"} for number in range(300)]
    lone_life.post(PLAYERS, 200, {"players": crowd})  # until pages of the table are full
    if archived:
        lone_life.archive()
    with closing(sqlite3.connect(tmp_path / "pools.db")) as connection:
        answers = [body for (body,) in connection.execute("SELECT body FROM idempotent_replies")]
    named = [each for each in answers if NAME in decode_body(each)]
    # Pieces of them, as a part may be overwritten.
    packed = [each[start : start + 16] for each in named for start in range(9, len(each) - 16, 16)]
    assert len(named) >= 4
    assert all(piece in content(tmp_path) for piece in (*PIECES, packed[0]))
    lone_life.api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    lone_life.copy(tmp_path / "copy.db")
    for _ in range(2):
        left = content(tmp_path)
        assert not [piece for piece in PIECES if piece in left]
        assert not [each for each in packed if each in left]
        lone_life.api.stop()
    check_files(tmp_path)


def content(folder):
    """Return all bytes of all files of databases and archives."""
    return b"\0".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )


def check_files(folder):
    for file in ("pools.db", "copy.db"):
        with closing(Store(str(folder / file))) as store:
            check_stored(store)


def test_a_process_beside_the_one_that_erases_forgets_the_name_too(life):
    """The command line erases while the service runs."""
    api = life.api
    api("GET", f"{PLAYERS}/{NAME}", 200)
    command = ["erase", NAME, "--pool", "chess", "--database", api.database]
    for _ in range(2):  # the second time it is not there any more
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    api("GET", f"{PLAYERS}/{NAME}", 404)
    assert naming([api("GET", "/v1/pools/chess/events?limit=1000").text]) == []
    assert naming([api("GET", "/v1/pools/chess/estimates").text]) == []
    check_agreement(api.service, "chess")


def test_erasing_in_a_pool_that_does_not_exist_is_a_user_error(life):
    command = ["erase", NAME, "--pool", "go", "--database", life.api.database]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "no pool is called 'go'" in done.output


def test_an_erased_player_who_joins_again_is_another_one(life):
    api = life.api
    old = api.json("GET", f"/v1/games/{life.games[0]['id']}")["players"]
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    assert api.join(NAME).status_code == 201
    erased = api.json("GET", f"/v1/games/{life.games[0]['id']}")["players"]
    assert [each.startswith("erased:") for each in erased] == [each == NAME for each in old]
    known = api.json("GET", "/v1/pools/chess/estimates")["couples"]
    assert not [each for each in known if NAME in each["players"]]
    api("DELETE", f"{PLAYERS}/{NAME}", 204)
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    assert naming(stored(api.service.store)) == []
    check_stored(api.service.store)


def test_a_request_that_is_sent_again_is_refused_after_its_answer_was_erased(life):
    """It is not carried out again, and nothing tells whom it was about."""
    api = life.api
    body, key = {"players": [{"player": NAME, "status": "away"}]}, {"Idempotency-Key": "again"}
    api("POST", PLAYERS, 200, json=body, headers=key)
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    before = api.kinds()
    again = api("POST", PLAYERS, 410, json=body, headers=key)
    assert again.json()["type"] == "/problems/reply-erased"
    assert naming([again.text]) == []
    assert api.kinds() == before
    api("GET", f"{PLAYERS}/{NAME}", 404)


def test_answers_that_do_not_name_the_player_stay_as_they_are(life):
    """Also where parts of words, or of other names, are the same."""
    api, name = life.api, "joi"
    api.join(name)
    body = {"players": [{"player": "joiner", "status": "away"}]}
    key = {"Idempotency-Key": "other"}
    kept = api("POST", PLAYERS, 200, json=body, headers=key)
    assert kept.json()["results"][0]["result"] == "joined"
    api("DELETE", f"{PLAYERS}/{name}?erase=true", 204)
    again = api("POST", PLAYERS, 200, json=body, headers=key)
    assert again.text == kept.text
    assert again.headers["idempotent-replay"] == "true"


@pytest.mark.parametrize("word", ["id", "players", "joined", "result"])
def test_a_player_may_be_called_like_a_word_of_an_answer(life, word):
    """An answer is erased as a whole: none is left with other words than were sent."""
    api, key = life.api, {"Idempotency-Key": "odd"}
    api.join(word)
    sent = {"available": ["ann", "bob"], "unknown": "skip"}
    for game in life.games:
        api("PUT", f"/v1/games/{game['id']}/outcome", json={"outcome": "cancelled"})
    kept = api("POST", "/v1/pools/chess/matchings", 201, json=sent, headers=key)
    api("DELETE", f"{PLAYERS}/{word}?erase=true", 204)
    again = api("POST", "/v1/pools/chess/matchings", json=sent, headers=key)
    if word in ("id", "players"):  # keys of the reply
        assert again.status_code == 410
    else:
        assert (again.status_code, again.text) == (201, kept.text)


def test_many_answers_are_searched_without_keeping_writers_out(life, monkeypatch):
    api, written = life.api, []
    for number in range(250):  # more than two pages
        body = {"players": [{"player": f"player-{number}", "status": "away"}]}
        api("POST", PLAYERS, 200, json=body, headers={"Idempotency-Key": f"many-{number}"})
    body = {"players": [{"player": NAME, "status": "away"}]}
    api("POST", PLAYERS, 200, json=body, headers={"Idempotency-Key": "z"})
    writing = api.service.store.writing

    @contextmanager
    def watched(*given, **options):
        with writing(*given, **options) as transaction:
            monkeypatch.setattr(transaction, "replies_about", written.append, raising=True)
            yield transaction

    monkeypatch.setattr(api.service.store, "writing", watched)
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    assert not written
    assert naming(stored(api.service.store)) == []
    assert len(naming(stored(api.service.store), "player-2")) >= 50


def test_an_answer_that_is_kept_at_the_same_moment_is_erased_too(database, monkeypatch):
    """By another process; the request adds no event, so the log is the same after it."""
    keep, tried = KeyedRequest.keep, []
    with services(database, wait_s=1.0) as (one, other):
        one.create_pool("chess", {})
        one.put_player("chess", NAME, "waiting")
        other.show_pool("chess")

        def keep_late(*given):
            if not tried:
                tried.append(one)
                with suppress(ServiceError):  # that others are writing
                    one.erase_player("chess", NAME)
            return keep(*given)

        monkeypatch.setattr(KeyedRequest, "keep", keep_late)
        other.put_players("chess", [(NAME, "waiting")], keyed("key"))
        erased = NAME not in players_of(one, "chess")
        if not erased:
            one.erase_player("chess", NAME)
        assert tried
        assert naming(stored(one.store)) == []


def test_a_name_may_be_spelt_in_two_ways_on_the_command_line(database):
    api = Api(database)
    try:
        api.pool(players=["Zo\u00eb", "ann"])
        command = ["erase", "Zoe\u0308", "--pool", "chess", "--database", api.database]
        done = CliRunner().invoke(app, command)
        assert (done.exit_code, done.output) == (0, "erased 'Zo\u00eb'\n")
        assert api.json("GET", PLAYERS)["players"][0]["player"] == "ann"
        again = CliRunner().invoke(app, command)
        assert (again.exit_code, again.output) == (
            0,
            "nobody was called 'Zo\u00eb' in pool 'chess'\n",
        )
    finally:
        api.stop()


@pytest.mark.parametrize("created_again", [False, True])
def test_players_of_a_deleted_pool_can_be_erased(life, created_again):
    api = life.api
    api("DELETE", "/v1/pools/chess", 204)
    if created_again:
        api.pool(players=["bob"])
    done = CliRunner().invoke(app, ["erase", NAME, "--pool", "chess", "--database", api.database])
    assert (done.exit_code, done.output) == (0, f"erased {NAME!r}\n")
    assert naming(stored(api.service.store)) == []
    check_stored(api.service.store)


def test_a_player_can_be_erased_whom_a_loaded_learner_remembers(database):
    with services(database, count=1) as (service,):
        service.create_pool("chess", {"policy": "unimodal"})
        for player in ("ann", "bob", "cyd"):
            service.put_player("chess", player, "waiting")
        learner = Unimodal().learner(["ann", "bob", "cyd", "dan"])
        learner.learn([("ann", "bob")], played=[True])
        for player in ("ann", "dan"):
            learner.leave(player, forget=False)
        service.load_learner("chess", learner.to_bytes())
        check_agreement(service, "chess")
        for player in ("ann", "dan"):
            assert service.erase_player("chess", player)
        assert players_of(service, "chess") == {"bob", "cyd"}
        check_agreement(service, "chess")
        check_stored(service.store)


def test_while_others_read_the_command_line_says_that_a_name_remains(lone_life, tmp_path):
    command = ["erase", NAME, "--pool", "chess", "--database", lone_life.api.database]
    with closing(sqlite3.connect(tmp_path / "pools.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 2
        assert "write-ahead log" in done.output
        reader.execute("ROLLBACK")
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert not [piece for piece in PIECES if piece in content(tmp_path)]


def test_names_leave_the_write_ahead_log_after_a_crash(lone_life, tmp_path):
    api = lone_life.api
    with closing(sqlite3.connect(tmp_path / "pools.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM events").fetchall()
        api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
        assert any(piece in content(tmp_path) for piece in PIECES)
        reader.execute("ROLLBACK")
        api.restart(crash=True)
        api.service.forget_replies()
        assert not [piece for piece in PIECES if piece in content(tmp_path)]


def test_an_erasure_succeeds_while_all_connections_are_in_use(lone_life, monkeypatch):
    """Only the write-ahead log is emptied later."""
    store, service = lone_life.api.service.store, lone_life.api.service
    monkeypatch.setattr(store._engine.pool, "_timeout", 0.1)
    empty = store.empty_write_ahead_log

    def empty_late():
        with ExitStack() as opened:
            for _ in range(15):
                opened.enter_context(store.reading()).pools("", 1)
            return empty()

    monkeypatch.setattr(store, "empty_write_ahead_log", empty_late)
    assert service.erase_player("chess", NAME)
    assert naming(stored(store)) == []
    monkeypatch.undo()
    assert service.empty_log()


def test_the_name_in_another_pool_stays(life):
    api = life.api
    api.pool("go", players=[NAME])
    key = {"Idempotency-Key": "go"}
    body = {"players": [{"player": NAME, "status": "away"}]}
    kept = api("POST", "/v1/pools/go/players", 200, json=body, headers=key).text
    api("DELETE", f"{PLAYERS}/{NAME}?erase=true", 204)
    assert api.status(NAME, "go") == "away"
    assert api("POST", "/v1/pools/go/players", 200, json=body, headers=key).text == kept
