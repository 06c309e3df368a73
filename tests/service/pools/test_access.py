"""The service among its pools: what is in memory, at the same moment, and what it reads again."""

import threading
import time

import psycopg
import pytest
from sqlalchemy import text

from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import write_snapshot
from pairup.service.maintenance.verify import verify
from pairup.service.pools.access import PoolAccess
from pairup.service.pools.players import Wish, put_player
from pairup.service.pools.service import Service
from pairup.service.problems import RefusalError
from pairup.service.store import Store
from pairup.service.store.event_log import encode_body
from pairup.service.store.failures import StoreConflictError
from tests.support.service.pools import Api
from tests.support.service.services import services


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
    lone.service.expire_games()
    assert "expired" not in _stored_kinds(lone)
    lone.clock.advance(60)
    lone.service.expire_games()
    assert _stored_kinds(lone)[-1] == "expired"


def test_a_clock_that_was_ahead_does_not_keep_games_open(lone):
    lone.pool(players="ab")
    lone.clock.advance(86_400)
    lone.join("c")
    lone.clock.advance(-86_400)
    lone.propose(available=["a", "b"])
    lone.clock.advance(60)
    assert lone.status("a") == "waiting"
    events = lone.json("GET", "/v1/pools/chess/events")["events"]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)


@pytest.mark.parametrize("days", [2, 400])
def test_a_game_proposed_by_a_clock_that_was_ahead_frees_its_players(lone, days):
    lone.pool(players="abcd", lifetime_s=60)
    lone.game(available=["a", "b"])
    lone.clock.advance(86_400 * days)
    lone.game(available=["c", "d"])
    assert lone.status("a") == "waiting"  # its game has expired, in the future
    lone.clock.advance(-86_400 * days)
    assert lone.status("c") == "waiting"
    digest = lone.json("GET", "/v1/pools/chess/digest")
    lone.restart(crash=True)
    assert lone.json("GET", "/v1/pools/chess/digest") == digest
    assert len(lone.propose()["games"]) == 2
    lone.clock.advance(60)
    assert lone.status("a") == lone.status("c") == "waiting"


def test_clocks_may_differ_by_the_lifetime_of_a_game(lone):
    lone.pool(players="ab", lifetime_s=60)
    lone.clock.advance(60)
    lone.game()
    lone.clock.advance(-60)
    lone("PATCH", "/v1/pools/chess", 200, json={"lifetime_s": 1})  # later games only
    assert lone.status("a") == "proposed"
    lone.clock.advance(120)
    assert lone.status("a") == "waiting"


def test_a_pool_deleted_by_another_process_leaves_the_cache(postgres):
    database = postgres.new_database()
    one, other = Api(database), Api(database)
    try:
        one.pool(players="ab")
        other.pool("go", players="ab")
        other.game()
        other.game("go")
        number = one.service.pool_number("chess")
        one("DELETE", "/v1/pools/chess", 204)
        assert len(one.service.pools.cache) == 0
        other.clock.advance(60)
        other.service.expire_games()
        other.service.measure_pools()  # after which nobody has asked for it
        assert [cached.name for cached in other.service.pools.cache] == ["go"]
        assert other.kinds("go")[-1] == "expired"
        names = [f"chess (deleted, {number})", "go"]
        assert [verdict.pool for verdict in verify(one.service.store)] == names
        assert {verdict.error for verdict in verify(one.service.store)} == {""}
    finally:
        one.stop()
        other.stop()


def test_one_slow_pool_does_not_stop_the_others(tmp_path):
    api = Api(str(tmp_path / "pools.db"), threads=8, wait_s=0.3)
    try:
        api.wait()
        api.pool("slow", players="ab")
        api.pool("quick", players="ab")
        cached = api.service.pools.cache.find("slow")
        with cached.lock:
            answers = api.together(20, "GET", "/v1/pools/slow", also=["/v1/pools/quick", "/readyz"])
        assert [answer.status_code for answer in answers[20:]] == [200, 200]
        for answer in answers[:20]:
            assert answer.status_code == 503
            assert answer.json()["type"] == "/problems/pool-busy"
            assert answer.headers["retry-after"] == "1"
        said = {answer.json()["detail"].partition(":")[0] for answer in answers[:20]}
        assert "4 requests are waiting for this pool" in said
        assert "this pool has been busy for more than 0.3 s" in said
        api.propose("slow")
    finally:
        api.stop()


def test_a_reused_key_leaves_the_pool_in_memory(lone):
    lone.pool(players="abcd")
    key = {"Idempotency-Key": "k"}
    lone("POST", "/v1/pools/chess/matchings", 201, headers=key)
    (cached,) = lone.service.pools.cache
    kept = cached.pool
    lone("POST", "/v1/pools/chess/matchings", 422, headers=key, json={"available": ["a"]})
    assert cached.pool is kept is not None


