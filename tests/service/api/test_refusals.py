"""Refusals: problems with a stable type, limits, idempotency keys and trouble with the store."""

import json
import re

import pytest

from pairup import ESCB, PolicyError
from pairup.service.api.schemas.problems import PROBLEM_TYPES
from pairup.service.domain.snapshot import durable_part
from pairup.service.store.failures import StoreDamagedError, StoreFullError, StoreUnavailableError
from tests.support.service.pools import Api

JSON = {"headers": {"Content-Type": "application/json"}}


def assert_problem(answer, status, slug):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["type"], body["status"]) == (f"/problems/{slug}", status)
    assert body["title"] == PROBLEM_TYPES[slug].title
    assert body["instance"]
    assert ": " in body["detail"] or "; " in body["detail"]  # the value, the rule: the way out
    return body


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "slug"),
    [
        ("GET", "/v1/nothing", None, 404, "no-such-page"),
        ("PUT", "/v1/pools", {}, 405, "method-not-allowed"),
        ("GET", "/v1/pools/nix", None, 404, "no-such-pool"),
        ("PUT", "/v1/pools/nix/players/a", {}, 404, "no-such-pool"),
        ("GET", "/v1/pools/chess/players/x", None, 404, "no-such-player"),
        ("GET", f"/v1/matchings/0-0-{'0' * 16}", None, 404, "no-such-matching"),
        ("GET", f"/v1/games/0-0-{'0' * 16}-0", None, 404, "no-such-game"),
        ("GET", f"/v1/matchings/1-0-{'0' * 16}", None, 404, "no-such-matching"),
        ("GET", f"/v1/games/1-0-{'0' * 16}-0", None, 404, "no-such-game"),
        ("GET", "/v1/games/nonsense", None, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "chess"}, 409, "pool-exists"),
        ("POST", "/v1/pools", {"name": "A"}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "plicy": "sam"}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "policy": "smm"}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "policy": "sam"}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "policy": "oracle"}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "options": {"period": 0}}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "options": {"p": 1e300}}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "options": {"period": 101}}, 422, "invalid-request"),
        (
            "POST",
            "/v1/pools",
            {"name": "x", "options": {"period": 9007199254740991}},
            422,
            "invalid-request",
        ),
        (
            "POST",
            "/v1/pools",
            {"name": "x", "policy": "unimodal_thompson", "options": {"period": 10**9 + 1}},
            422,
            "invalid-request",
        ),
        ("POST", "/v1/pools", {"name": "x", "lifetime_s": 0}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "lifetime_s": 1e300}, 422, "invalid-request"),
        ("POST", "/v1/pools", {"name": "x", "seed": -1}, 422, "invalid-request"),
        ("POST", "/v1/pools", None, 422, "invalid-request"),
        ("PUT", "/v1/pools/chess/players/a", {"status": "x"}, 422, "invalid-request"),
        ("PUT", "/v1/pools/chess/players/a", {"status": "playing"}, 422, "invalid-request"),
        ("PUT", f"/v1/pools/chess/players/{'a' * 129}", {}, 422, "invalid-request"),
        ("PUT", "/v1/pools/chess/players/a%00b", {}, 422, "invalid-request"),
        ("PUT", "/v1/pools/chess/players/a%7Fb", {}, 422, "invalid-request"),
        ("PUT", "/v1/pools/chess/players/%2E%2E", {}, 422, "invalid-request"),
        ("POST", "/v1/pools/chess/matchings", {"available": ["x"]}, 404, "no-such-player"),
        ("POST", "/v1/pools/chess/matchings", {"available": ["a", "a"]}, 422, "invalid-request"),
        ("POST", "/v1/pools/chess/matchings", {"apart": [["a", "x"]]}, 404, "no-such-player"),
        ("POST", "/v1/pools/chess/matchings", {"apart": [["a", "a"]]}, 422, "invalid-request"),
        ("POST", "/v1/pools/chess/matchings", {"apart": [["a"]]}, 422, "invalid-request"),
        ("POST", "/v1/pools/chess/matchings", {"available": []}, 409, "too-few-players"),
        ("GET", "/v1/pools/chess/events?after=-1", None, 422, "invalid-request"),
        ("GET", "/v1/pools/chess/events?limit=0", None, 422, "invalid-request"),
        ("GET", "/v1/pools/chess/events?limit=1001", None, 422, "invalid-request"),
        ("GET", "/v1/pools?cursor=%21", None, 422, "invalid-request"),
        ("GET", "/v1/pools?cursor=_w", None, 422, "invalid-request"),
    ],
)
def test_a_refusal_is_a_problem(lone, method, path, body, status, slug):
    lone.pool(players="ab")
    before = lone.kinds()
    assert_problem(lone(method, path, json=body), status, slug)
    assert lone.kinds() == before


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b'{"name": "\\ud800"}',
        b'{"name": NaN}',
        b'{"name": "x", "lifetime_s": Infinity}',
        b'{"name": "x", "seed": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"null",
    ],
)
def test_a_body_that_cannot_be_read_is_refused(lone, body):
    answer = lone("POST", "/v1/pools", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (413, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_problem_says_what_was_sent_and_what_to_do(lone):
    body = assert_problem(
        lone("POST", "/v1/pools", json={"name": "x", "policy": "unimodl"}), 422, "invalid-request"
    )
    assert body["detail"] == "no policy is called 'unimodl'; did you mean \"unimodal\"?"
    body = assert_problem(lone("POST", "/v1/pools", json={"name": "X"}), 422, "invalid-request")
    assert body["errors"][0]["where"] == "body.name"
    assert body["errors"][0]["sent"] == "'X'"


@pytest.mark.parametrize("slug", PROBLEM_TYPES)
def test_every_type_is_explained_at_its_address(lone, slug):
    assert PROBLEM_TYPES[slug].title in lone("GET", f"/problems/{slug}", 200).text
    assert_problem(lone("GET", "/problems/invented"), 404, "no-such-page")


@pytest.fixture
def small(tmp_path):
    running = Api(
        str(tmp_path / "pools.db"),
        max_body_bytes=1000,
        max_players=3,
        max_outcomes=2,
        max_apart=1,
        max_page_items=2,
    )
    yield running
    running.stop()


def test_what_exceeds_a_limit_is_refused(small):
    small.pool(players="abc")
    full = small("PUT", "/v1/pools/chess/players/d")
    assert_problem(full, 409, "pool-full")
    assert small("PUT", "/v1/pools/chess/players/a").status_code == 200
    outcomes = {"outcomes": [{"game": "x"}] * 3}
    assert_problem(small("POST", "/v1/pools/chess/outcomes", json=outcomes), 413, "too-large")
    apart = {"apart": [["a", "b"], ["b", "c"]]}
    assert_problem(small("POST", "/v1/pools/chess/matchings", json=apart), 413, "too-large")
    available = {"available": list("abcd")}
    assert_problem(small("POST", "/v1/pools/chess/matchings", json=available), 413, "too-large")
    assert_problem(small("GET", "/v1/pools?limit=3"), 422, "invalid-request")
    assert len(small.json("GET", "/v1/pools/chess/players")["players"]) == 2


def test_a_body_that_is_too_large_is_refused(small):
    small.pool()
    large = json.dumps({"name": "x" * 1000}).encode()
    assert_problem(small("POST", "/v1/pools", content=large), 413, "too-large")

    async def pieces():
        for _ in range(20):
            yield b" " * 100

    assert_problem(small("POST", "/v1/pools", content=pieces()), 413, "too-large")


def test_a_repeat_gets_the_stored_answer(api):
    key = {"Idempotency-Key": "one"}
    first = api("POST", "/v1/pools", 201, json={"name": "chess"}, headers=key)
    again = api("POST", "/v1/pools", 201, json={"name": "chess"}, headers=key)
    assert again.content == first.content
    assert again.headers["location"] == first.headers["location"]
    assert again.headers["idempotent-replay"] == "true"
    for player in "abcd":
        api.join(player)
    paths = {"matchings": {"available": ["a", "b"]}, "outcomes": {"outcomes": []}}
    for what, body in paths.items():
        key = {"Idempotency-Key": what}
        path = f"/v1/pools/chess/{what}"
        answers = [api("POST", path, json=body, headers=key) for _ in range(3)]
        assert len({answer.content for answer in answers}) == 1
        other = api("POST", path, json={**body, "nonsense": 1}, headers=key)
        assert other.status_code == 422
    matching = api.json("GET", "/v1/pools/chess/stats")["open_games"][0]["matching"]
    key = {"Idempotency-Key": "release"}
    released = [api("POST", f"/v1/matchings/{matching}/release", headers=key) for _ in range(2)]
    assert released[0].content == released[1].content
    assert api.kinds() == ["created", *["joined"] * 4, "proposed", "released"]


def test_a_repeat_gets_the_stored_answer_after_a_restart(api):
    api.pool(players="ab")
    key = {"Idempotency-Key": "k"}
    first = api("POST", "/v1/pools/chess/matchings", 201, headers=key)
    api.restart(crash=True)
    assert api("POST", "/v1/pools/chess/matchings", 201, headers=key).content == first.content


def test_a_key_that_another_request_was_sent_with_is_refused(lone):
    lone.pool(players="abcd")
    key = {"Idempotency-Key": "k"}
    lone("POST", "/v1/pools/chess/matchings", 201, json={"available": ["a", "b"]}, headers=key)
    for path, body in [
        ("/v1/pools/chess/matchings", {"available": ["c", "d"]}),
        ("/v1/pools/chess/matchings", {}),
        ("/v1/pools/chess/outcomes", {"outcomes": []}),
        ("/v1/pools", {"name": "go"}),
    ]:
        assert_problem(lone("POST", path, json=body, headers=key), 422, "key-reused")


def test_a_refusal_is_not_kept(lone):
    lone.pool(players="a")
    key = {"Idempotency-Key": "k"}
    lone("POST", "/v1/pools/chess/matchings", 409, headers=key)
    lone.join("b")
    lone("POST", "/v1/pools/chess/matchings", 201, headers=key)


def test_stored_answers_are_forgotten_after_a_day(lone):
    lone.pool(players="abcd")
    key = {"Idempotency-Key": "k"}
    path, body = "/v1/pools/chess/matchings", {"available": ["a", "b"]}
    lone("POST", path, 201, json=body, headers=key)
    lone.clock.advance(86_399)
    lone.service.forget_replies()
    lone("POST", path, 201, json=body, headers=key)
    lone.clock.advance(2)
    lone.service.forget_replies()
    assert len(lone("POST", path, 201, json=body, headers=key).json()["games"]) == 1
    assert lone.kinds().count("proposed") == 2


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "zoë"])
def test_a_malformed_idempotency_key_is_refused(lone, key):
    headers = {"Idempotency-Key": key.encode()}
    answer = lone("POST", "/v1/pools", json={"name": "x"}, headers=headers)
    assert_problem(answer, 422, "invalid-request")


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (StoreFullError, 507, "store-full"),
        (StoreUnavailableError, 503, "store-unavailable"),
        (StoreDamagedError, 503, "store-damaged"),
    ],
)
def test_trouble_with_the_store_leaves_the_pool_as_it_was(lone, monkeypatch, error, status, slug):
    """Whether a commit fails before or after it is done, what is served is what is stored."""
    lone.pool(players="abcd")
    before = lone.service.read("chess", lambda pool, _: durable_part(pool))

    def failing(*_):
        raise error("the database is in trouble: help it")

    with monkeypatch.context() as trouble:
        trouble.setattr("pairup.service.store.Transaction.append", failing)
        refused = assert_problem(lone("POST", "/v1/pools/chess/matchings"), status, slug)
        assert "in trouble" in refused["detail"]
        assert_problem(lone("PUT", "/v1/pools/chess/players/e"), status, slug)
    assert lone.service.read("chess", lambda pool, _: durable_part(pool)) == before
    assert lone.kinds() == ["created", *["joined"] * 4]
    assert len(lone.propose()["games"]) == 2
    assert f'pairup_store_failures_total{{kind="{slug}"}} 2.0' in lone("GET", "/metrics").text


