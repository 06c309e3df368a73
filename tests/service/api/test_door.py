"""The door before the body: key, rate, scope and size are decided before a body is read."""

import asyncio
import json
import socket
import threading
import time
from http.client import HTTPResponse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup.service import api_keys
from pairup.service.api import bodies
from pairup.service.api.bodies import count_structure
from pairup.service.api.openapi import describe
from pairup.service.store import Store
from tests.support.service.processes import Process

JSON = {"Content-Type": "application/json"}
MATCHING = "63-1-0123456789abcdef"  # of a pool that does not exist
GAME = f"{MATCHING}-0"
PLACES = {"{pool}": "chess", "{player}": "ann", "{game}": GAME, "{matching}": MATCHING}
PLACES |= {"{source}": "past", "{first}": "0"}


def operations(places):
    """List every operation by its method and an address."""
    for path, found in describe(needs_keys=True)["paths"].items():
        for name, value in places.items():
            path = path.replace(name, value)
        yield from ((method.upper(), path) for method in found)


OPERATIONS = [each for each in operations(PLACES) if each[0] != "GET"]  # they may have a body
SCOPED = [each for each in OPERATIONS if MATCHING not in each[1]]  # games are in no pool here


@pytest.fixture
def guarded(settings_api):
    return settings_api(keys="required", max_requests_per_s=0.01, burst_s=10_000)


def bearer(api, *scopes):
    _, key = api_keys.create(api.service.store, "test", api_keys.parse_scopes(list(scopes)), 0)
    return {"Authorization": f"Bearer {key}"}


def send_unread(api, method, path, headers):
    """Send a request whose body must not be asked for; returns the status of the answer."""
    sent = {"Host": "localhost", "Content-Length": "1000", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
        "client": ("127.0.0.1", 1),
    }
    messages = []

    async def receive():
        raise AssertionError("the body was read")

    async def send(message):
        messages.append(message)

    asyncio.run_coroutine_threadsafe(api.app(scope, receive, send), api._loop).result()
    return messages[0]["status"]


def test_there_are_operations_with_bodies():
    assert len(OPERATIONS) >= 11
    assert ("PUT", f"/v1/games/{GAME}/outcome") in OPERATIONS


def test_strangers_are_refused_and_then_limited_whatever_they_send(guarded):
    body = {"content": b'{"players": [{}, {}]}', "headers": JSON}
    path = "/v1/pools/chess/players"
    statuses = [guarded("POST", path, **body).status_code for _ in range(200)]
    assert statuses == [401] * 101 + [429] * 99


NONSENSE = [("PUT", "/v1/games/x/outcome"), ("PATCH", "/v1/pools/X")]  # no such names are possible


@pytest.mark.parametrize(("method", "path"), OPERATIONS + NONSENSE)
def test_the_body_of_a_stranger_is_not_read(guarded, method, path):
    assert send_unread(guarded, method, path, JSON) == 401
    assert send_unread(guarded, method, path, {"Authorization": "Bearer wrong"}) == 401


@pytest.mark.parametrize(("method", "path"), SCOPED)
def test_the_body_of_a_key_that_does_not_allow_this_is_not_read(guarded, method, path):
    assert send_unread(guarded, method, path, bearer(guarded, "chess:read", "go:write")) == 403


def test_the_body_of_a_report_of_a_game_in_another_pool_is_not_read(guarded):
    admin = bearer(guarded, "*:admin")
    guarded("POST", "/v1/pools", 201, json={"name": "chess"}, headers=admin)
    for player in "ab":
        guarded("PUT", f"/v1/pools/chess/players/{player}", 201, headers=admin)
    matching = guarded.json("POST", "/v1/pools/chess/matchings", 201, headers=admin)
    game = f"/v1/games/{matching['games'][0]['id']}/outcome"
    release = f"/v1/matchings/{matching['id']}/release"
    for headers, status in (
        (bearer(guarded, "chess:read"), 403),
        (bearer(guarded, "go:write"), 404),
    ):
        assert send_unread(guarded, "PUT", game, headers) == status
        assert send_unread(guarded, "POST", release, headers) == status
    assert send_unread(guarded, "PUT", f"/v1/games/{GAME}/outcome", admin) == 404
    assert send_unread(guarded, "PUT", "/v1/games/nonsense/outcome", admin) == 422


def test_a_stranger_does_not_learn_what_an_id_looks_like(guarded):
    assert send_unread(guarded, "PUT", "/v1/games/nonsense/outcome", JSON) == 401


