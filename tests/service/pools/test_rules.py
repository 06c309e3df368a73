"""Rules of a pool: who may meet whom, what a match is worth, how long anyone waits."""

import json
import math
from dataclasses import replace

import pytest

import pairup
from pairup.assessment import simulate_history
from pairup.assessment.fit_checks import FitCheck
from tests.support.service.journal import check_replayed
from tests.support.service.pools import couples_of

PATH = "/v1/pools/chess/players"
RATING = {"kind": "distance", "attribute": "rating", "at_most": 100}


def put(api, player, status=201, **attributes):
    return api.json("PUT", f"{PATH}/{player}", status, json={"attributes": attributes})


def rated(api, **ratings):
    """Let players join with ratings."""
    for player, rating in ratings.items():
        put(api, player, rating=rating)


def check_logged(api):
    """The state is what the log leads to, also after a restart and after a crash."""
    digest = api.json("GET", "/v1/pools/chess/digest")
    check_replayed(api.service.store, "chess", digest)
    for crash in (False, True):
        api.restart(crash=crash)
        assert api.json("GET", "/v1/pools/chess/digest") == digest


def test_only_players_within_the_window_meet(api):
    api.pool(constraints=[RATING])
    rated(api, ann=1500, bob=1590, cyd=1900, dan=1700, eve=1780)
    told = api.propose()
    assert couples_of(told) == {("ann", "bob"), ("dan", "eve")}
    assert told["waiting"] == ["cyd"]
    assert (told["unmatched"], told["alone"]) == ({"distance:rating": 1}, ["cyd"])
    check_logged(api)


def test_a_window_widens_with_the_time_of_the_one_who_waited_longer(lone):
    relax = [{"after_s": 10, "at_most": 200}, {"after_s": 60, "at_most": None}]
    lone.pool(constraints=[{**RATING, "relax": relax}])
    rated(lone, ann=1500)
    lone.clock.advance(9)
    rated(lone, bob=1650, cyd=2500)
    assert lone.propose()["games"] == []
    lone.clock.advance(1)
    assert couples_of(lone.propose(available=["ann", "cyd"])) == set()
    matching = lone.propose()
    assert couples_of(matching) == {("ann", "bob")}
    lone("POST", f"/v1/matchings/{matching['id']}/release", 200)
    lone.clock.advance(50)
    assert couples_of(lone.propose(available=["ann", "cyd"])) == {("ann", "cyd")}


@pytest.mark.parametrize(
    ("constraint", "attributes", "together"),
    [
        ({"kind": "equal", "attribute": "a"}, {"ann": "eu", "bob": "us", "cyd": "eu"}, "ann cyd"),
        ({"kind": "equal", "attribute": "a"}, {"ann": 1, "bob": 2, "cyd": 2}, "bob cyd"),
        (
            {"kind": "different", "attribute": "a"},
            {"ann": "host", "bob": "guest", "cyd": "host", "dan": "host"},
            "bob",
        ),
        (
            {"kind": "overlap", "attribute": "a"},
            {"ann": ["en", "fr"], "bob": ["de"], "cyd": ["fr"]},
            "ann cyd",
        ),
        (
            {"kind": "latency", "attribute": "a", "at_most": 50},
            {"ann": {"eu": 20, "us": 90}, "bob": {"us": 10}, "cyd": {"eu": 50, "us": 90}},
            "ann cyd",
        ),
    ],
)
def test_each_kind_of_constraint_lets_the_right_players_meet(
    lone, constraint, attributes, together
):
    lone.pool(constraints=[constraint])
    for player, value in attributes.items():
        put(lone, player, a=value)
    (game,) = lone.propose()["games"]
    assert set(together.split()) <= set(game["players"])
    relaxed = [{**constraint, "relax": [{"after_s": 5}]}]
    lone.pool("go", constraints=relaxed)
    for player, value in attributes.items():
        lone("PUT", f"/v1/pools/go/players/{player}", json={"attributes": {"a": value}})
    lone.clock.advance(5)
    assert len(lone.propose("go")["games"]) == len(attributes) // 2