def test_a_commit_whose_confirmation_is_lost_is_not_repeated(lone, monkeypatch):
    """The server may have committed though the connection broke: the log tells."""
    lone.pool(players="abcd")
    writing = lone.service.store.writing

    def deaf(**options):
        class Block:
            def __enter__(self):
                self.inner = writing(**options)
                return self.inner.__enter__()

            def __exit__(self, *error):
                self.inner.__exit__(*error)
                if error == (None, None, None):
                    raise StoreUnavailableError("the connection broke: try again")

        return Block()

    with monkeypatch.context() as trouble:
        trouble.setattr(lone.service.store, "writing", deaf)
        key = {"Idempotency-Key": "k"}
        assert lone("POST", "/v1/pools/chess/matchings", headers=key).status_code == 503
    again = lone("POST", "/v1/pools/chess/matchings", 201, headers=key)
    assert again.headers["idempotent-replay"] == "true"
    assert lone.kinds().count("proposed") == 1
    assert lone.stats()["players"]["proposed"] == 4


def test_a_bug_is_answered_as_a_problem_and_changes_nothing(lone, monkeypatch):
    lone.pool(players="ab")
    with monkeypatch.context() as trouble:
        trouble.setattr(
            "pairup.service.domain.matchmaking.matchmaker.forecast_pairings", lambda *_: 1 / 0
        )
        answer = lone("POST", "/v1/pools/chess/matchings", 500)
    told = assert_problem(answer, 500, "internal-error")
    assert told["request_id"] == answer.headers["x-request-id"]  # by which the log tells it
    assert lone.kinds() == ["created", "joined", "joined"]
    assert len(lone.propose()["games"]) == 1


