"""The resources of the service, on each kind of database."""

import pytest

from tests.support.service.pools import couples_of


def test_a_pool_is_made_shown_changed_and_deleted(api):
    made = api("POST", "/v1/pools", 201, json={"name": "chess", "lifetime_s": 30})
    assert made.headers["location"] == "/v1/pools/chess"
    shown = api.json("GET", "/v1/pools/chess")
    assert shown == made.json()
    assert (shown["policy"], shown["lifetime_s"]) == ("rank_one_thompson", 30)
    assert (shown["unreported"], shown["timeout_declines"]) == ("discard", False)
    changed = api.json("PATCH", "/v1/pools/chess", json={"unreported": "cancelled"})
    assert changed == {**shown, "unreported": "cancelled", "seq": 2}
    assert api.json("PATCH", "/v1/pools/chess", json={"unreported": "cancelled"}) == changed
    api("DELETE", "/v1/pools/chess", 204)
    api("GET", "/v1/pools/chess", 404)
    api("DELETE", "/v1/pools/chess", 204)  # sent again, it changes nothing
    api("DELETE", "/v1/pools/chses", 404)
    api("POST", "/v1/pools", 201, json={"name": "chess"})
    assert api.json("GET", "/v1/pools/chess")["seq"] == 1


def test_pools_are_listed_by_pages(api):
    for name in ("d", "b", "a", "c", "e"):
        api.pool(name)
    names, cursor = [], {}
    while True:
        page = api.json("GET", "/v1/pools", params={"limit": 2, **cursor})
        names += [pool["name"] for pool in page["pools"]]
        if page["next"] is None:
            break
        cursor = {"cursor": page["next"]}
    assert names == ["a", "b", "c", "d", "e"]


def test_players_join_are_away_and_leave(api):
    api.pool()
    assert api.join("ann").status_code == 201
    assert api.join("ann").status_code == 200
    assert api.join("bob", status="away").json()["status"] == "away"
    assert api.stats()["players"] == {"waiting": 1, "proposed": 0, "playing": 0, "away": 1}
    assert api.join("bob").json()["status"] == "waiting"
    api("DELETE", "/v1/pools/chess/players/ann", 204)
    api("DELETE", "/v1/pools/chess/players/ann", 204)  # sent again, it changes nothing
    api("GET", "/v1/pools/chess/players/ann", 404)
    assert api.kinds() == ["created", "joined", "joined", "moved", "left"]


@pytest.mark.parametrize("name", ["zoë", "a b", "a/b", "%2F", "?&#", "\U0001f3b2", "..."])
def test_players_have_any_name(lone, name):
    lone.pool()
    path = f"/v1/pools/chess/players/{_quoted(name)}"
    assert lone.json("PUT", path, 201)["player"] == name
    assert lone.json("GET", path)["player"] == name
    assert [each["player"] for each in lone.json("GET", "/v1/pools/chess/players")["players"]] == [
        name
    ]
    lone("DELETE", path, 204)


def _quoted(name):
    from urllib.parse import quote

    return quote(name, safe="")


def test_players_are_listed_by_pages(lone):
    lone.pool(players="hgfedcba")
    lone.join("c", status="away")
    first = lone.json("GET", "/v1/pools/chess/players?limit=5&status=waiting")
    second = lone.json(
        "GET", f"/v1/pools/chess/players?limit=5&status=waiting&cursor={first['next']}"
    )
    names = [each["player"] for page in (first, second) for each in page["players"]]
    assert names == list("abdefgh")
    assert second["next"] is None


def test_a_matching_is_proposed_and_shown(api):
    api.pool(players="abcde")
    answer = api("POST", "/v1/pools/chess/matchings", 201)
    matching = answer.json()
    assert answer.headers["location"] == f"/v1/matchings/{matching['id']}"
    of_proposal = {"skipped": [], "unmatched": {"odd": 1}, "alone": []}
    assert matching == {**api.json("GET", answer.headers["location"]), **of_proposal}
    assert len(matching["games"]) == 2
    assert len(matching["waiting"]) == 1
    players = [player for game in matching["games"] for player in game["players"]]
    assert sorted([*players, *matching["waiting"]]) == list("abcde")
    assert all(0 <= game["chance"] <= 1 for game in matching["games"])
    assert matching["expires_at"] == "2026-01-01T00:01:00.000000Z"
    assert {api.status(player) for player in players} == {"proposed"}
    assert api.json("GET", f"/v1/games/{matching['games'][0]['id']}") == matching["games"][0]


