"""Pools in shadow: rounds of another matchmaker are learnt, and compared with the pool's own."""

import random

import pytest

from pairup.service.maintenance.verify import verify
from scripts.figures.shadow import Case, observe
from tests.support.service.journal import check_replayed

ROUND = [
    {"players": ["ann", "bob"], "outcome": "played"},
    {"players": ["cyd", "dan"], "answers": {"cyd": "accepted", "dan": "declined"}},
]
OBSERVED = "/v1/pools/chess/observed"


def send(api, games, status=200, **options):
    return api.json("POST", OBSERVED, status, json={"games": games}, **options)


def problem(told):
    return told["type"].removeprefix("/problems/")


def check_sound(api):
    digest = api.json("GET", "/v1/pools/chess/digest")
    check_replayed(api.service.store, "chess", digest)
    assert {found.error for found in verify(api.service.store)} == {""}
    return digest


def last_event(api):
    return api.json("GET", "/v1/pools/chess/events?limit=1000")["events"][-1]


def test_a_round_is_learnt_and_answered_with_what_would_have_been_proposed(api):
    api.pool(mode="shadow")
    told = send(api, ROUND)
    assert (told["games"], told["played"], told["why"]) == (2, 1, None)
    assert told["joined"] == ["ann", "bob", "cyd", "dan"]
    suggested = told["suggested"]
    assert sorted(p for game in suggested["games"] for p in game["players"]) == told["joined"]
    couples, answers, pending = api.learner()
    assert couples == {("ann", "bob"): (1, 1), ("cyd", "dan"): (1, 0)}
    assert (answers["cyd"], answers["dan"], pending) == ((1, 0), (0, 1), {})
    assert api.kinds() == ["created", "joined", "observed"]
    body = last_event(api)["body"]
    assert body["couples"] == [["ann", "bob"], ["cyd", "dan"]]
    assert body["suggested"]["games"] == suggested["games"]
    shadow = api.stats()["shadow"]
    assert [shadow[name] for name in ("rounds", "uncompared", "games", "played")] == [1, 0, 2, 1]
    assert send(api, ROUND[:1])["joined"] == []
    before = check_sound(api)
    api.restart(crash=True)
    assert check_sound(api) == before
    api.restart()
    assert check_sound(api) == before
    assert api.stats()["shadow"]["games"] == 3


def test_a_round_with_the_same_key_is_learnt_once(lone):
    lone.pool(mode="shadow")
    headers = {"Idempotency-Key": "round-1"}
    assert send(lone, ROUND, headers=headers) == send(lone, ROUND, headers=headers)
    assert lone.stats()["shadow"]["rounds"] == 1


def test_a_pool_either_proposes_or_observes(lone):
    lone.pool(players=["ann", "bob"])
    assert lone.stats()["shadow"] is None
    assert problem(send(lone, ROUND, 409)) == "wrong-mode"
    assert lone.json("PATCH", "/v1/pools/chess", json={"mode": "shadow"})["mode"] == "shadow"
    refused = lone.json("POST", "/v1/pools/chess/matchings", 409, json={})
    assert (problem(refused), refused["mode"]) == ("wrong-mode", "shadow")
    send(lone, ROUND)
    lone.json("PATCH", "/v1/pools/chess", json={"mode": "live"})
    assert lone.stats()["shadow"]["games"] == 2  # what was found out stays
    assert lone.learner()[0][("ann", "bob")] == (1, 1)
    assert len(lone.propose()["games"]) == 1
    lone.json("PATCH", "/v1/pools/chess", json={"mode": "shadow"})
    assert lone.stats()["shadow"]["rounds"] == 0


@pytest.mark.parametrize("change", [{"memory_s": 60}, {"max_wait_s": 5}, {"holdout": 0.1}])
def test_rounds_before_a_change_of_who_would_meet_are_not_compared(lone, change):
    lone.pool(mode="shadow")
    send(lone, ROUND)
    assert lone.stats()["shadow"]["compared"]["games"] == 2
    lone.json("PATCH", "/v1/pools/chess", json={"timeout_declines": True})
    assert lone.stats()["shadow"]["rounds"] == 1
    lone.json("PATCH", "/v1/pools/chess", json=change)
    assert lone.stats()["shadow"]["rounds"] == 0
    check_sound(lone)