def test_it_is_ready_when_all_is_compiled_and_read(lone, monkeypatch):
    lone.pool(players="abcd", policy="unimodal")
    lone.propose()
    held, let_go = threading.Event(), threading.Event()

    def slowly(policy):
        held.set()
        assert let_go.wait(60)

    monkeypatch.setattr("pairup.service.pools.service.warm_up", slowly)
    lone.restart()
    assert held.wait(60)
    refused = lone("GET", "/readyz", 503)
    assert refused.json()["type"] == "/problems/not-ready"
    assert refused.headers["retry-after"]
    assert lone("GET", "/healthz", 200)
    let_go.set()
    lone.wait()
    lone("GET", "/readyz", 200)
    assert [cached.pool.seq for cached in lone.service.pools.cache] == [6]


def test_old_replies_are_forgotten_in_portions(lone):
    pool = lone.service.pool_number(lone.pool())
    with lone.service.store.writing() as transaction:
        for number in range(2_500):
            at = lone.clock.now() + number
            transaction.keep_reply("me", str(number), pool, "d" * 64, "{}", at)
    lone.clock.advance(86_400 + 0.002)  # 2,000 of them are older than a day
    lone.service.forget_replies()
    with lone.service.store.reading() as transaction:
        kept = [number for number in range(2_500) if transaction.reply("me", str(number))]
    assert kept == list(range(2_000, 2_500))


def _stored_kinds(api):
    number = api.service.pool_number("chess")
    with api.service.store.reading() as transaction:
        return [recorded.event.kind for recorded in transaction.events(number)]


def test_pools_make_room_for_each_other(tmp_path):
    api = Api(str(tmp_path / "pools.db"), cached_pools=1)
    try:
        for name in ("one", "two", "three"):
            api.pool(name, players="abcd")
        for _ in range(3):
            for name in ("one", "two", "three"):
                for game in api.propose(name)["games"]:
                    api.report(game, "played")
        assert len(api.service.pools.cache) == 1
        assert [verdict.error for verdict in verify(api.service.store)] == ["", "", ""]
    finally:
        api.stop()


def test_a_pool_with_a_damaged_snapshot_is_read_from_its_log(api):
    api.pool(players="abcd")
    api.report(api.game(), "played")
    before = api.json("GET", "/v1/pools/chess/digest")
    api.restart(
        meanwhile=lambda: _change(api, "UPDATE snapshots SET body = :body", body=b"nonsense")
    )
    assert api.json("GET", "/v1/pools/chess/digest") == before


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        ("UPDATE events SET body = '{' WHERE seq = 3", "event 3 of pool"),
        ("UPDATE events SET kind = 'nonsense' WHERE seq = 3", "event 3 of pool"),
        ("DELETE FROM events WHERE seq = 3", "event 3 of pool"),
        ("DELETE FROM events WHERE seq > 3", "ends with event 3 instead of 6"),
        ("UPDATE events SET body = :twice WHERE seq = 3", "event 3 of pool"),  # a joins twice
    ],
)
def test_a_damaged_log_is_refused_by_name_and_not_touched(api, damage, says):
    api.pool(players="abcd")
    api.game()
    twice = encode_body('{"players":[1],"status":"away"}')
    values = {"twice": twice} if ":twice" in damage else {}
    api.restart(crash=True, meanwhile=lambda: _change(api, damage, **values))
    stored = _rows(api)
    for method, path in (("GET", "stats"), ("POST", "matchings"), ("PUT", "players/e")):
        answer = api(method, f"/v1/pools/chess/{path}", 503)
        assert answer.json()["type"] == "/problems/pool-unreadable"
        assert says in answer.json()["detail"]
    assert _rows(api) == stored
    (verdict,) = verify(api.service.store)
    assert says in verdict.error
    assert api.json("GET", "/v1/pools")["pools"]  # the others are served


def test_an_event_that_was_edited_is_noticed_though_it_can_be_applied(api):
    api.pool(players="abcd")
    damage = "UPDATE events SET at = at - 1 WHERE seq = 1"
    api.restart(crash=True, meanwhile=lambda: _change(api, damage))
    told = api("GET", "/v1/pools/chess", 503).json()
    assert "is not the one that was written up to event 5" in told["detail"]
    (verdict,) = verify(api.service.store)
    assert "one was replaced or edited" in verdict.error