def test_a_stranger_does_not_learn_what_is_wrong_with_an_address(settings_api):
    api = settings_api(keys="required")
    nonsense = [each for each in operations(dict.fromkeys(PLACES, "~X")) if "/v1/" in each[1]]
    assert len(nonsense) >= 20
    query = "?limit=0&after=-1&cursor=~&status=x&forget=x&erase=x"
    found = {(method, path): api(method, path + query).status_code for method, path in nonsense}
    assert found == dict.fromkeys(nonsense, 401)


def test_the_body_of_a_foreign_page_is_not_read(lone):
    headers = {"Origin": "https://evil.example"}
    assert send_unread(lone, "POST", "/v1/pools/chess/matchings", headers) == 403


def test_a_body_that_is_announced_too_large_is_not_read(settings_api):
    api = settings_api(max_body_bytes=1_000)
    assert send_unread(api, "POST", "/v1/pools", {**JSON, "Content-Length": "1001"}) == 413


def test_a_body_that_breaks_off_is_no_error_of_the_service(lone):
    messages = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        messages.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/pools", "query_string": b""}
    scope |= {"raw_path": b"/v1/pools", "client": None, "headers": [(b"host", b"localhost")]}
    asyncio.run_coroutine_threadsafe(lone.app(scope, receive, send), lone._loop).result()
    assert messages[0]["status"] == 400


def test_bodies_are_parsed_in_worker_threads(lone, monkeypatch):
    parse, threads = bodies._parse, []

    def parse_and_note(body, model):
        threads.append(threading.current_thread())
        return parse(body, model)

    monkeypatch.setattr(bodies, "_parse", parse_and_note)
    lone.pool(players="ab")
    lone("POST", "/v1/pools/chess/players", 200, json={"players": [{"player": "c"}]})
    assert len(threads) == 4
    assert lone._thread not in threads


def test_large_bodies_are_parsed_one_at_a_time(lone, monkeypatch):
    parse, parsing, together = bodies._parse, [], []

    def parse_slowly(body, model):
        parsing.append(body)
        together.append(len(parsing))
        time.sleep(0.02)  # for others to come
        parsing.pop()
        return parse(body, model)

    monkeypatch.setattr(bodies, "_parse", parse_slowly)
    lone.pool()
    sent = {"json": {"players": [{"player": "ann"}]}}
    lone.together(6, "POST", "/v1/pools/chess/players", **sent)
    assert max(together) > 1
    monkeypatch.setattr(bodies, "_LARGE", 0)
    together.clear()
    lone.together(6, "POST", "/v1/pools/chess/players", **sent)
    assert together == [1] * 6


def test_a_large_body_does_not_wait_for_others_longer_than_the_settings_say(settings_api):
    api = settings_api(wait_s=0.2)
    sent = {"name": "chess", "lifetime_s": 1, "filler": "x" * 70_000}
    assert bodies._turn.acquire(timeout=60)
    letting_go = threading.Timer(5.0, bodies._turn.release)
    letting_go.start()
    refused = api("POST", "/v1/pools", json=sent)
    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/too-much-at-once")
    assert refused.headers["retry-after"]
    letting_go.join()
    assert api("POST", "/v1/pools", json=sent).status_code == 422


def test_an_administrator_of_another_pool_cannot_create_this_one(guarded):
    other = bearer(guarded, "go:admin")
    refused = guarded("POST", "/v1/pools", 403, json={"name": "chess"}, headers=other).json()
    assert "pairup keys create --scope chess:admin" in refused["detail"]
    guarded("POST", "/v1/pools", 422, json={"name": "Chess"}, headers=other)
    guarded("POST", "/v1/pools", 201, json={"name": "go"}, headers=other)


def test_events_are_counted_for_the_key_that_adds_them(settings_api):
    api = settings_api(keys="required", max_events_per_s=0.01, burst_s=300)
    one, other = bearer(api, "*:admin"), bearer(api, "*:admin")
    api("POST", "/v1/pools", 201, json={"name": "chess"}, headers=other)
    joined = [api("PUT", f"/v1/pools/chess/players/{n}", headers=one) for n in range(5)]
    assert [answer.status_code for answer in joined] == [201, 201, 201, 201, 429]
    assert joined[-1].json()["type"] == "/problems/too-many-events"
    api("PUT", "/v1/pools/chess/players/9", 201, headers=other)


@pytest.mark.parametrize("body", [b"", b"null", b" null\n", b"{}"])
def test_an_optional_body_may_be_absent(lone, body):
    lone.pool(players="ab")
    lone("PUT", "/v1/pools/chess/players/c", 201, content=body, headers=JSON)
    lone("POST", "/v1/pools/chess/matchings", 201, content=body, headers=JSON)


# Bodies that would take long to parse, or break very many rules