def test_an_ordinary_pool_is_stored_as_before(lone):
    lone.pool()
    created = lone.json("GET", "/v1/pools/chess/events")["events"][0]
    assert "mode" not in created["body"]["rules"]


@pytest.mark.parametrize(
    ("games", "said"),
    [
        ([*ROUND, {"players": ["ann", "eve"], "outcome": "played"}], "'ann' is in the round 2"),
        ([{"players": ["ann", "ann"], "outcome": "played"}], "'ann' is in the round 2"),
        ([{"players": ["ann", "bob"]}], "neither `outcome` nor `answers`"),
        ([{"players": ["ann", "bob"], "answers": {"ann": "accepted"}}], "not known whether"),
        ([{"players": ["ann", "bob"], "answers": {"eve": "accepted"}}], "'eve' is not in this"),
        ([], ""),
    ],
)
def test_a_round_that_breaks_a_rule_leaves_no_trace(lone, games, said):
    lone.pool(mode="shadow")
    refused = send(lone, games, 422)
    assert problem(refused) == "invalid-request"
    assert said in refused["detail"]
    assert lone.kinds() == ["created"]


def test_new_players_must_find_room(settings_api):
    lone = settings_api(max_players=3)
    lone.pool(mode="shadow")
    assert problem(send(lone, ROUND, 409)) == "pool-full"
    assert send(lone, ROUND[:1])["joined"] == ["ann", "bob"]


def test_a_round_that_the_rules_do_not_fit_is_learnt_but_not_compared(lone):
    near = {"kind": "distance", "attribute": "rating", "at_most": 100}
    lone.pool(mode="shadow", constraints=[near])
    told = send(lone, ROUND)
    assert told["suggested"] is None
    assert "has no attribute 'rating'" in told["why"]
    shadow = lone.stats()["shadow"]
    assert (shadow["uncompared"], shadow["games"], shadow["compared"]) == (1, 2, None)
    assert lone.learner()[0][("ann", "bob")] == (1, 1)
    for player, rating in zip(("ann", "bob", "cyd", "dan"), (0, 1000, 50, 2000), strict=True):
        path = f"/v1/pools/chess/players/{player}"
        lone.json("PUT", path, json={"attributes": {"rating": rating}})
    suggested = send(lone, ROUND)["suggested"]
    assert [set(game["players"]) for game in suggested["games"]] == [{"ann", "cyd"}]
    assert sorted(suggested["waiting"]) == ["bob", "dan"]
    compared = lone.stats()["shadow"]["compared"]
    assert compared["expected"] == pytest.approx(suggested["games"][0]["chance"] / 2)
    check_sound(lone)


def test_an_erased_player_is_not_named_by_the_log(lone):
    lone.pool(mode="shadow")
    send(lone, ROUND)
    lone("DELETE", "/v1/pools/chess/players/ann?erase=true", 204)
    assert "ann" not in lone("GET", "/v1/pools/chess/events?limit=1000").text
    check_sound(lone)


def test_the_log_of_a_long_shadow_is_read_back(lone):
    """More rounds than stretches, so that stretches are joined."""
    lone.pool(mode="shadow", fairness={"floor": 0.5})
    draw, players = random.Random(1), [f"p{number}" for number in range(6)]
    for _ in range(140):
        draw.shuffle(players)
        pairs = zip(players[::2], players[1::2], strict=True)
        words = {True: "played", False: "cancelled"}
        send(lone, [{"players": pair, "outcome": words[draw.random() < 0.5]} for pair in pairs])
    before, stats = check_sound(lone), lone.stats()["shadow"]
    assert (stats["rounds"], stats["games"]) == (140, 420)
    assert 210 <= stats["compared"]["games"] <= 216
    lone.restart()
    assert (check_sound(lone), lone.stats()["shadow"]) == (before, stats)


def test_the_gain_covers_the_truth_and_shows_that_there_is_one():
    """`python -m scripts.figures.shadow` counts how often; here are three pools."""
    for seed in range(3):
        estimate, low, high, truth = observe(Case((2, 3)), seed, players=100, rounds=60)
        assert low <= truth <= high
        assert low < estimate < high
        assert high - low < 0.1