def test_verify_finds_what_differs(api):
    api.pool(players="abcd")
    api.game()
    api.restart()
    _change(api, "UPDATE games SET state = 'played' WHERE place = 0")
    (verdict,) = verify(api.service.store)
    assert verdict.error == "the records of games differ from the log"
    _change(api, "UPDATE games SET state = 'proposed'")
    assert [each.error for each in verify(api.service.store)] == [""]
    with api.service.store.reading() as transaction:
        pool = replay(number := api.service.pool_number("chess"), transaction.events(number))
    pool.counters.matchings = 2
    _change(api, "UPDATE snapshots SET body = :body", body=write_snapshot(pool))
    (verdict,) = verify(api.service.store)
    assert verdict.error == "the snapshot after event 6 differs from the log"


def _change(api, statement, **values):
    store = Store(api.database)
    with store._writer() as connection:
        connection.execute(text(statement), values)
    store.close()


def _rows(api):
    with api.service.store._begin() as connection:
        return {
            table: sorted(map(str, connection.execute(text(f"SELECT * FROM {table}"))))
            for table in ("events", "games", "pools", "snapshots")
        }


def test_a_pool_with_options_beyond_today_s_limits_does_not_keep_the_service_from_starting(lone):
    """Its log was written before there were limits; here it is written past them."""
    rules = Rules.of({"options": {"period": 2**53 - 1}})
    lone.service.pools.create("old", rules, None, None)
    lone.pool(players="ab")
    lone.restart(crash=True)
    lone.wait()
    assert lone.json("GET", "/v1/pools/old")["options"] == {"period": 2**53 - 1}
    lone("PATCH", "/v1/pools/old", 200, json={"lifetime_s": 30})
    lone("PATCH", "/v1/pools/old", 422, json={"options": {"period": 101}})
    assert lone.json("PATCH", "/v1/pools/old", json={"options": {}})["options"] == {}


def test_a_decision_holds_no_lock_of_sqlite(lone):
    """While one pool decides, another is written to: SQLite has one writer for both."""
    lone.pool("slow", players="abcd")
    lone.pool("fast")

    def decide(work):
        lone.service.put_player("fast", "ann", "waiting")
        put_player(work, Wish("eve", "waiting"))

    lone.service.pools.change("slow", decide)
    assert lone.status("ann", "fast") == lone.status("eve", "slow") == "waiting"


def test_a_decision_is_made_again_when_another_process_was_faster(lone):
    lone.pool(players="abcd")
    store = Store(lone.database)
    other = Service(lone.service.settings, store, lone.clock)
    tries = []

    def decide(work):
        tries.append([work.pool.names[player] for player in work.pool.players])
        if len(tries) == 1:
            other.put_player("chess", "eve", "waiting")
        put_player(work, Wish("fay", "waiting"))

    lone.service.pools.change("chess", decide)
    other.close()
    assert tries == [["a", "b", "c", "d"], ["a", "b", "c", "d", "eve"]]
    assert lone.kinds()[-2:] == ["joined", "joined"]
    assert [each.error for each in verify(lone.service.store)] == [""]


def test_a_locked_row_of_postgresql_is_waited_for_no_longer_than_the_settings_say(postgres):
    """Also by requests that waited for one another before: the waits do not add up."""
    database = postgres.new_database()
    api = Api(database, wait_s=1.0)
    api.pool(players="ab")
    with psycopg.connect(database) as connection:
        connection.execute("SELECT * FROM pools FOR UPDATE")
        began = time.monotonic()
        answers = api.together(3, "PUT", "/v1/pools/chess/players/c", json={})
        waited = time.monotonic() - began
    assert {answer.status_code for answer in answers} == {503}
    assert waited < 1.9
    api("PUT", "/v1/pools/chess/players/c", 201, json={})
    api.stop()


@pytest.mark.parametrize(("created_again", "slug"), [(False, "no-such-pool"), (True, "busy")])
def test_a_pool_that_is_deleted_before_the_last_try_does_not_exist(
    database, monkeypatch, created_again, slug
):
    with services(database) as (one, other):
        one.create_pool("chess", {"policy": "unimodal"})
        change = PoolAccess._change

        def be_overtaken(self, cached, command, request, deadline, locks):
            if self is one.pools:
                if not locks:
                    raise StoreConflictError("another process was faster")
                other.delete_pool("chess")
                if created_again:
                    other.create_pool("chess", {"policy": "unimodal"})
            return change(self, cached, command, request, deadline, locks)

        monkeypatch.setattr(PoolAccess, "_change", be_overtaken)
        with pytest.raises(RefusalError) as refused:
            one.put_player("chess", "ann", "waiting")
        assert refused.value.slug == slug