def test_blocked_players_do_not_meet_also_after_they_return(api):
    api.pool(constraints=[{"kind": "block", "attribute": "blocked"}])
    assert put(api, "ann", blocked=["bob", "stranger"])["attributes"] == {
        "blocked": ["bob", "stranger"]
    }
    api.join("bob")
    told = api.propose()
    assert (told["games"], told["unmatched"]) == ([], {"block:blocked": 2})
    api("DELETE", f"{PATH}/bob?forget=true", 204)
    api.join("bob")
    api.join("stranger")
    assert couples_of(api.propose()) == {("bob", "stranger")}
    check_logged(api)
    page = api.json("GET", "/v1/pools/chess/events?limit=100")["events"]
    (lists,) = (each["body"]["lists"] for each in page if each["kind"] == "attributed")
    assert lists == [{"player": "ann", "attribute": "blocked", "players": ["bob", "stranger"]}]


def test_a_blocked_name_is_erased_everywhere(api):
    api.pool(constraints=[{"kind": "block", "attribute": "blocked"}])
    put(api, "ann", blocked=["Wolfeschlegelstein", "bob"])
    api("DELETE", f"{PATH}/Wolfeschlegelstein?erase=true", 204)
    assert api.json("GET", f"{PATH}/ann")["attributes"] == {"blocked": ["bob"]}
    assert "Wolfe" not in api("GET", "/v1/pools/chess/events?limit=100").text
    check_logged(api)
    assert api.json("GET", f"{PATH}/ann")["attributes"] == {"blocked": ["bob"]}


@pytest.mark.parametrize("limit", [{"games": 1}, {"within_s": 30}])
def test_the_same_two_do_not_meet_again_within_a_cooldown(api, limit):
    api.pool(constraints=[{"kind": "cooldown", **limit}], players=("ann", "bob"))
    api.report(api.game(), "played")
    assert api.propose()["unmatched"] == {"cooldown": 2}
    check_logged(api)
    api.join("cyd")
    api.join("dan")
    for game in api.propose()["games"]:
        assert sorted(game["players"]) not in (["ann", "bob"], ["cyd", "dan"])
        api.report(game, "played")
    api.clock.advance(30)
    assert len(api.propose(available=["ann", "bob"])["games"]) == 1


def test_a_game_that_was_not_played_begins_no_cooldown(lone):
    lone.pool(constraints=[{"kind": "cooldown", "games": 3}], players=("ann", "bob"))
    lone.report(lone.game(), "cancelled")
    assert len(lone.propose()["games"]) == 1


def test_worth_decides_between_equal_chances(lone):
    lone.pool(worth=[{"kind": "distance", "attribute": "rating", "half_at": 10}])
    rated(lone, ann=0, bob=1000, cyd=1, dan=1001)
    told = lone.propose()
    assert couples_of(told) == {("ann", "cyd"), ("bob", "dan")}
    (event,) = lone.json("GET", "/v1/pools/chess/events?limit=100")["events"][-1:]
    assert event["body"]["ruled"]["worth"] == pytest.approx([0.933033, 0.933033])


def test_stats_have_waits_causes_and_the_worth_of_games(api):
    api.pool(constraints=[RATING], worth=[FAR])
    assert (api.stats()["waits_s"], api.stats()["worth"]) == (None, None)
    rated(api, ann=0)
    api.clock.advance(30)
    rated(api, bob=100, cyd=900, dan=999)
    api.clock.advance(10)
    waits = {"median": 10.0, "p95": 40.0, "longest": 40.0}
    assert api.stats()["waits_s"] == waits
    api.restart(crash=True)
    assert api.stats()["waits_s"] == waits
    api.propose(available=["ann", "bob", "cyd"])
    stats = api.stats()
    assert stats["unmatched"] == {"distance:rating": 1}
    assert stats["worth"] == pytest.approx(0.5)
    api("PATCH", "/v1/pools/chess", 200, json={"constraints": [], "worth": []})
    api.propose()
    assert api.stats()["worth"] == pytest.approx(0.75)  # without rules a game is worth 1
    assert (api.stats()["unmatched"], api.stats()["waits_s"]) == ({"distance:rating": 1}, None)
    check_logged(api)


def test_waits_do_not_shrink_when_the_clock_is_put_back(lone):
    lone.pool(players=("ann",))
    lone.clock.advance(60)
    lone.join("bob")
    lone.clock.advance(-50)
    assert lone.stats()["waits_s"]["longest"] == 60  # as a proposal counts it


