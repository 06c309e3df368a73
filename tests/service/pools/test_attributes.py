"""Attributes of players: set at the join, later and in bulk, kept in the log and in snapshots."""

import pytest

from pairup.service.domain.matchmaking.attributes import MAX_ATTRIBUTES
from tests.support.service.journal import check_replayed
from tests.support.service.services import memory_of

EXAMPLE = {
    "rating": 1500.0,
    "region": "eu",
    "languages": ["en", "fr"],
    "ping": {"eu": 30.0, "us": 120.0},
}


def put(api, player, status=200, **body):
    return api.json("PUT", f"/v1/pools/chess/players/{player}", status, json=body)


def shown(api, player):
    return api.json("GET", f"/v1/pools/chess/players/{player}")["attributes"]


def test_attributes_are_set_at_the_join_and_changed_later(api):
    api.pool()
    assert put(api, "ann", 201, attributes=EXAMPLE)["attributes"] == EXAMPLE
    put(api, "ann", attributes={"rating": 1510, "region": None})
    expected = {name: value for name, value in EXAMPLE.items() if name != "region"}
    assert shown(api, "ann") == {**expected, "rating": 1510.0}
    assert api.kinds() == ["created", "joined", "attributed", "attributed"]
    check_replayed(api.service.store, "chess", api.json("GET", "/v1/pools/chess/digest"))
    for crash in (False, True):
        api.restart(crash=crash)
        assert shown(api, "ann") == {**expected, "rating": 1510.0}


def test_attributes_in_bulk_are_one_event(api):
    api.pool(players=("ann",))
    body = {
        "players": [
            {"player": "ann", "attributes": {"rating": 1}},
            {"player": "bob", "status": "away", "attributes": {"rating": 2}},
            {"player": "cyd"},
        ]
    }
    told = api.json("POST", "/v1/pools/chess/players", json=body)["results"]
    assert [each["result"] for each in told] == ["changed", "joined", "joined"]
    assert api.kinds()[-3:] == ["joined", "joined", "attributed"]
    page = api.json("GET", "/v1/pools/chess/players")["players"]
    assert [each["attributes"] for each in page] == [{"rating": 1.0}, {"rating": 2.0}, {}]


def test_a_join_without_attributes_is_logged_as_before(lone):
    lone.pool(players=("ann",))
    page = lone.json("GET", "/v1/pools/chess/events")["events"]
    assert page[-1]["body"] == {"players": ["ann"], "status": "waiting"}


def test_attributes_that_are_known_already_change_nothing(lone):
    lone.pool()
    put(lone, "ann", 201, attributes=EXAMPLE)
    before = lone.kinds()
    put(lone, "ann", attributes=EXAMPLE)
    put(lone, "ann", attributes={"nothing": None})
    assert lone.kinds() == before


def test_attributes_leave_the_status_as_it_is(lone):
    lone.pool(players=("ann",))
    put(lone, "ann", status=200, attributes={"rating": 1})
    lone.join("ann", status="away")
    put(lone, "ann", attributes={"rating": 2})
    assert lone.status("ann") == "away"
    put(lone, "ann")
    assert lone.status("ann") == "waiting"


def test_attributes_of_kept_players_return_with_them_and_others_are_forgotten(lone):
    lone.pool()
    for player, forget in (("ann", "true"), ("bob", "false")):
        put(lone, player, 201, attributes=EXAMPLE)
        lone("DELETE", f"/v1/pools/chess/players/{player}?forget={forget}", 204)
    assert put(lone, "ann", 201)["attributes"] == {}
    assert put(lone, "bob", 201)["attributes"] == EXAMPLE
    lone("DELETE", "/v1/pools/chess/players/bob?erase=true", 204)
    assert memory_of(lone.service, "chess").players.attributes.values == {}


@pytest.mark.parametrize(
    ("attributes", "where"),
    [
        ({"rating": True}, "number"),
        ({"rating": [[1]]}, "list.0"),
        ({"rating": {"eu": "fast"}}, "numbers.eu"),
        ({"rating": "x" * 129}, "text"),
        ({"tags": ["x"] * 257}, "list"),
        ({"no spaces": 1}, "no spaces"),
        ({f"a{number}": 1 for number in range(MAX_ATTRIBUTES + 1)}, "attributes"),
    ],
)
def test_attributes_that_break_a_rule_are_refused_with_their_path(lone, attributes, where):
    lone.pool()
    told = put(lone, "ann", 422, attributes=attributes)
    assert where in told["errors"][0]["where"]
    assert lone.json("GET", "/v1/pools/chess/players")["players"] == []


def test_a_player_has_a_bounded_number_of_attributes_in_all(lone):
    lone.pool()
    put(lone, "ann", 201, attributes={f"a{number}": 1 for number in range(MAX_ATTRIBUTES)})
    told = put(lone, "ann", 422, attributes={"more": 1})
    assert f"at most {MAX_ATTRIBUTES}" in told["detail"]
    put(lone, "ann", attributes={"more": 1, "a0": None})
