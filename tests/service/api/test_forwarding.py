"""A request for a pool that another process serves: forwarded once, as it came, or answered 307."""

import http.server
import json
import threading
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from pairup.service import api_keys
from pairup.service.problems import MisdirectedError
from pairup.service.store import Peer
from tests.support.service.pools import Api
from tests.support.service.running import free_port


class Owner:
    """A process that serves every pool, as the one under test sees it; `script` is its answers."""

    id = ""  # as the rows of pools of a file of SQLite have it
    me = Peer("", "secret of this process")

    def __init__(self, script):
        self.script, self.asked, self.lives, self.serves = script, [], True, True
        self.stopped = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return self.answer
                raise AttributeError(name)

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.asked.append((self.command, self.path, dict(self.headers), body))
                status, text = outer.script.pop(0)
                if text is None:  # its lease ends, and it has a successor soon
                    outer.lives = False
                    threading.Timer(0.5, setattr, (outer, "lives", True)).start()
                if status is None:  # it dies
                    self.close_connection = True
                    return
                if text is None:  # it stops in the middle
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
                    outer.stopped.wait(60)
                    return
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.send_header("X-Said", "this")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                """Say nothing."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    # What the service under test asks instead of a database that several processes share.

    def take(self, row):
        if self.serves:
            raise MisdirectedError(row.name, "another", self.address)

    def peer(self, process):
        return Peer(self.address, "secret of the owner") if self.lives else None

    def tell(self, pool):
        """Nobody listens."""

    def misplaced(self, limit):
        return []

    def leave(self):
        """Nobody follows."""

    def close(self):
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def served_by_another(tmp_path, script, **settings):
    api = Api(str(tmp_path / "pools.db"), **{"wait_s": 5.0, **settings})
    api.wait()
    api.service.create_pool("chess", {})
    owner = Owner(script)
    api.service.pools.cache.ownership = owner
    try:
        yield api, owner
    finally:
        api.stop()


def test_a_request_is_forwarded_as_it_came_and_the_answer_as_it_is(tmp_path):
    with served_by_another(tmp_path, [(201, b'{"who":"owner"}')]) as (api, owner):
        sent = {
            "Idempotency-Key": "k",
            "Authorization": "Bearer x",
            "Content-Type": "application/json",
        }
        answer = api(
            "POST",
            "/v1/pools/chess/matchings?a=b",
            201,
            content=b'{"available": null}',
            headers=sent,
        )
    assert (answer.json(), answer.headers["x-said"]) == ({"who": "owner"}, "this")
    ((method, path, headers, body),) = owner.asked
    assert (method, path, body) == ("POST", "/v1/pools/chess/matchings?a=b", b'{"available": null}')
    assert {name: headers.get(name.lower()) for name in sent} == sent | {"Authorization": None}
    assert headers["host"] == "localhost"
    assert headers["x-request-id"] == answer.headers["x-request-id"]
    assert headers["x-pairup-forwarded"] == "secret of the owner"
    assert "date" not in answer.headers, "the first process adds one to each answer"


@pytest.mark.parametrize("secret", ["1", "", "secret of the owner", "secret of this process"])
def test_it_is_forwarded_once_only_and_not_at_all_for_strangers(tmp_path, secret):
    told = {"id": "k", "name": "backend", "scopes": {"*": "read"}, "account": "k"}
    headers = {"X-Pairup-Forwarded": secret, "X-Pairup-Sender": json.dumps(told)}
    with served_by_another(tmp_path, []) as (api, owner):
        answer = api("GET", "/v1/pools/chess", 421, headers=headers)
        assert answer.json()["type"] == "/problems/misdirected"
        assert ("secret of this process" in answer.text) == (secret != "secret of this process")
        assert owner.asked == []


def test_the_sender_is_who_the_first_process_found(tmp_path):
    """The key itself is not passed on, and the next process counts and checks no request again."""
    with served_by_another(tmp_path, [(200, b"{}")] * 2, keys="required") as (api, owner):
        scopes = {"chess": "write", "*": "read", "go": "admin"}
        _, key = api_keys.create(api.service.store, "key", scopes, 0)
        key = {"Authorization": f"Bearer {key}"}
        api("GET", "/v1/pools/chess", 401)
        assert owner.asked == []
        api("PUT", "/v1/pools/chess/players/a", 200, headers=key)
        ((_, _, headers, _),) = owner.asked
        told = headers["x-pairup-sender"]
        sent = json.loads(told)
        assert sent.pop("id") == sent.pop("account")
        assert sent == {"name": "key", "scopes": {"chess": "write", "*": "read"}}
        owner.serves, admitted = False, []
        api.service.limits.admit = admitted.append
        marks = {"X-Pairup-Forwarded": owner.me.secret, "X-Pairup-Sender": told}
        api("PUT", "/v1/pools/chess/players/a", 201, headers=marks)
        api("DELETE", "/v1/pools/chess", 403, headers=marks)
        assert admitted == []


def test_a_request_that_is_tried_again_is_counted_once(tmp_path):
    with served_by_another(tmp_path, [(421, b"{}")] * 3 + [(200, b"{}")]) as (api, owner):
        admit, admitted = api.service.limits.admit, []
        api.service.limits.admit = lambda account: (admitted.append(account), admit(account))
        api("GET", "/v1/pools/chess", 200)
        assert (len(owner.asked), len(admitted)) == (4, 1)


def test_an_owner_that_stops_in_the_middle_of_its_answer_is_lost(tmp_path):
    with served_by_another(tmp_path, [(200, None), (200, b"{}")]) as (api, owner):
        assert api("GET", "/v1/pools/chess", 200).json() == {}
        assert len(owner.asked) == 2


def test_a_pool_that_changes_hands_is_looked_for_again(tmp_path):
    with served_by_another(tmp_path, [(421, b"{}"), (200, b"{}")]) as (api, owner):
        assert api("POST", "/v1/pools/chess/matchings", 200).json() == {}
        assert len(owner.asked) == 2


def test_while_the_owner_is_not_there_the_next_one_is_waited_for(tmp_path):
    with served_by_another(tmp_path, []) as (api, owner):
        owner.address = f"http://127.0.0.1:{free_port()}"
        threading.Timer(0.5, setattr, (owner, "serves", False)).start()
        assert api("PUT", "/v1/pools/chess/players/a", 201, json={"status": "away"}).is_success


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/v1/pools/chess/matchings", {}, 503),  # it may have proposed one
        ("POST", "/v1/pools/chess/matchings", {"Idempotency-Key": "k"}, 200),
        ("PUT", "/v1/pools/chess/players/a", {}, 200),
        ("GET", "/v1/pools/chess", {}, 200),
    ],
)
def test_only_what_can_be_done_twice_is_sent_again_when_the_owner_is_lost(
    tmp_path, method, path, headers, status
):
    with served_by_another(tmp_path, [(None, None), (200, b"{}")]) as (api, owner):
        with capture_logs() as logged:
            answer = api(method, path, status, headers=headers)
        assert len(owner.asked) == 1 + (status == 200)
        if status == 503:
            (advice,) = [each["advice"] for each in logged if each["event"] == "owner not reached"]
            assert advice == "if it is on another machine, set PAIRUP_PEER_HOST there"
            assert answer.json()["type"] == "/problems/owner-lost"
            assert answer.headers["retry-after"] == "1"


def test_callers_can_be_redirected_to_the_owner(tmp_path):
    with served_by_another(tmp_path, [], misdirected="redirect") as (api, owner):
        answer = api("GET", "/v1/pools/chess/stats?x=1", 307)
        assert answer.headers["location"] == f"{owner.address}/v1/pools/chess/stats?x=1"
        assert owner.asked == []


def test_the_page_of_all_pools_asks_the_owner_of_each(tmp_path):
    with served_by_another(tmp_path, []) as (api, owner):
        owner.serves = False
        stats = api("GET", "/v1/pools/chess/stats", 200).content
        api.service.pools.cache.drop(api.service.pools.cache.find("chess"))
        owner.serves, owner.script[:] = True, [(200, stats), (503, b"{}")]
        assert b"chess" in api("GET", "/", 200).content
        assert [path for _, path, _, _ in owner.asked] == ["/v1/pools/chess/stats"]