def test_a_request_for_another_host_is_refused(lone):
    answer = lone("GET", "/v1/pools", headers={"Host": "evil.example"})
    assert_problem(answer, 403, "unknown-host")
    for host in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000"):
        lone("GET", "/v1/pools", 200, headers={"Host": host})


@pytest.mark.parametrize(
    ("headers", "slug"),
    [
        ({"Origin": "https://evil.example"}, "foreign-page"),
        ({"Origin": "http://localhost:9999"}, "foreign-page"),
        ({"Origin": "null"}, "foreign-page"),
        ({"Sec-Fetch-Site": "cross-site"}, "foreign-page"),
        ({"X-Forwarded-For": "192.0.2.1"}, "forwarded"),
        ({"Forwarded": "for=192.0.2.1"}, "forwarded"),
    ],
)
def test_requests_from_other_pages_and_proxies_are_refused_without_keys(lone, headers, slug):
    lone.pool(players="ab")
    told = assert_problem(lone("POST", "/v1/pools/chess/matchings", headers=headers), 403, slug)
    assert "require keys" in told["detail"]
    assert "proposed" not in lone.kinds()
    own = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    lone("POST", "/v1/pools/chess/matchings", 201, headers=own)


def test_a_proxy_may_forward_requests_where_keys_are_needed(tmp_path):
    api = Api(str(tmp_path / "pools.db"), keys="required")
    headers = {"X-Forwarded-For": "192.0.2.1", "Origin": "https://game.example"}
    try:
        assert_problem(api("GET", "/v1/pools", headers=headers), 401, "key-needed")
    finally:
        api.stop()