def test_a_player_with_an_open_game_is_not_proposed_another(api):
    api.pool(players="abcd")
    api.propose(available=["a", "b"])
    assert couples_of(api.propose()) == {("c", "d")}
    refused = api("POST", "/v1/pools/chess/matchings", 409).json()
    assert refused["type"] == "/problems/too-few-players"
    api.join("a")
    assert api.status("a") == "proposed"
    refused = api("POST", "/v1/pools/chess/matchings", 409, json={"available": ["a", "b"]}).json()
    assert refused["type"] == "/problems/players-not-waiting"
    assert refused["players"] == {"a": "proposed", "b": "proposed"}


def test_players_who_are_away_are_not_proposed(lone):
    lone.pool(players="abc")
    lone.join("b", status="away")
    assert couples_of(lone.propose()) == {("a", "c")}


def test_couples_are_kept_apart(lone):
    lone.pool(players="abcd")
    apart = [["a", "b"], ["d", "a"]]
    assert couples_of(lone.propose(apart=apart)) == {("a", "c"), ("b", "d")}


def test_a_matching_of_forbidden_couples_only_is_empty(lone):
    lone.pool(players="abc")
    matching = lone.propose(apart=[["a", "b"], ["b", "c"], ["a", "c"]])
    assert (matching["games"], sorted(matching["waiting"])) == ([], ["a", "b", "c"])
    assert len(lone.propose()["games"]) == 1


def test_a_release_takes_open_games_back(api):
    api.pool(players="abcd")
    matching = api.propose()
    first = matching["games"][0]
    api.report(first, "played")
    released = api.json("POST", f"/v1/matchings/{matching['id']}/release")
    assert [game["state"] for game in released["games"]] == ["played", "released"]
    assert released == api.json("GET", f"/v1/matchings/{matching['id']}")
    assert released == api.json("POST", f"/v1/matchings/{matching['id']}/release")
    assert api.stats()["players"]["waiting"] == 4
    couples, _, pending = api.learner()
    assert couples == {tuple(sorted(first["players"])): (1, 1)}
    assert pending == {}
    assert api.kinds()[-2:] == ["decided", "released"]


def test_the_open_game_of_a_player_who_leaves_is_released(api):
    api.pool(players="ab")
    game = api.game()
    api("DELETE", "/v1/pools/chess/players/a", 204)
    assert api.json("GET", f"/v1/games/{game['id']}")["state"] == "released"
    assert api.status("b") == "waiting"
    assert api.report(game, "played")["result"] == "late"
    api.join("a")
    assert api.learner()[0] == {}


def test_players_play_until_they_wait_again(lone):
    lone.pool(players="ab", after_game="playing")
    lone.report(lone.game(), "played")
    assert lone.stats()["players"]["playing"] == 2
    lone("POST", "/v1/pools/chess/matchings", 409)
    lone.join("a")
    lone.join("b")
    lone.report(lone.game(), "cancelled")
    assert lone.stats()["players"]["waiting"] == 2


def test_a_player_who_goes_away_during_a_game_is_away_after_it(lone):
    lone.pool(players="ab")
    game = lone.game()
    lone.join("a", status="away")
    assert lone.status("a") == "proposed"
    lone.report(game, "played")
    assert (lone.status("a"), lone.status("b")) == ("away", "waiting")


def test_a_new_policy_knows_the_couples(api):
    api.pool(players="abcd")
    for game in api.propose()["games"]:
        api.report(game, "played")
    game, _ = api.propose()["games"]
    known = api.learner()[0]
    api("PATCH", "/v1/pools/chess", 200, json={"policy": "unimodal", "options": {"index": "ucb"}})
    assert api.learner()[0] == known
    assert api.report(game, "cancelled")["result"] == "learnt"
    assert api.json("GET", "/v1/pools/chess")["options"] == {"index": "ucb"}
    api("PATCH", "/v1/pools/chess", 422, json={"policy": "unimodl"})
    api("PATCH", "/v1/pools/chess", 422, json={"policy": "oracle"})


