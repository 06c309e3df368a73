"""When a request is sent again, and what is raised in the end; the service misbehaves."""

import json
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pairup.client import Patience, RefusedError, UnreachableError
from pairup.errors import ClientError
from tests.support.service.running import free_port

HURRIED = Patience(tries=3, pause_s=0.001, timeout_s=10)
OK = (200, b'{"status": "ok"}')
BROKEN_OFF = (None, b"")


def problem(type, detail=""):
    return json.dumps(
        {"type": f"/problems/{type}", "detail": detail}, separators=(",", ":")
    ).encode()


UNAVAILABLE = (503, problem("store-unavailable", "disk"))
MATCHING = {
    "id": f"1-0-{'0' * 16}",
    "pool": "chess",
    "games": [],
    "waiting": [],
    "proposed_at": "2026-01-01T12:00:00.000000Z",
    "expires_at": "2026-01-01T12:01:00.000000Z",
    "skipped": [],
    "unmatched": {},
    "alone": [],
}
PROPOSED = (201, json.dumps(MATCHING).encode())


@pytest.fixture
def client(misbehaving, make_client):
    with make_client(misbehaving.url, patience=HURRIED) as made:
        yield made


def test_a_post_is_sent_again_with_the_same_key(misbehaving, client):
    misbehaving.answers = [BROKEN_OFF, UNAVAILABLE, PROPOSED]
    assert client.propose("chess").id == MATCHING["id"]
    assert len(misbehaving.seen) == 3
    assert len(set(misbehaving.seen)) == 1
    misbehaving.answers = [PROPOSED]
    client.propose("chess")
    assert misbehaving.seen[3][1] not in (None, misbehaving.seen[0][1])


def test_patience_ends_with_the_last_refusal(misbehaving, client):
    misbehaving.answers = [UNAVAILABLE] * 4
    with pytest.raises(RefusedError, match="disk"):
        client.ready()
    assert len(misbehaving.answers) == 1


def test_patience_ends_where_no_answer_comes(misbehaving, client):
    misbehaving.answers = [BROKEN_OFF] * 4
    with pytest.raises(UnreachableError):
        client.ready()
    assert len(misbehaving.answers) == 1


@pytest.mark.parametrize(
    ("status", "type"), [(409, "busy"), (503, "pool-busy"), (507, "store-full")]
)
def test_a_passing_refusal_is_tried_again(misbehaving, client, status, type):
    misbehaving.answers = [(status, problem(type)), OK]
    assert client.ready().status == "ok"


def test_a_lasting_refusal_is_not_tried_again(misbehaving, client):
    misbehaving.answers = [(409, problem("store-unavailable")), OK]
    with pytest.raises(RefusedError):
        client.ready()
    assert len(misbehaving.answers) == 1


def test_a_player_not_found_after_a_lost_answer_has_left(misbehaving, client):
    misbehaving.answers = [BROKEN_OFF, (404, problem("no-such-player"))]
    assert client.leave("chess", "ann") is None
    misbehaving.answers = [(404, problem("no-such-player", "who?"))]
    with pytest.raises(RefusedError, match="who"):
        client.leave("chess", "ann")


def test_a_refusal_from_something_else_names_the_address(misbehaving, client):
    misbehaving.answers = [(404, b"<html>")]
    with pytest.raises(RefusedError, match="something other than a pairup service"):
        client.ready()


def test_an_answer_from_something_else_is_an_error(misbehaving, client):
    misbehaving.answers = [(200, b"<html>")]
    with pytest.raises(ClientError, match=r"GET /readyz is not a HealthView .*check the address"):
        client.ready()


def test_a_call_fails_where_no_service_answers(make_client):
    url = f"http://localhost:{free_port()}"
    with (
        make_client(url, patience=HURRIED) as client,
        pytest.raises(UnreachableError, match=r"no service answers at .* tried 3 times.*serve"),
    ):
        client.stats("chess")