@pytest.mark.parametrize(
    ("items", "status"),
    [
        (b"{}," * 200_000, 413),
        (b"[[[[[]]]]]," * 50_000, 413),
        (b"1," * 201_000, 413),
        (b'"' + b"[{:," * 50_000 + b'",', 422),  # one long text
        (b"{}," * 1_000, 422),
    ],
)
def test_a_body_with_too_many_parts_is_refused_before_it_is_parsed(lone, items, status):
    body = b'{"players": [' + items + b"0]}"
    refused = lone("POST", "/v1/pools/chess/players", status, content=body, headers=JSON).json()
    assert len(refused.get("errors", [])) <= 2  # a list stops at the first wrong item
    assert len(json.dumps(refused)) < 2_000


@pytest.mark.parametrize(("count", "listed"), [(90, 20), (2_000, 0)])
def test_very_many_broken_rules_are_not_listed(lone, count, listed):
    unknown = {f"field-{number}": 1 for number in range(count)}
    refused = lone("POST", "/v1/pools", 422, json={"name": "chess", **unknown}).json()
    assert len(refused.get("errors", [])) == listed
    assert (f"breaks {count} rules" in refused["detail"]) == (listed == 0)


def test_the_largest_valid_bodies_are_taken(settings_api, monkeypatch):
    monkeypatch.setattr(bodies, "_LARGE", 0)
    most = 1_000
    api = settings_api(
        max_player_changes=most, max_outcomes=most, max_apart=most, max_import_rows=most
    )
    names = [f'[{number}]: a, \\ "b" {{c' for number in range(2 * most)]
    api.pool()
    players = [{"player": name, "status": "waiting"} for name in names[:most]]
    api("POST", "/v1/pools/chess/players", 200, json={"players": players})
    apart = [[names[0], name] for name in names[1:most]]
    wanted = {"available": names[:most], "apart": [*apart, apart[0]]}
    game = api.json("POST", "/v1/pools/chess/matchings", 201, json=wanted)["games"][0]
    answers = dict.fromkeys(game["players"], "accepted")
    reports = [{"game": game["id"], "outcome": "played", "answers": answers}] * most
    api("POST", "/v1/pools/chess/outcomes", 200, json={"outcomes": reports})
    said = {name: [True] * most for name in ("played", "accepted_a", "accepted_b")}
    a, b = list(range(most)), list(range(most, 2 * most))
    rows = {"rows": most, "players": names, "player_a": a, "player_b": b, **said}
    api("PUT", "/v1/pools/chess/imports/past/rows/0", 200, json=rows)


def parts_of(value):
    """Count the objects, lists and names of fields, and the commas, of what was parsed."""
    if not isinstance(value, list | dict):
        return 0, 0
    inner = [parts_of(each) for each in (value.values() if isinstance(value, dict) else value)]
    names = len(value) if isinstance(value, dict) else 0
    commas = max(len(value) - 1, 0)
    return 1 + names + sum(each[0] for each in inner), commas + sum(each[1] for each in inner)


texts = st.text(alphabet='\\"{}[]:,ab')
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(values)
def test_structure_is_counted_as_a_parser_would(value):
    assert count_structure(json.dumps(value).encode()) == parts_of(value)


# Real connections


@pytest.fixture
def process(tmp_path):
    database = str(tmp_path / "pools.db")
    store = Store(database)
    api_keys.create(store, "test", {"*": "admin"}, 0)  # without any, it would not start
    store.close()
    running = Process(database, tmp_path / "log", keys="required", max_body_bytes=100_000)
    running.start()
    assert running.wait(), running.said()
    yield running
    assert running.stop() == 0, running.said()


def connect(process):
    return socket.create_connection(("127.0.0.1", int(process.url.rpartition(":")[2])), timeout=30)


def status(connection):
    """Read an answer to its end."""
    answer = HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def head(length):
    return (
        "POST /v1/pools HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def test_a_stranger_is_answered_although_the_body_never_comes(process):
    with connect(process) as connection:
        connection.sendall(head(90_000) + b'{"name"')
        assert status(connection) == 401


def test_a_body_that_is_too_large_is_refused_before_it_comes(process):
    with connect(process) as connection:
        connection.sendall(head(100_001))
        assert status(connection) == 413


def test_the_rest_of_an_unwanted_body_is_taken_within_bounds(process):
    with connect(process) as connection:
        for _ in range(3):  # on the same connection, as if nothing had happened
            connection.sendall(head(100_000))
            assert status(connection) == 401
            connection.sendall(b" " * 100_000)
        connection.sendall(head(10**9))
        assert status(connection) == 413
        with pytest.raises(ConnectionError):
            connection.sendall(b" " * 100_000_000)