def test_who_waited_longest_counts_for_more(lone):
    lone.pool(worth=[{"kind": "waiting", "double_after_s": 60}], players=("ann",))
    lone.clock.advance(600)
    lone.join("bob")
    lone.join("cyd")
    (game,) = lone.propose()["games"]
    assert "ann" in game["players"]


def test_nobody_waits_longer_than_allowed_while_there_is_a_partner(lone):
    far = {"kind": "distance", "attribute": "rating", "half_at": 1}
    lone.pool(max_wait_s=30, worth=[far])
    rated(lone, ann=900)
    lone.clock.advance(30)
    rated(lone, bob=0, cyd=1)
    (game,) = lone.propose()["games"]
    assert sorted(game["players"]) == ["ann", "cyd"]


def test_players_without_an_attribute_that_is_needed_are_refused(lone):
    lone.pool(constraints=[RATING, {"kind": "equal", "attribute": "region"}])
    told = lone.json("PUT", f"{PATH}/ann", 422, json={"attributes": {"rating": 5}})
    assert "has no attribute 'region', which the constraint equal:region needs" in told["detail"]
    told = lone.json("PUT", f"{PATH}/ann", 422, json={"attributes": {"rating": "x"}})
    assert "the constraint distance:rating needs a number" in told["detail"]
    lone("PUT", f"{PATH}/ann", 201, json={"status": "away"})
    lone("PUT", f"{PATH}/ann", 422, json={"status": "waiting"})
    put(lone, "bob", rating=1, region="eu")
    lone("PUT", f"{PATH}/bob", 422, json={"attributes": {"region": None}})
    told = lone.json(
        "PATCH",
        "/v1/pools/chess",
        422,
        json={"worth": [{"kind": "distance", "attribute": "skill", "half_at": 1}]},
    )
    assert "player 'bob' has no attribute 'skill'" in told["detail"]


def test_names_that_stand_in_the_log_as_text_are_not_taken_for_players(lone):
    lone.pool()
    put(lone, "ann", blocked=["bob"])
    rule = {"constraints": [{"kind": "block", "attribute": "blocked"}]}
    told = lone.json("PATCH", "/v1/pools/chess", 422, json=rule)
    assert "names could not be erased" in told["detail"]


def test_rules_change_and_go(lone):
    lone.pool(constraints=[RATING])
    rated(lone, ann=0, bob=1000)
    assert lone.propose()["games"] == []
    shown = lone.json("PATCH", "/v1/pools/chess", json={"constraints": []})
    assert shown["constraints"] == []
    assert len(lone.propose()["games"]) == 1


EQUAL = {"kind": "equal", "attribute": "region"}
FAR = {"kind": "distance", "attribute": "rating", "half_at": 100}


def relaxed(*steps, of=RATING):
    return {"constraints": [{**of, "relax": list(steps)}]}