def test_a_stream_of_events_fails_where_no_service_answers(make_client):
    with (
        make_client("http://127.0.0.1:9") as client,
        pytest.raises(UnreachableError, match="no service answers"),
    ):
        next(client.follow("chess"))


def test_pauses_double_up_to_the_longest():
    patience = Patience(pause_s=0.1, max_pause_s=5.0, jitter=lambda: 1.0)
    pauses = [patience.pause_after(attempt) for attempt in (1, 2, 3, 7, 5_000)]
    assert pauses == [0.1, 0.2, 0.4, 5.0, 5.0]


def test_pauses_are_random_and_may_be_as_short_as_nothing():
    patience = Patience(pause_s=1.0, jitter=random.Random(1).random)
    pauses = [patience.pause_after(2) for _ in range(1_000)]
    assert 0.0 <= min(pauses) < 0.1
    assert 1.9 < max(pauses) < 2.0
    assert 0.9 < sum(pauses) / 1_000 < 1.1
    assert Patience(pause_s=1.0).pause_after(2) != Patience(pause_s=1.0).pause_after(2)


@pytest.fixture
def slept(monkeypatch):
    """The pauses that were made, which take no time."""
    made = []

    async def sleep(seconds):
        made.append(seconds)

    monkeypatch.setattr("pairup.client.client.time.sleep", made.append)
    monkeypatch.setattr("pairup.client.client.anyio.sleep", sleep)
    return made


def date(moment):
    return format_datetime(moment, usegmt=True)


NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "least"),
    [
        ({}, 0),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": " 7 "}, 7),
        ({"Retry-After": date(NOW + timedelta(seconds=9)), "Date": date(NOW)}, 9),
        ({"Retry-After": date(NOW - timedelta(seconds=9)), "Date": date(NOW)}, 0),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:09 -0000", "Date": date(NOW)}, 9),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "-7"}, 0),
        ({"Retry-After": "7", "Status": 429}, 7),
        ({"Retry-After": "7", "Status": 507}, 7),
    ],
)
def test_the_pause_is_as_long_as_the_service_asks_for(
    misbehaving, make_client, slept, headers, least
):
    misbehaving.answers = [(headers.get("Status", 503), problem("not-ready"), headers), OK]
    with make_client(misbehaving.url, patience=Patience(jitter=lambda: 0.5)) as client:
        assert client.ready().status == "ok"
    assert slept == [pytest.approx(least + 0.1)]


def test_a_date_is_compared_with_our_clock_where_the_service_has_none(
    misbehaving, make_client, slept
):
    until = datetime.now(UTC) + timedelta(seconds=50)
    misbehaving.answers = [(503, problem("busy"), {"Retry-After": date(until)}), OK]
    with make_client(misbehaving.url) as client:
        assert client.ready().status == "ok"
    assert 30 < slept[0] < 51


def test_a_service_that_asks_for_more_patience_than_there_is_is_not_waited_for(
    misbehaving, make_client, slept
):
    patience = Patience(max_wait_s=20, jitter=lambda: 0.0)
    misbehaving.answers = [(429, problem("a"), {"Retry-After": str(8)})] * 5
    with make_client(misbehaving.url, patience=patience) as client, pytest.raises(RefusedError):
        client.ready()
    assert slept == [8, 8]  # a third time would be too much
    misbehaving.answers = [(429, problem("a"), {"Retry-After": "9" * 400})]
    with make_client(misbehaving.url, patience=patience) as client, pytest.raises(RefusedError):
        client.ready()
    assert len(slept) == 2


def test_pauses_without_an_answer_are_bounded_too(make_client, slept):
    patience = Patience(tries=10**9, pause_s=1, max_pause_s=1, max_wait_s=7, jitter=lambda: 1.0)
    with (
        make_client(f"http://localhost:{free_port()}", patience=patience) as client,
        pytest.raises(UnreachableError, match="tried 8 times"),
    ):
        client.ready()
    assert slept == [1.0] * 7
