"""What leaving does to a player's record: forgotten, or kept until a return or a request."""

import pytest

from pairup.service.maintenance.verify import verify
from tests.support.service.journal import check_replayed

PLAYER = "/v1/pools/chess/players"


def play(api, rounds=6):
    for _ in range(rounds):
        for game in api.propose()["games"]:
            api.report(game, "played")


def known_couples(api):
    return sorted(tuple(sorted(couple)) for couple in api.learner()[0])


def check(api, pools=1):
    check_replayed(api.service.store, "chess", api.json("GET", "/v1/pools/chess/digest"))
    assert [verdict.error for verdict in verify(api.service.store)] == [""] * pools


def last_event(api):
    return api.json("GET", "/v1/pools/chess/events?limit=1000")["events"][-1]


def test_a_player_who_leaves_is_forgotten_and_the_log_has_the_rate(api):
    api.pool(players="abcd")
    play(api)
    api("DELETE", f"{PLAYER}/a", 204)
    body = last_event(api)["body"]
    assert body["forget"] is True
    (rate,) = body["rates"]
    assert 0.5 < rate < 1  # after six games that were played
    assert not any("a" in couple for couple in known_couples(api))
    api.restart(crash=True)
    check(api)


def test_a_record_is_kept_until_the_player_returns(api):
    api.pool(players="abcd", keep_records=True)
    play(api)
    before = known_couples(api)
    api("DELETE", f"{PLAYER}/a", 204)
    assert last_event(api)["body"] == {"players": ["a"], "forget": False, "rates": None}
    assert not any("a" in couple for couple in known_couples(api))
    api("GET", f"{PLAYER}/a", 404)
    left = last_event(api)
    api("DELETE", f"{PLAYER}/a", 204)  # sent again, it changes nothing
    assert last_event(api) == left
    api.restart(crash=True)
    assert api.join("a").status_code == 201
    assert known_couples(api) == before
    check(api)


def test_a_request_decides_against_the_rule(lone):
    lone.pool(players="abcd")
    play(lone)
    before = known_couples(lone)
    lone("DELETE", f"{PLAYER}/a?forget=false", 204)
    lone.join("a")
    assert known_couples(lone) == before
    lone("PATCH", "/v1/pools/chess", 200, json={"keep_records": True})
    lone("DELETE", f"{PLAYER}/a?forget=true", 204)
    lone.join("a")
    assert known_couples(lone) != before
    check(lone)


def test_a_kept_record_is_forgotten_on_request(api):
    api.pool(players="abcd", keep_records=True)
    play(api)
    before = known_couples(api)
    body = {"players": [{"player": player, "status": "left"} for player in "ab"]}
    api("POST", PLAYER, 200, json=body)
    api("DELETE", f"{PLAYER}/a?forget=true", 204)
    forgotten = last_event(api)
    assert (forgotten["kind"], forgotten["body"]["players"]) == ("forgotten", ["a"])
    api("DELETE", f"{PLAYER}/a?forget=true", 204)
    assert last_event(api) == forgotten
    api.join("a")
    api.join("b")
    assert known_couples(api) == [couple for couple in before if "a" not in couple]
    api.restart(crash=True)
    check(api)


def test_a_name_that_only_a_kept_reply_has_is_erased_there(api):
    api.pool(players="ab")
    body, key = {"available": ["a", "b", "gone"], "unknown": "skip"}, {"Idempotency-Key": "k"}
    sent = {"json": body, "headers": key}
    first = api.json("POST", "/v1/pools/chess/matchings", 201, **sent)
    assert first["skipped"] == ["gone"]
    before = api.kinds()
    api("DELETE", f"{PLAYER}/gone?erase=true", 204)
    again = api.json("POST", "/v1/pools/chess/matchings", 410, **sent)
    assert again["type"] == "/problems/reply-erased"
    assert "gone" not in str(again)
    assert api.kinds() == before


def test_players_who_are_kept_count_as_known(settings_api):
    lone = settings_api(max_players=3)
    lone.pool(players="abc", keep_records=True)
    lone("DELETE", f"{PLAYER}/a", 204)
    told = lone.json("PUT", f"{PLAYER}/d", 409, json={"status": "waiting"})
    assert told["type"] == "/problems/pool-full"
    assert lone.join("a").status_code == 201


@pytest.mark.parametrize("policy", ["unimodal", "uniform"])
def test_a_policy_that_cannot_fade_takes_no_half_life(lone, policy):
    body = {"name": "chess", "policy": policy, "memory_s": 3600}
    told = lone.json("POST", "/v1/pools", 422, json=body)
    assert "fade" in told["detail"]


def test_what_was_learnt_fades_with_the_dates_of_events(api):
    api.pool("chess", "abcd", memory_s=60, lifetime_s=1e6)
    api.pool("go", "abcd", lifetime_s=1e6)
    for pool in ("chess", "go"):
        for _ in range(10):
            for game in api.propose(pool)["games"]:
                api.report(game, "played")
    before = _rates(api, "chess"), _rates(api, "go")
    assert min(before[0] + before[1]) > 0.6
    api.clock.advance(600)  # ten half-lives
    api.join("e")
    api.join("e", "go")
    assert max(_rates(api, "chess")) < min(before[0])
    api.restart(crash=True)
    assert max(_rates(api, "chess")) < min(before[0])
    check(api, pools=2)


def _rates(api, pool):
    shown = api.json("GET", f"/v1/pools/{pool}/estimates")["players"]
    return [each["rate"] for each in shown if each["player"] in "abcd"]