# What is sent, where the answer says that it is wrong, and what it says of the value and the rule.
BAD_RULES = [
    ({"constraints": [{"kind": "nearby", "attribute": "x"}]}, "constraints.0", "'nearby'"),
    ({"constraints": [{"attribute": "x"}]}, "constraints.0", "'kind'"),
    ({"constraints": [{"kind": "equal"}]}, "constraints.0.equal.attribute", "required"),
    ({"constraints": {"kind": "equal"}}, "constraints", "valid array"),
    ({"constraints": [{**EQUAL, "at_most": 5}]}, "constraints.0.equal.at_most", "not permitted"),
    ({"constraints": [{**RATING, "at_most": -1}]}, "constraints.0.distance.at_most", "got -1"),
    ({"constraints": [{**RATING, "at_most": math.nan}]}, "constraints.0.distance.at_most", "nan"),
    ({"constraints": [{**RATING, "at_most": math.inf}]}, "constraints.0.distance.at_most", "inf"),
    ({"constraints": [{**RATING, "at_most": 1e300}]}, "constraints.0.distance.at_most", "less"),
    ({"constraints": [{**RATING, "at_most": "far"}]}, "constraints.0.distance.at_most", "'far'"),
    ({"constraints": [{**RATING, "attribute": ""}]}, "constraints.0.distance.attribute", "letter"),
    ({"constraints": [{**EQUAL, "attribute": "a b"}]}, "constraints.0.equal.attribute", "'a b'"),
    (
        {"constraints": [{**EQUAL, "attribute": "r\u00e9"}]},
        "constraints.0.equal.attribute",
        "ASCII",
    ),
    ({"constraints": [{**EQUAL, "attribute": "x" * 65}]}, "constraints.0.equal.attribute", "64"),
    ({"constraints": [{"kind": "cooldown"}]}, "constraints.0.cooldown", "`games` or `within_s`"),
    (
        {"constraints": [{"kind": "cooldown", "games": 1, "within_s": 1}]},
        "constraints.0.cooldown",
        "got 2 of them",
    ),
    (
        {"constraints": [{"kind": "cooldown", "games": 1.5}]},
        "constraints.0.cooldown.games",
        "got 1.5",
    ),
    ({"constraints": [RATING] * 10_000}, "constraints", "at most 16"),
    (relaxed({"after_s": 5, "at_most": 50}), "constraints.0.distance", "would tighten"),
    (relaxed({"after_s": 5}, {"after_s": 5}), "constraints.0.distance", "order of their times"),
    (relaxed({"after_s": 9}, {"after_s": 5}), "constraints.0.distance", "not later than 9"),
    (relaxed({"after_s": 0}), "constraints.0.distance.relax.0.after_s", "greater than 0"),
    (relaxed({"at_most": 500}), "constraints.0.distance.relax.0.after_s", "required"),
    (relaxed(*[{"after_s": 1}] * 10_000), "constraints.0.distance.relax", "at most 8"),
    (
        relaxed({"after_s": 5, "within_s": 2}, of={"kind": "cooldown", "games": 3}),
        "constraints.0.cooldown",
        "relax.0.within_s is 2, and the constraint counts `games`",
    ),
    ({"worth": [{**FAR, "half_at": 0}]}, "worth.0.distance.half_at", "greater than 0"),
    ({"worth": [{**FAR, "half_at": -1}]}, "worth.0.distance.half_at", "got -1"),
    ({"worth": [{**FAR, "kind": "closeness"}]}, "worth.0", "'closeness'"),
    ({"worth": [FAR] * 5}, "worth", "at most 4"),
    (
        {"worth": [{"kind": "waiting", "double_after_s": 1e-308}]},
        "worth.0.waiting.double_after_s",
        "0.001",
    ),
    ({"fairness": {"floor": 2}}, "fairness.floor", "less than or equal to 1"),
    ({"fairness": {"floor": math.nan}}, "fairness.floor", "nan"),
    ({"fairness": 0.5}, "fairness", "0.5"),
    ({"max_wait_s": -1}, "max_wait_s", "greater than 0"),
    ({"max_wait_s": math.inf}, "max_wait_s", "inf"),
]
# Rules that contradict each other: the sentence says which, and what to do.
CONTRADICTING_RULES = [
    ({"policy": "unimodal", "constraints": [RATING]}, "for complete graphs"),
    ({"policy": "unimodal", "fairness": {"floor": 0.5}}, "rank_one_thompson"),
    (
        {"constraints": [EQUAL, {**EQUAL, "kind": "overlap"}]},
        'equal:region needs text, for example "eu", and the constraint overlap:region needs a list',
    ),
    (
        {"constraints": [{**EQUAL, "kind": "block"}], "worth": [{**FAR, "attribute": "region"}]},
        "which no attribute is: name two attributes",
    ),
]


def both_ways(api, rules):
    """Send rules for a new pool and for one that there is; yields the refusals."""
    api.pool("go")
    for method, path, body in (("POST", "", {"name": "chess"}), ("PATCH", "/go", {})):
        sent = json.dumps({**body, **rules})  # also what is not a number
        headers = {"Content-Type": "application/json"}
        yield api.json(method, f"/v1/pools{path}", 422, content=sent, headers=headers)
    assert api.json("GET", "/v1/pools/go")["seq"] == 1  # a refusal leaves no trace
    api("GET", "/v1/pools/chess", 404)


def test_bad_rules_are_refused_with_path_value_and_rule(lone):
    for rules, where, said in BAD_RULES:
        for told in both_ways(lone, rules):
            first = told["errors"][0]
            assert first["where"] == f"body.{where}"
            assert said in f"{first['rule']}, got {first['sent']}", told["detail"]
            assert told["detail"].endswith(": correct it")
        lone("DELETE", "/v1/pools/go", 204)