def test_estimates_are_ordered_and_limited(lone):
    lone.pool(players="abcd")
    for _ in range(20):
        for game in lone.propose()["games"]:
            lone.report(game, "played" if "a" in game["players"] else "cancelled")
    shown = lone.json("GET", "/v1/pools/chess/estimates")
    assert shown["players"][0]["player"] == "a"
    assert all(each["low"] <= each["rate"] <= each["high"] for each in shown["players"])
    assert sum(couple["proposed"] for couple in shown["couples"]) == 40
    assert shown["couples_known"] == len(shown["couples"])
    for limit in range(1, shown["couples_known"]):
        few = lone.json("GET", f"/v1/pools/chess/estimates?limit={limit}")
        assert few["couples"] == shown["couples"][:limit]
        assert few["couples_known"] == shown["couples_known"]


@pytest.mark.parametrize("policy", ["unimodal", "uniform", "epsilon_greedy"])
def test_players_are_shown_with_estimates_if_the_policy_knows_couples_only(lone, policy):
    lone.pool(players="abcd", policy=policy)
    for _ in range(20):
        for game in lone.propose()["games"]:
            lone.report(game, "played" if "a" in game["players"] else "cancelled")
    shown = lone.json("GET", "/v1/pools/chess/estimates")["players"]
    assert {each["player"] for each in shown} == set("abcd")
    if policy != "uniform":
        assert shown[0]["player"] == "a"
    assert lone.stats()["random_share"]["low"] < lone.stats()["random_share"]["high"]


def test_the_deviation_of_couples_is_shown_if_the_policy_learns_it(lone):
    lone.pool(players="abcd", policy="hierarchical_thompson")
    assert lone.stats()["couple_deviation"]["low"] == 0.0
    together = ({"a", "b"}, {"c", "d"})
    for _ in range(60):
        for game in lone.propose()["games"]:
            lone.report(game, "played" if set(game["players"]) in together else "cancelled")
    found = lone.stats()["couple_deviation"]
    assert 0.1 < found["low"] < found["estimate"] < found["high"]
    lone.pool("other", players="abcd", policy="rank_one_thompson")
    assert lone.stats("other")["couple_deviation"] is None


def test_a_pool_that_did_nothing_has_no_shares_and_no_course(lone):
    lone.pool()
    stats = lone.stats()
    assert (stats["played_share"], stats["random_share"]) == (None, None)
    assert stats["course"] == {"width": 1, "buckets": []}


def test_the_course_of_a_long_run_stays_short(lone):
    lone.pool(players="ab")
    for number in range(150):
        lone.report(lone.game(), "played" if number % 3 else "cancelled")
    stats = lone.stats()
    assert stats["course"]["width"] == 2
    buckets = stats["course"]["buckets"]
    assert [bucket["index"] for bucket in buckets] == list(range(0, 150, 2))
    assert sum(bucket["games"] for bucket in buckets) == 150
    assert sum(bucket["played"] for bucket in buckets) == 100
    assert all(0 <= bucket["random"] <= 1 for bucket in buckets)
    assert stats["played_share"]["estimate"] == pytest.approx(2 / 3)


def test_events_come_by_pages(api):
    api.pool(players="abc")
    first = api.json("GET", "/v1/pools/chess/events?limit=3")
    assert [event["seq"] for event in first["events"]] == [1, 2, 3]
    assert first["next"] == first["last"]
    rest = api.json("GET", f"/v1/pools/chess/events?after={first['next']}")
    assert [event["body"] for event in rest["events"]] == [{"players": ["c"], "status": "waiting"}]
    assert rest["next"] is None
    assert first["first"] == rest["first"] == 1


def test_a_service_that_is_up_is_healthy_and_ready(api):
    assert api.json("GET", "/healthz") == {"status": "ok"}
    api.wait()
    ready = api.json("GET", "/readyz")
    assert ready.pop("status") == "ok"
    # The server of PostgreSQL that tests use does not wait for its disk, which is said.
    unsafe = ["fsync"] if api.database.startswith("postgresql") else []
    assert [why.partition(" ")[0] for why in ready.get("unsafe", [])] == unsafe
