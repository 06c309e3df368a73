"""Limits of what callers send, ask for and leave behind; each is met with a problem."""

import sqlite3

import pytest

from tests.support.service.pools import Api


@pytest.fixture
def limited(tmp_path):
    """Make services with settings of their own."""
    running = []

    def start(**settings):
        running.append(Api(str(tmp_path / "pools.db"), **settings))
        running[-1].wait()  # what is compiled meanwhile would keep requests waiting
        return running[-1]

    yield start
    for each in running:
        each.stop()


def problem(answer):
    return answer.status_code, answer.json()["type"].removeprefix("/problems/")


def limits_met(api):
    text = api("GET", "/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("pairup_limits_total")]
    return {line.split('"')[1] for line in lines}


def test_too_many_requests_are_refused_until_time_has_passed(limited):
    api = limited(max_requests_per_s=0.01, burst_s=200)
    answers = [api("GET", "/v1/pools") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert problem(answers[-1]) == (429, "too-many-requests")
    assert 90 < int(answers[-1].headers["retry-after"]) <= 100
    assert api("GET", "/healthz").status_code == 200
    page = api("GET", "/")
    assert page.status_code == 429  # a page that people can read
    assert "max_requests_per_s" in page.text
    assert page.headers["content-type"].startswith("text/html")
    assert limits_met(api) == {"max_requests_per_s"}


def test_too_many_events_are_refused_and_reading_goes_on(limited):
    api = limited(max_events_per_s=0.01, burst_s=300)
    api.pool()
    assert [api.join(player).status_code for player in "abcd"] == [201, 201, 201, 429]
    refused = api.join("g")
    assert problem(refused) == (429, "too-many-events")
    assert int(refused.headers["retry-after"]) >= 1
    assert api.stats()["players"]["waiting"] == 3
    assert limits_met(api) == {"max_events_per_s"}


def test_answers_are_kept_compactly(lone, tmp_path):
    lone.pool()
    unknown = [{"game": f"{number:024x}", "outcome": "played"} for number in range(10_000)]
    key = {"Idempotency-Key": "k"}
    sent = {"json": {"outcomes": unknown}, "headers": key}
    first = lone("POST", "/v1/pools/chess/outcomes", 200, **sent)
    assert len(first.content) > 2_500_000
    with sqlite3.connect(tmp_path / "pools.db") as connection:
        (size,) = connection.execute("SELECT max(length(body)) FROM idempotent_replies").fetchone()
    connection.close()
    assert size < 150_000
    again = lone("POST", "/v1/pools/chess/outcomes", 200, **sent)
    assert (again.content, again.headers["idempotent-replay"]) == (first.content, "true")


@pytest.mark.parametrize("settings", [{"max_replies": 3}, {"max_replies_bytes": 1_000}])
def test_answers_that_are_kept_are_bounded(limited, settings):
    api = limited(**settings, keep_replies_s=60)
    api.pool(players=[f"p{number}" for number in range(40)])

    def release(number):
        """Propose under a key, and take the games back without one."""
        key = {"Idempotency-Key": str(number)}
        answer = api("POST", "/v1/pools/chess/matchings", headers=key)
        if answer.status_code == 201:
            api("POST", f"/v1/matchings/{answer.json()['id']}/release", 200)
        return answer

    kept = [release(number).status_code for number in range(4)]
    assert kept[0] == 201
    assert kept[-1] == 429
    assert problem(release(9)) == (429, "too-many-replies")
    api.restart()
    api.service.forget_replies()  # counts what others have kept
    assert problem(release(9)) == (429, "too-many-replies")
    api.propose()  # without a key it goes on
    assert api.stats()["games"]["open"] == 20
    api.clock.advance(61)
    api.service.forget_replies()
    assert release(9).status_code == 201
    api.clock.advance(-400 * 86_400)  # what a clock ahead has dated does not stay
    api.service.forget_replies()
    with api.service.store.reading() as transaction:
        assert transaction.count_replies() == {}


def test_a_damaged_answer_is_not_served(limited, tmp_path):
    api = limited()
    made = {"json": {"name": "chess"}, "headers": {"Idempotency-Key": "k"}}
    api("POST", "/v1/pools", 201, **made)
    with sqlite3.connect(tmp_path / "pools.db") as connection:
        (body,) = connection.execute("SELECT body FROM idempotent_replies").fetchone()
        changed = body[:-9] + bytes([body[-9] ^ 1]) + body[-8:]
        connection.execute("UPDATE idempotent_replies SET body = ?", (changed,))
    connection.close()
    assert problem(api("POST", "/v1/pools", **made)) == (503, "store-damaged")


def test_streams_are_counted(limited):
    api = limited(max_streams=1)
    api.pool()
    api.app.state.open_streams = 1
    refused = api("GET", "/v1/pools/chess/events/stream")
    assert problem(refused) == (503, "too-many-streams")
    assert limits_met(api) == {"max_streams"}


def test_the_number_of_pools_is_bounded(limited):
    api = limited(max_pools=2)
    api.pool("a")
    api.pool("b")
    assert problem(api("POST", "/v1/pools", json={"name": "c"})) == (409, "too-many-pools")
    api("DELETE", "/v1/pools/a", 204)
    api.pool("c")


def test_bodies_together_are_bounded(limited):
    api = limited(max_bodies_bytes=2_000)
    body = {"name": "chess", "options": {"period": 4}}
    large = {**body, "policy": " " * 2_100}  # one body may be larger than what is left for others
    assert problem(api("POST", "/v1/pools", json=large)) == (503, "too-much-at-once")
    assert api("POST", "/v1/pools", json=body).status_code == 201  # what was answered is forgotten


def test_headers_and_addresses_are_bounded(lone):
    assert problem(lone("GET", "/v1/pools", headers={"X-Long": "x" * 17_000})) == (
        431,
        "headers-too-large",
    )
    assert lone("GET", "/v1/pools?" + "a=b&" * 5_000).status_code == 431


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"name":' * 50_000 + "1" + "}" * 50_000,
        '{"name": "x", "seed": ' + "9" * 5_000 + "}",
        '{"name": "x", "seed": 1e400}',
        '{"name": "x", "lifetime_s": NaN}',
        '{"name": "\\ud800"}',
        '{"name": "x", "options": {"' + "p" * 65 + '": 1}}',
        '{"name": "x", "options": {"period": [[[[1]]]]}}',
    ],
    ids=range(8),
)
def test_json_that_is_deep_long_or_broken_is_a_problem(lone, body):
    answer = lone("POST", "/v1/pools", content=body, headers={"Content-Type": "application/json"})
    assert problem(answer) in ((422, "invalid-request"), (413, "too-large"))
    assert len(answer.content) < 20_000