@pytest.mark.parametrize(("rules", "said"), CONTRADICTING_RULES)
def test_rules_that_contradict_each_other_are_refused(lone, rules, said):
    for told in both_ways(lone, rules):
        assert said in told["detail"], told["detail"]


BAD_ATTRIBUTES = [
    ({"a b": 1}, "a b.[key]", "begins with a letter"),
    ({"": 1}, ".[key]", "begins with a letter"),
    ({"x": True}, "x.number", "got True"),
    ({"x": math.nan}, "x.number", "nan"),
    ({"x": -math.inf}, "x.number", "inf"),
    ({"x": 2**53}, "x.number", "less than"),
    ({"x": "t" * 129}, "x.text", "at most 128"),
    ({"x": [1]}, "x.list.0", "got 1"),
    ({"x": ["a"] * 257}, "x.list", "at most 256"),
    ({"x": {"eu": "near"}}, "x.numbers.eu", "'near'"),
    ({"x": {str(region): 1 for region in range(257)}}, "x.numbers", "at most 256"),
    ({f"a{number}": 1 for number in range(33)}, "", "at most 32"),
]


def test_bad_attributes_are_refused_with_path_value_and_rule(lone):
    lone.pool()
    headers = {"Content-Type": "application/json"}
    for attributes, where, said in BAD_ATTRIBUTES:
        sent = json.dumps({"attributes": attributes})
        told = lone.json("PUT", f"{PATH}/ann", 422, content=sent, headers=headers)
        first = told["errors"][0]
        assert first["where"] == f"body.attributes.{where}".removesuffix(".")
        assert said in f"{first['rule']}, got {first['sent']}", told["detail"]
    assert lone.json("GET", PATH)["players"] == []


@pytest.mark.parametrize("value", [0, "", {}, "bob", 5, {"bob": 1}, [""], ["\u202e"], [" bob"]])
def test_a_block_list_is_a_list_of_names(lone, value):
    lone.pool(constraints=[{"kind": "block", "attribute": "blocked"}])
    told = lone.json("PUT", f"{PATH}/ann", 422, json={"attributes": {"blocked": value}})
    assert "'blocked'" in told["detail"]
    assert "correct" in told["detail"]


def test_odd_texts_are_kept_as_they_are(api):
    api.pool(constraints=[EQUAL])
    for player, region in {
        "ann": "\x00",
        "bob": "\u202e",
        "cyd": "\x00",
        "dan": "",
        "eve": "",
    }.items():
        assert put(api, player, region=region)["attributes"] == {"region": region}
    assert couples_of(api.propose()) == {("ann", "cyd"), ("dan", "eve")}
    check_logged(api)
    assert api.json("GET", f"{PATH}/ann")["attributes"] == {"region": "\x00"}


def test_rules_that_players_lack_the_attributes_for_are_refused_with_the_way_out(lone):
    lone.pool(players=("ann",))
    told = lone.json("PATCH", "/v1/pools/chess", 422, json={"constraints": [EQUAL]})
    assert told["detail"] == (
        "player 'ann' has no attribute 'region', which the constraint equal:region needs: send "
        'text, for example "eu", as `attributes`, or let the player be away'
    )
    put(lone, "ann", 200, region=["eu"])
    told = lone.json("PATCH", "/v1/pools/chess", 422, json={"constraints": [EQUAL]})
    assert (
        "the attribute 'region' is ['eu'], and the constraint equal:region needs" in told["detail"]
    )
    lone.join("ann", status="away")
    lone("PATCH", "/v1/pools/chess", 200, json={"constraints": [EQUAL]})
    lone("PUT", f"{PATH}/ann", 422, json={"status": "waiting"})
    put(lone, "ann", 200, region="eu")
    lone("PUT", f"{PATH}/ann", 200, json={"status": "waiting"})


def test_names_that_players_who_left_listed_as_text_are_not_taken_for_players_either(lone):
    lone.pool(keep_records=True)
    put(lone, "ann", blocked=["bob"])
    lone("DELETE", f"{PATH}/ann", 204)
    rule = {"constraints": [{"kind": "block", "attribute": "blocked"}]}
    told = lone.json("PATCH", "/v1/pools/chess", 422, json=rule)
    assert "player 'ann' has the attribute 'blocked' already" in told["detail"]


