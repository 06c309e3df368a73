"""Many players at once: each is answered as if it had been sent alone, in few events."""

from tests.support.service.histories import facts
from tests.support.service.journal import check_replayed

PATH = "/v1/pools/chess/players"


def put(api, *wishes, status=200, **options):
    players = [{"player": player, "status": wish} for player, wish in wishes]
    return api.json("POST", PATH, status, json={"players": players}, **options)["results"]


def results(told):
    return [each["result"] for each in told]


def test_players_join_move_and_leave_at_once(api):
    api.pool(players=("ann", "bob"))
    told = put(api, ("ann", "away"), ("bob", "left"), ("cyd", "waiting"), ("dan", "away"))
    assert results(told) == ["moved", "left", "joined", "joined"]
    assert api.json("GET", "/v1/pools/chess")["players"] == {
        "waiting": 1,
        "proposed": 0,
        "playing": 0,
        "away": 2,
    }
    assert api.kinds()[-4:] == ["left", "moved", "joined", "joined"]
    digest = api.json("GET", "/v1/pools/chess/digest")
    check_replayed(api.service.store, "chess", digest)


def test_a_batch_of_players_does_what_single_requests_do(api):
    api.pool("chess", "abcd", lifetime_s=3600)
    api.pool("go", "abcd", lifetime_s=3600)
    put(api, ("e", "waiting"), ("a", "away"), ("b", "left"))
    api("DELETE", "/v1/pools/go/players/b", 204)
    api.join("a", "go", "away")
    api.join("e", "go")
    assert facts(api, "chess") == facts(api, "go")


def test_a_thousand_players_join_by_one_event(lone):
    lone.pool()
    told = put(lone, *((f"p{number}", "waiting") for number in range(1_000)))
    assert results(told) == ["joined"] * 1_000
    assert lone.kinds() == ["created", "joined"]


def test_a_wish_that_cannot_be_met_is_refused_alone(lone):
    lone.pool(players=("ann",))
    told = put(lone, ("ann", "waiting"), ("bob", "left"), ("cyd", "away"), ("cyd", "waiting"))
    assert results(told) == ["unchanged", "unchanged", "joined", "refused"]
    assert "named twice" in told[3]["problem"]["detail"]
    assert lone.status("cyd") == "away"


def test_players_who_leave_make_room_first(settings_api):
    lone = settings_api(max_players=3)
    lone.pool(players=("ann", "bob", "cyd"))
    told = put(lone, ("dan", "waiting"), ("eve", "waiting"), ("ann", "left"))
    assert results(told) == ["joined", "refused", "left"]
    assert told[1]["problem"]["type"] == "/problems/pool-full"


def test_open_games_of_players_who_leave_are_released_together(lone):
    lone.pool(players=("ann", "bob", "cyd", "dan"))
    lone.propose()
    put(lone, ("ann", "left"), ("bob", "left"), ("cyd", "left"), ("dan", "left"))
    assert lone.kinds()[-2:] == ["released", "left"]
    assert lone.stats()["games"]["released"]["left"] == 2


def test_a_batch_of_players_that_is_sent_twice_is_done_once(api):
    api.pool()
    headers = {"Idempotency-Key": "monday"}
    first = put(api, ("ann", "waiting"), headers=headers)
    assert put(api, ("ann", "waiting"), headers=headers) == first
    assert results(put(api, ("ann", "waiting"))) == ["unchanged"]
    assert api.kinds() == ["created", "joined"]


def test_a_batch_of_players_is_bounded(settings_api):
    lone = settings_api(max_player_changes=2)
    lone.pool()
    body = {"players": [{"player": name} for name in ("ann", "bob", "cyd")]}
    told = lone.json("POST", PATH, 413, json=body)
    assert told["type"] == "/problems/too-large"
    assert "max_player_changes" in told["detail"]