def test_characters_that_no_name_may_have_are_refused(api):
    """PostgreSQL takes no NUL in a text, so none may reach it."""
    api.pool(players="ab")
    game = api.game()
    batch = [{"game": game["id"], "outcome": "played"}, {"game": "\0", "outcome": "played"}]
    answer = api("POST", "/v1/pools/chess/outcomes", json={"outcomes": batch})
    assert_problem(answer, 422, "invalid-request")
    assert_problem(api("GET", "/v1/pools?cursor=AA"), 422, "invalid-request")
    assert_problem(api("PUT", "/v1/pools/chess/players/%ff"), 422, "invalid-request")
    assert api("GET", "/pools/%00").status_code == 404
    assert_problem(api.join("a\u200db"), 422, "invalid-request")  # a joiner, which nobody sees
    accented = "a\u00e9b"  # of which a cursor can be made
    api.join(accented)
    page = api.json("GET", "/v1/pools/chess/players?limit=2")
    assert [each["player"] for each in page["players"]] == ["a", accented]
    rest = api.json("GET", f"/v1/pools/chess/players?limit=2&cursor={page['next']}")
    assert [each["player"] for each in rest["players"]] == ["b"]


def test_a_policy_that_takes_few_players(lone, monkeypatch):
    def check_players(policy, count):
        if count > 16:
            raise PolicyError(f"escb is for at most 16 players, got {count}: take unimodal")

    monkeypatch.setattr(ESCB, "check_players", check_players)
    lone.pool(players="abcdefghijklmnop", policy="escb")
    told = assert_problem(lone("PUT", "/v1/pools/chess/players/q"), 409, "pool-full")
    assert "at most 16 players, got 17" in told["detail"]
    lone("PATCH", "/v1/pools/chess", 200, json={"policy": "unimodal"})
    lone.join("q")
    told = lone("PATCH", "/v1/pools/chess", json={"policy": "escb"})
    assert "at most 16 players, got 17" in assert_problem(told, 422, "invalid-request")["detail"]
    assert len(lone.propose()["games"]) == 8


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/pools", "GET, POST"),
        ("/v1/pools/chess", "DELETE, GET, PATCH"),
        ("/v1/pools/chess/matchings", "POST"),
        ("/healthz", "GET"),
    ],
)
def test_a_refusal_lists_the_methods_that_are_taken(lone, path, allowed):
    answer = lone("TRACE", path)
    assert answer.headers["allow"] == allowed
    assert f"use {allowed}" in assert_problem(answer, 405, "method-not-allowed")["detail"]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"content": '{"name": ', **JSON}, "not JSON, EOF while parsing a value at line 1"),
        ({"content": '{"name": "chess"}'}, "send the header Content-Type: application/json"),
        ({"content": "{}", "headers": {"Content-Type": "text/plain"}}, "not sent as JSON"),
        ({"content": "", **JSON}, "body breaks a rule, Field required, got None"),
        ({"content": "null", **JSON}, "body breaks a rule, Input should be an object, got None"),
        (
            {"content": "{}", "headers": {"Content-Type": "application/a+json; b=c"}},
            "body.name breaks a rule, Field required",
        ),
        ({"json": {"name": "Chess"}}, "at most 64 lower-case letters, digits, - and _"),
        ({"json": {"name": "x", "policy": 3}}, "body.policy breaks a rule"),
    ],
)
def test_a_refusal_of_a_body_names_what_is_wrong(lone, sent, says):
    told = assert_problem(lone("POST", "/v1/pools", **sent), 422, "invalid-request")
    assert says in told["detail"]
    assert told["errors"][0]["where"].startswith("body")
    assert "^" not in told["detail"]  # no pattern that people would have to read