@pytest.mark.parametrize(
    "allowed",
    [
        {"couples": [["ann", "cyd"], ["bob", "dan"]]},
        {"player_a": [0, 1], "player_b": [2, 3]},
        {"groups": [["ann", "cyd"], ["dan", "bob"]]},
    ],
)
def test_a_request_says_who_may_meet(api, allowed):
    api.pool(players=("ann", "bob", "cyd", "dan", "eve"))
    names = ["ann", "bob", "cyd", "dan", "eve"]
    told = api.propose(available=names, allowed=allowed)
    assert couples_of(told) == {("ann", "cyd"), ("bob", "dan")}
    assert (told["unmatched"], told["alone"]) == ({"allowed": 1}, ["eve"])
    check_logged(api)


def test_the_worth_of_a_request_decides(lone):
    lone.pool(players=("ann", "bob", "cyd"))
    allowed = {"couples": [["ann", "bob"], ["cyd", "bob"]], "worth": [1, 100_000]}
    assert couples_of(lone.propose(allowed=allowed)) == {("bob", "cyd")}


@pytest.mark.parametrize(
    ("allowed", "status", "said"),
    [
        ({}, 422, "either couples"),
        ({"couples": [], "groups": []}, 422, "either couples"),
        ({"couples": [["ann", "bob"]], "worth": []}, 422, "worth has an item"),
        ({"player_a": [0], "player_b": []}, 422, "an item for each couple"),
        ({"player_a": [0], "player_b": [9]}, 422, "places in `available`"),
        ({"couples": [["ann", "ann"]]}, 422, "meet itself"),
        ({"couples": [["ann", "zoe"]]}, 404, "not in pool"),
        ({"groups": [["ann"], ["ann"]]}, 422, "two groups"),
        ({"couples": [["ann", "cyd"]]}, 409, "not among the players"),
    ],
)
def test_bad_couples_of_a_request_are_refused(lone, allowed, status, said):
    lone.pool(players=("ann", "bob", "cyd"))
    body = {"available": ["ann", "bob"], "allowed": allowed}
    told = lone.json("POST", "/v1/pools/chess/matchings", status, json=body)
    assert said in told["detail"]


def test_absent_players_of_allowed_couples_are_skipped(lone):
    lone.pool(players=("ann", "bob"))
    body = {"unknown": "skip", "available": ["ann", "zoe", "bob"]}
    told = lone.propose(**body, allowed={"player_a": [0, 1], "player_b": [2, 2]})
    assert (couples_of(told), told["skipped"]) == ({("ann", "bob")}, ["zoe"])


@pytest.mark.parametrize("couples", [[], [["ann", "gone"]]])
def test_where_no_couple_is_allowed_everybody_waits(lone, couples):
    lone.pool(players=("ann", "bob"))
    told = lone.propose(allowed={"couples": couples}, unknown="skip")
    assert (told["games"], told["unmatched"]) == ([], {"allowed": 2})
    assert sorted(told["alone"]) == ["ann", "bob"]


def test_a_policy_for_complete_graphs_is_not_asked_for_allowed_couples(lone):
    lone.pool(policy="unimodal", players=("ann", "bob"))
    body = {"allowed": {"couples": [["ann", "bob"]]}}
    told = lone.json("POST", "/v1/pools/chess/matchings", 422, json=body)
    assert "for complete graphs" in told["detail"]


def test_a_pool_without_rules_stores_nothing_of_them(lone):
    lone.pool(players=("ann", "bob", "cyd"))
    lone.propose()
    page = lone.json("GET", "/v1/pools/chess/events")["events"]
    assert not {"constraints", "worth", "fairness", "max_wait_s"} & page[0]["body"]["rules"].keys()
    assert "ruled" not in page[-1]["body"]


def test_players_below_the_floor_are_owed_games(lone):
    lone.pool(fairness={"floor": 1.0}, players=("ann", "bob", "cyd"))
    waited = []
    for _ in range(6):
        told = lone.propose()
        waited += told["waiting"]
        lone.report(told["games"][0], "played")
    assert set(waited) == {"ann", "bob", "cyd"}
    digest = lone.json("GET", "/v1/pools/chess/digest")
    check_replayed(lone.service.store, "chess", digest)


