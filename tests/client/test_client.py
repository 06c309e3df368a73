"""The client against a service in a process of its own, and against one that misbehaves."""

import http.server
import itertools
import json
import pickle
import re
import threading
from typing import get_args, get_type_hints, is_typeddict

import pytest

from pairup.client import Client, Patience, RefusedError, UnreachableError
from pairup.client import types as answer_types
from pairup.errors import ClientError
from tests.support.paths import DOCS
from tests.support.service.running import Running, free_port

PAGE = DOCS / "how-to/watch-the-dashboard.md"
HURRIED = Patience(tries=3, pause_s=0.001, timeout_s=10)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("service"))
    yield running
    running.stop()


@pytest.fixture
def client(service):
    with Client(service.url) as found:
        yield found


pools = (f"pool-{number}" for number in itertools.count())


@pytest.fixture
def pool(client):
    name = next(pools)
    client.create_pool(name, lifetime_s=60)
    for player in ("ann", "bob", "a/b ?#%ü"):
        client.join(name, player)
    return name


def test_pools(client, pool):
    shown = client.pool(pool)
    assert (shown["name"], shown["lifetime_s"]) == (pool, 60)
    assert shown["players"] == {"waiting": 3, "proposed": 0, "playing": 0, "away": 0}
    assert pool in [each["name"] for each in client.pools()]
    assert client.change_pool(pool, unreported="cancelled")["unreported"] == "cancelled"
    client.delete_pool(pool)
    with pytest.raises(RefusedError, match=f"no pool is called '{pool}'") as refused:
        client.pool(pool)
    assert (refused.value.status, refused.value.kind) == (404, "no-such-pool")


def test_players(client, pool):
    name = "a/b ?#%ü"
    assert client.player(pool, name)["player"] == name
    assert client.join(pool, name, "away")["status"] == "away"
    assert [each["player"] for each in client.players(pool, status="away")] == [name]
    assert sorted(each["player"] for each in client.players(pool)) == sorted(("ann", "bob", name))
    client.leave(pool, name)
    with pytest.raises(RefusedError, match="is not in pool"):
        client.leave(pool, name)


def test_pages_are_joined(client, pool):
    for number in range(150):
        client.join(pool, f"p{number:03d}")
    found = [each["player"] for each in client.players(pool)]
    assert len(found) == len(set(found)) == 153
    events = list(client.events(pool))
    assert [event["seq"] for event in events] == list(range(1, 155))
    assert [event["seq"] for event in client.events(pool, after=152)] == [153, 154]


def test_a_game_from_proposal_to_what_is_learnt(client, pool):
    matching = client.propose(pool, available=["ann", "bob"])
    (game,) = matching["games"]
    assert sorted(game["players"]) == ["ann", "bob"]
    receipt = client.report(game["id"], answers={"ann": "accepted"})
    assert receipt["result"] == "noted"
    assert client.report(game["id"], "played")["result"] == "learnt"
    with pytest.raises(RefusedError) as refused:
        client.report(game["id"], "cancelled")
    assert refused.value.kind == "contradicting-outcome"
    assert refused.value.fields["stored"]["outcome"] == "played"
    assert client.game(game["id"])["state"] == "played"
    assert client.matching(matching["id"])["games"] == [client.game(game["id"])]
    stats = client.stats(pool)
    assert (stats["games"]["played"], stats["feedback"]["contradicting"]) == (1, 1)
    (couple,) = client.estimates(pool, limit=10)["couples"]
    assert (sorted(couple["players"]), couple["played"]) == (["ann", "bob"], 1)


def test_couples_kept_apart_and_a_release(client, pool):
    matching = client.propose(pool, ["ann", "bob"], apart=[("ann", "bob")])
    assert matching["games"] == []
    matching = client.propose(pool)
    released = client.release(matching["id"])
    assert [game["state"] for game in released["games"]] == ["released"]


def test_a_batch_has_an_answer_for_each_report(client, pool):
    (game,) = client.propose(pool)["games"]
    good, bad = client.report_all(
        pool, [{"game": game["id"], "outcome": "played"}, {"game": "0" * 24, "outcome": "played"}]
    )
    assert good["result"] == "learnt"
    assert bad["result"] == "refused"
    assert bad["problem"]["type"] == "/problems/no-such-game"


def test_events_are_followed_as_they_happen(client, pool):
    seen = client.follow(pool, after=client.pool(pool)["seq"])
    client.join(pool, "late comer")
    event = next(seen)
    assert (event["kind"], event["body"]["player"]) == ("joined", "late comer")
    client.delete_pool(pool)
    assert [each["kind"] for each in seen] == ["deleted"]


def test_keys(tmp_path):
    running = Running(tmp_path, keys="required")
    try:
        with Client(running.url, key=running.admin) as client:
            client.create_pool("chess")
            assert [each["name"] for each in client.pools()] == ["chess"]
        with Client(running.url) as client, pytest.raises(RefusedError, match="key is needed"):
            list(client.pools())
    finally:
        running.stop()


