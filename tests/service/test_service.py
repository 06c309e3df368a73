"""The service among its pools: what is in memory, at the same moment, and what it reads again."""

import threading

import pytest
from sqlalchemy import text

from pairup.service.verify import verify
from pools import Api


def test_the_same_request_at_the_same_moment_is_done_once(api):
    key = {"Idempotency-Key": "k"}
    made = api.together(8, "POST", "/v1/pools", json={"name": "chess"}, headers=key)
    assert {answer.status_code for answer in made} == {201}
    for player in "abcd":
        api.join(player)
    key = {"Idempotency-Key": "l"}
    answers = api.together(8, "POST", "/v1/pools/chess/matchings", headers=key)
    assert len({answer.content for answer in answers}) == 1
    assert api.kinds().count("proposed") == 1


def test_many_proposals_at_the_same_moment_share_no_player(api):
    api.pool(players="abcdefgh")
    answers = api.together(6, "POST", "/v1/pools/chess/matchings")
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409]


def test_a_pool_is_made_once_by_two_services(postgres):
    database = postgres.new_database()
    services = [Api(database), Api(database)]
    try:
        for api in services:  # FastAPI prepares a route when it is first used, in one thread only
            api("POST", "/v1/pools", 422, json={})
        answers = []

        def make(api, key):
            for number in range(10):
                headers, body = {"Idempotency-Key": f"{key}-{number}"}, {"name": f"pool-{number}"}
                answers.append(api("POST", "/v1/pools", json=body, headers=headers).status_code)

        for keys in (("same", "same"), ("one", "other")):
            threads = [
                threading.Thread(target=make, args=pair)
                for pair in zip(services, keys, strict=True)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        # With the same key both get the answer; with their own keys the pools exist already.
        assert sorted(answers) == [201] * 20 + [409] * 20
        assert [verdict.events for verdict in verify(services[0].service.store)] == [1] * 10
    finally:
        for each in services:
            each.stop()


def test_games_expire_though_nobody_asks(lone):
    lone.pool(players="ab")
    lone.game()
    lone.service.sweep()
    assert "expired" not in _stored_kinds(lone)
    lone.clock.advance(60)
    lone.service.sweep()
    assert _stored_kinds(lone)[-1] == "expired"


def _stored_kinds(api):
    id = api.service.find("chess")
    with api.service.store.reading() as transaction:
        return [recorded.event.kind for recorded in transaction.events(id)]


def test_pools_make_room_for_each_other(tmp_path):
    api = Api(str(tmp_path / "pools.db"), cached_pools=1)
    try:
        for name in ("one", "two", "three"):
            api.pool(name, players="abcd")
        for _ in range(3):
            for name in ("one", "two", "three"):
                for game in api.propose(name)["games"]:
                    api.report(game, "played")
        assert len(api.service._seats) == 1
        assert [verdict.wrong for verdict in verify(api.service.store)] == ["", "", ""]
    finally:
        api.stop()


def test_a_damaged_snapshot_is_made_anew_from_the_log(api):
    api.pool(players="abcd")
    api.report(api.game(), "played")
    before = api.json("GET", "/v1/pools/chess/digest")
    api.restart()
    _change(api, "UPDATE snapshots SET body = :body", body=b"nonsense")
    assert api.json("GET", "/v1/pools/chess/digest") == before


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE events SET body = '{' WHERE seq = 3", "event 3 of pool"),
        ("UPDATE events SET kind = 'nonsense' WHERE seq = 3", "event 3 of pool"),
        ("DELETE FROM events WHERE seq = 3", "event 3 of pool"),
        ("DELETE FROM events WHERE seq > 3", "ends with event 3 instead of 6"),
        (
            'UPDATE events SET body = \'{"player":"a","status":"away"}\' WHERE seq = 3',
            "event 3 of pool",  # a joins twice
        ),
    ],
)
def test_a_damaged_log_is_refused_by_name_and_not_touched(api, damage, says):
    api.pool(players="abcd")
    api.game()
    api.restart(crash=True)
    _change(api, damage)
    stored = _rows(api)
    for method, path in (("GET", "stats"), ("POST", "matchings"), ("PUT", "players/e")):
        answer = api(method, f"/v1/pools/chess/{path}", 503)
        assert answer.json()["type"] == "/problems/store-damaged"
        assert says in answer.json()["detail"]
    assert _rows(api) == stored
    (verdict,) = verify(api.service.store)
    assert says in verdict.wrong or "ends with" in says
    assert api.json("GET", "/v1/pools")["pools"]  # the others are served


def test_verify_finds_what_differs(api):
    api.pool(players="abcd")
    game = api.game()
    api.restart()
    _change(api, "UPDATE games SET state = 'played' WHERE id = :id", id=game["id"])
    (verdict,) = verify(api.service.store)
    assert verdict.wrong == "the records of games differ from the log"
    _change(api, "UPDATE games SET state = 'proposed'")
    assert [each.wrong for each in verify(api.service.store)] == [""]
    with api.service.store.reading() as transaction:
        (snapshot,) = transaction.snapshots(api.service.find("chess"))
    other = snapshot.replace(b'"matchings":1', b'"matchings":2')
    _change(api, "UPDATE snapshots SET body = :body", body=other)
    (verdict,) = verify(api.service.store)
    assert verdict.wrong == "the snapshot after event 6 differs from the log"


def _change(api, statement, **values):
    with api.service.store._begin(writes=True) as connection:
        connection.execute(text(statement), values)


def _rows(api):
    with api.service.store._begin(writes=False) as connection:
        return {
            table: sorted(map(str, connection.execute(text(f"SELECT * FROM {table}"))))
            for table in ("events", "games", "pools", "snapshots")
        }