def test_a_report_that_says_nothing(lone):
    lone.pool(players="ab")
    game = lone.game()
    told = lone.report(game, status=422)
    assert "neither `outcome` nor `answers`" in told["detail"]
    assert lone.stats()["feedback"]["repeated"] == 0
    assert lone.report(game, a="unknown")["result"] == "repeated"


def test_events_that_have_not_happened(lone):
    lone.pool(players="ab")
    for path in ("events?after=4", "events/stream?after=4"):
        told = assert_problem(lone("GET", f"/v1/pools/chess/{path}"), 422, "invalid-request")
        assert "the last one is 3" in told["detail"]
        assert told["last"] == 3
    for number in ("abc", "-1", "9" * 30, "4"):
        headers = {"Last-Event-ID": number}
        answer = lone("GET", "/v1/pools/chess/events/stream", headers=headers)
        assert_problem(answer, 422, "invalid-request")
    assert lone.json("GET", "/v1/pools/chess/events?after=3")["events"] == []


@pytest.mark.parametrize("name", ["%20", "%20ann", "ann%09", "ann%20"])
def test_blanks_around_a_name(lone, name):
    lone.pool()
    assert_problem(lone("PUT", f"/v1/pools/chess/players/{name}"), 422, "invalid-request")
    lone("PUT", "/v1/pools/chess/players/ann%20lee", 201)