def test_random_pairing_is_forecast_within_the_constraints(lone):
    """Two regions, in one of which everybody accepts and in the other nobody."""
    lone.pool(constraints=[{"kind": "equal", "attribute": "region"}], options={"period": 1})
    for number in range(8):
        put(lone, f"p{number}", region="eu" if number < 4 else "us")
    for _ in range(60):
        for game in lone.propose()["games"]:
            plays = all(int(player[1]) < 4 for player in game["players"])
            lone.report(game, "played" if plays else "cancelled")
    stats = lone.stats()
    assert stats["random_share"]["estimate"] == pytest.approx(0.5, abs=0.06)  # 3/14 among all
    assert abs(stats["compared"]["gain"]["estimate"]) < 0.06
    last = lone.json("GET", "/v1/pools/chess/events?after=115&limit=1000")["events"]
    proposed = [each["body"] for each in last if each["kind"] == "proposed"][-1]
    assert proposed["random"] == pytest.approx(proposed["best"], abs=0.02)


def test_the_rules_of_an_assessment_make_a_pool_that_proposes(lone):
    found = pairup.assess(simulate_history(players=20, rounds=20))
    told = lone.json("POST", "/v1/pools", 201, json=found.rules)
    assert told["fairness"] == {"floor": 0.5}
    falls, rises = ((0.0, 0.1, 0.01), (1.0, -0.1, 0.01)), ((0.0, -0.1, 0.01), (1.0, 0.1, 0.01))
    causes = {"pattern": (), "rating distance": falls, "same region": rises, "drift": ()}
    checks = tuple(
        FitCheck(name, "?", 0.001, 0.1, True, found.gain, found.gain, bins)
        for name, bins in causes.items()
    )
    rules = replace(found, checks=checks).rules | {"name": "chess"}
    assert rules.keys() >= {"worth", "constraints", "memory_s", "holdout"}
    assert rules["policy"] == "hierarchical_thompson"
    assert lone.json("POST", "/v1/pools", 201, json=rules)["holdout"] == 0.1
    for player in ("ann", "bob"):
        put(lone, player, rating=1500, region="eu")
    assert couples_of(lone.propose()) == {("ann", "bob")}


def test_a_holdout_compares_its_arms_in_stats_on_the_page_and_in_metrics(api):
    api.pool(players=[f"p{x}" for x in range(40)], holdout=0.5)
    arms = {True: [0, 0], False: [0, 0]}
    for _ in range(3):
        games = api.propose()["games"]
        event = api.json("GET", "/v1/pools/chess/events?limit=1000")["events"][-1]["body"]
        for place, game in enumerate(games):
            api.report(game, "played" if place % 3 else "cancelled")
            both = {player in event["control"] for player in game["players"]}
            if len(both) == 1:
                arm = arms[both.pop()]
                arm[0], arm[1] = arm[0] + 1, arm[1] + (place % 3 > 0)
    held = api.stats()["holdout"]
    for name, inside in (("control", True), ("policy", False)):
        assert [held[name]["games"], held[name]["played"]] == arms[inside]
    assert held["mixed_games"] == 60 - arms[True][0] - arms[False][0]
    gain = held["gain"]
    assert gain["estimate"] == pytest.approx(held["policy"]["share"] - held["control"]["share"])
    assert gain["low"] < gain["estimate"] < gain["high"]
    assert "games paired at random" in api("GET", "/pools/chess", 200).text
    lines = api("GET", "/metrics", 200).text.splitlines()
    shown = dict(line.rsplit(" ", 1) for line in lines if "pool_holdout" in line and line[0] != "#")
    named = {f'pairup_pool_holdout_gain{end}{{pool="chess"}}': end for end in ("", "_low", "_high")}
    for name, end in named.items():
        assert float(shown[name]) == gain[end.lstrip("_") or "estimate"]
    more = shown.get('pairup_pool_holdout_more_games{pool="chess"}')
    assert (None if more is None else int(float(more))) == held["more_games"]
    for crash in (False, True):
        api.restart(crash=crash)
        assert api.stats()["holdout"] == held
    check_logged(api)
