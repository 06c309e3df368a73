"""Players who are gone: a live queue names them in proposals, and removes them twice."""

import pytest

MATCHINGS = "/v1/pools/chess/matchings"


@pytest.fixture
def queue(api):
    """A pool in which ann, bob, eve and dan wait, fay is away, and gus has left."""
    api.pool(players=["ann", "bob", "eve", "dan", "gus"])
    api.join("fay", status="away")
    api("DELETE", "/v1/pools/chess/players/gus", 204)
    return api


def players(matching):
    return {each for game in matching["games"] for each in game["players"]}


def test_players_who_are_gone_are_skipped_and_named(queue):
    wanted = ["gus", "ann", "fay", "bob", "stranger"]
    matching = queue.propose(available=wanted, unknown="skip")
    assert matching["skipped"] == ["gus", "fay", "stranger"]
    assert players(matching) == {"ann", "bob"}
    busy = queue.propose(available=["ann", "eve", "dan"], unknown="skip")
    assert busy["skipped"] == ["ann"]  # who has a game now
    assert players(busy) == {"eve", "dan"}


def test_couples_with_a_player_who_is_gone_need_not_be_kept_apart(queue):
    apart = [["gus", "ann"], ["ann", "bob"], ["stranger", "gus"], ["fay", "ann"]]
    matching = queue.propose(apart=apart, unknown="skip")
    assert matching["skipped"] == ["gus", "stranger"]  # fay is in the pool
    assert {tuple(sorted(game["players"])) for game in matching["games"]} in (
        {("ann", "eve"), ("bob", "dan")},
        {("ann", "dan"), ("bob", "eve")},
    )
    event = queue.json("GET", "/v1/pools/chess/events?limit=1000")["events"][-1]
    assert event["body"]["apart"] == [["ann", "bob"], ["ann", "fay"]]


def test_each_player_is_skipped_once(queue):
    wanted, apart = ["ann", "bob", "gus"], [["gus", "ann"], ["gus", "bob"], ["x", "gus"]]
    matching = queue.propose(available=wanted, apart=apart, unknown="skip")
    assert matching["skipped"] == ["gus", "x"]


def test_nobody_is_skipped_where_all_are_there(queue):
    assert queue.propose(available=["ann", "bob"], unknown="skip")["skipped"] == []
    assert queue.propose(unknown="skip")["skipped"] == []


def test_too_few_players_are_left_after_some_were_skipped(queue):
    body = {"available": ["gus", "ann"], "unknown": "skip"}
    problem = queue("POST", MATCHINGS, 409, json=body).json()
    assert problem["type"] == "/problems/too-few-players"
    assert problem["skipped"] == ["gus"]
    assert queue.kinds().count("proposed") == 0


def test_a_request_that_is_sent_again_says_the_same(queue):
    """Also when those who were skipped have come back, and when it runs again from its log."""
    body = {"available": ["gus", "ann", "bob"], "apart": [["x", "ann"]], "unknown": "skip"}
    key = {"Idempotency-Key": "k"}
    first = queue("POST", MATCHINGS, 201, json=body, headers=key)
    assert first.json()["skipped"] == ["gus", "x"]
    queue.join("gus")
    for _ in range(2):
        again = queue("POST", MATCHINGS, 201, json=body, headers=key)
        assert again.text == first.text
        assert again.headers["idempotent-replay"] == "true"
        queue.restart(crash=True)
        queue.wait()


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({"available": ["ann", "stranger"]}, 404, "no-such-player"),
        ({"available": ["ann", "fay"]}, 409, "players-not-waiting"),
        ({"apart": [["ann", "stranger"]]}, 404, "no-such-player"),
    ],
)
@pytest.mark.parametrize("said", [{}, {"unknown": "refuse"}])
def test_without_being_asked_nobody_is_skipped(queue, body, status, problem, said):
    refused = queue("POST", MATCHINGS, status, json={**body, **said}).json()
    assert refused["type"] == f"/problems/{problem}"


def test_a_word_that_is_not_known_is_refused(queue):
    queue("POST", MATCHINGS, 422, json={"unknown": "ignore"})


def test_a_name_that_is_given_twice_is_refused_though_others_are_skipped(queue):
    body = {"available": ["ann", "ann", "gus"], "unknown": "skip"}
    assert queue("POST", MATCHINGS, 422, json=body).json()["type"] == "/problems/invalid-request"


def test_what_was_removed_can_be_removed_again(queue):
    path = "/v1/pools/chess/players/"
    for name in ("gus", "stranger", "ann", "ann"):
        queue("DELETE", path + name, 204)
    before = queue.kinds()
    for query in ("", "?forget=true", "?forget=false", "?erase=true"):
        queue("DELETE", f"{path}stranger{query}", 204)
        queue("DELETE", f"{path}ann", 204)
    assert queue.kinds() == before
    queue("DELETE", "/v1/pools/chess", 204)
    queue("DELETE", "/v1/pools/chess", 204)
    queue("DELETE", "/v1/pools/go", 404)  # which never was
    queue("DELETE", "/v1/pools/chess/players/ann", 404)