def test_methods_make_no_labels(lone):
    for number in range(3):
        lone(f"FOO{number}", "/v1/pools", 405)
    counted = lone("GET", "/metrics").text
    assert "FOO" not in counted
    assert 'pairup_requests_total{method="other",route="/v1/pools",status="405"} 3.0' in counted


def test_the_pages_of_the_documentation_need_no_other_host(lone):
    page = lone("GET", "/docs", 200).text
    assert "://" not in page.replace("window.location.protocol + '//'", "")
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert len(addresses) == 3
    for address in addresses:
        lone("GET", address, 200)


def test_requests_are_numbered(lone):
    mine = lone("GET", "/healthz", headers={"X-Request-ID": "mine-1"})
    assert mine.headers["x-request-id"] == "mine-1"
    other = lone("GET", "/healthz", headers={"X-Request-ID": "not good\t"})
    assert len(other.headers["x-request-id"]) == 16


def test_every_answer_is_described(lone):
    described = lone.json("GET", "/openapi.json")
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            answers = operation["responses"]
            assert any(status.startswith("2") for status in answers), (method, path)
            for status, answer in answers.items():
                if int(status) >= 400:
                    shared = answer["$ref"].removeprefix("#/components/responses/")
                    (media,) = described["components"]["responses"][shared]["content"]
                    assert media == "application/problem+json", (method, path, status)
    assert "ProblemView" in described["components"]["schemas"]
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_refusals_in_a_batch_are_problems_with_addresses_of_their_own_also_when_sent_again(lone):
    lone.pool(players="ab")
    game = lone.propose()["games"][0]["id"]
    unknown = "1-1-0123456789abcdef-0"
    sent = {"outcomes": [{"game": each, "outcome": "played"} for each in (game, unknown)]}
    wishes = {"players": [{"player": "ann"}, {"player": "ann"}]}
    for path, body, address, slug in (
        ("/v1/pools/chess/outcomes", sent, f"/v1/games/{unknown}/outcome", "no-such-game"),
        ("/v1/pools/chess/players", wishes, "/v1/pools/chess/players", "invalid-request"),
    ):
        key = {"Idempotency-Key": slug}
        first, again = (lone.json("POST", path, json=body, headers=key) for _ in range(2))
        assert again == first
        problem = first["results"][1]["problem"]
        assert problem.keys() == {"type", "title", "status", "detail", "instance"}
        assert (problem["type"], problem["instance"]) == (f"/problems/{slug}", address)


def test_a_problem_that_version_0_1_0_has_stored_in_a_reply_is_sent_again_as_it_was(lone):
    lone.pool()
    problem = {"type": "/problems/no-such-game", "title": "There is no such game", "status": 404}
    problem |= {"detail": "no", "instance": "/v1/games/1-1-0123456789abcdef-0/outcome"}
    refused = {"game": "1-1-0123456789abcdef-0", "result": "refused", "problem": problem}
    body = {"outcomes": [{"game": refused["game"], "outcome": "played"}]}
    path, key = "/v1/pools/chess/outcomes", {"Idempotency-Key": "before"}
    lone.json("POST", path, json=body, headers=key)
    with lone.service.store.repairing() as transaction:
        digest, _ = transaction.reply("-", "before")
        transaction.drop_reply("-", "before")
        transaction.keep_reply("-", "before", 1, digest, json.dumps({"results": [refused]}), 0)
    assert lone.json("POST", path, json=body, headers=key) == {"results": [refused]}