def test_a_restart_is_not_noticed(tmp_path):
    running = Running(tmp_path)
    try:
        with Client(running.url, patience=Patience(tries=12)) as client:
            client.create_pool("chess")
            running.kill()
            again = threading.Thread(target=running.start)
            again.start()
            assert client.join("chess", "ann")["status"] == "waiting"
            again.join()
    finally:
        running.stop()


def test_nobody_there_to_follow():
    with pytest.raises(UnreachableError, match="no service answers"):
        next(Client("http://127.0.0.1:9").follow("chess"))


def test_nobody_there():
    url = f"http://localhost:{free_port()}"
    with pytest.raises(UnreachableError, match=r"no service answers at .* tried 3 times.*serve"):
        Client(url, patience=HURRIED).stats("chess")


@pytest.mark.parametrize("url", ["ftp://localhost", "http://", "//"])
def test_no_address(url):
    with pytest.raises(ClientError, match="begins with http"):
        Client(url)


def test_a_refusal_crosses_a_process_border():
    problem = {"type": "/problems/busy", "status": 409, "detail": "later"}
    error = pickle.loads(pickle.dumps(RefusedError(problem)))
    assert (error.kind, error.status, str(error), error.fields) == ("busy", 409, "later", problem)


class Moody(http.server.BaseHTTPRequestHandler):
    """A service that answers as the test says: a status, or None to break off."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.headers.get("Idempotency-Key"), body))
        status, text = self.server.moods.pop(0)
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = answer  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def moody():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Moody)
    server.seen, server.moods = [], []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.client = Client(f"http://127.0.0.1:{server.server_port}", patience=HURRIED)
    yield server
    server.client.close()
    server.shutdown()
    thread.join()
    server.server_close()


UNAVAILABLE = json.dumps({"type": "/problems/store-unavailable", "detail": "disk"}).encode()


def test_a_post_is_sent_again_with_the_same_key(moody):
    moody.moods = [(None, b""), (503, UNAVAILABLE), (201, b'{"id": "m"}')]
    assert moody.client.propose("chess") == {"id": "m"}
    assert len(moody.seen) == 3
    assert len(set(moody.seen)) == 1
    moody.moods = [(201, b'{"id": "n"}')]
    moody.client.propose("chess")
    assert moody.seen[3][1] not in (None, moody.seen[0][1])


def test_it_gives_up(moody):
    moody.moods = [(503, UNAVAILABLE)] * 4
    with pytest.raises(RefusedError, match="disk"):
        moody.client.stats("chess")
    assert len(moody.moods) == 1
    moody.moods = [(None, b"")] * 4
    with pytest.raises(UnreachableError):
        moody.client.stats("chess")
    assert len(moody.moods) == 1


@pytest.mark.parametrize(
    ("status", "type"), [(409, "busy"), (503, "pool-busy"), (507, "store-full")]
)
def test_what_passes_is_tried_again(moody, status, type):
    problem = json.dumps({"type": f"/problems/{type}", "detail": ""}, separators=(",", ":"))
    moody.moods = [(status, problem.encode()), (200, b'{"seq": 1}')]
    assert moody.client.stats("chess") == {"seq": 1}


def test_a_refusal_is_not_tried_again(moody):
    moody.moods = [(409, UNAVAILABLE), (200, b"{}")]
    with pytest.raises(RefusedError):
        moody.client.stats("chess")
    assert len(moody.moods) == 1


def test_who_is_gone_after_a_lost_answer_has_left(moody):
    moody.moods = [(None, b""), (404, b'{"type": "/problems/no-such-player", "detail": ""}')]
    assert moody.client.leave("chess", "ann") is None
    moody.moods = [(404, b'{"type": "/problems/no-such-player", "detail": "who?"}')]
    with pytest.raises(RefusedError, match="who"):
        moody.client.leave("chess", "ann")


def test_something_else_answers(moody):
    moody.moods = [(404, b"<html>")]
    with pytest.raises(RefusedError, match="something else than a pairup service"):
        moody.client.stats("chess")


def test_the_documented_example(service, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(code.replace("http://localhost:8000", service.url), {})
    assert "'estimate': 1.0" in capsys.readouterr().out


def test_the_types_are_those_of_the_service(service, client):
    schemas = client._transport.send("GET", "/openapi.json")["components"]["schemas"]
    types = {n: each for n, each in vars(answer_types).items() if is_typeddict(each)}
    assert len(types) > 20
    for name, each in types.items():
        hints = get_type_hints(each)
        assert set(hints) == set(schemas[name]["properties"]), name
        for field, schema in schemas[name]["properties"].items():
            if "enum" in schema:
                assert set(get_args(hints[field])) == set(schema["enum"]), (name, field)
