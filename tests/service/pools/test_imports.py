"""Games of the past and saved learners, which a pool starts from."""

import hashlib
import re
import zlib

import pytest

from pairup import Learner, RankOneThompson, Unimodal
from pairup.learning import serialization
from pairup.service.domain import imports
from pairup.service.maintenance.verify import verify
from tests.support.service.journal import check_replayed
from tests.support.service.pools import Api

OUTCOMES = [
    ("ann", "bob", True),
    ("ann", "cyd", False),
    ("bob", "ann", False),
    ("dan", "cyd", True),
]


def body(games, rows=None, **columns):
    """Write couples, with whether they played, as a request has them."""
    players = list(dict.fromkeys(player for game in games for player in game[:2]))
    place = players.index
    return {
        "rows": len(games) if rows is None else rows,
        "players": players,
        "player_a": [place(game[0]) for game in games],
        "player_b": [place(game[1]) for game in games],
        **({"played": [game[2] for game in games]} if games and len(games[0]) > 2 else {}),
        **columns,
    }


def send(api, games, first=0, status=200, source="season", **columns):
    path = f"/v1/pools/chess/imports/{source}/rows/{first}"
    return api.json("PUT", path, status, json=body(games, **columns))


def problem(told):
    return told["type"].removeprefix("/problems/")


def check_sound(api):
    digest = api.json("GET", "/v1/pools/chess/digest")
    check_replayed(api.service.store, "chess", digest)
    assert {found.error for found in verify(api.service.store)} == {""}
    return digest


def test_rows_are_learnt_exactly_once_in_their_order(api):
    api.pool()
    assert send(api, OUTCOMES) == {"id": "season", "next": 4, "games": 4}
    known = api.learner()
    assert known[0] == {("ann", "bob"): (2, 1), ("ann", "cyd"): (1, 0), ("cyd", "dan"): (1, 1)}
    assert send(api, OUTCOMES) == {"id": "season", "next": 4, "games": 4}
    assert send(api, OUTCOMES[1:], first=1) == {"id": "season", "next": 4, "games": 4}
    refused = send(api, OUTCOMES, first=5, status=409)
    assert (problem(refused), refused["next"]) == ("rows-missing", 4)
    assert api.learner() == known
    assert api.kinds() == ["created", "imported"]
    assert send(api, OUTCOMES[:1], first=4, rows=3) == {"id": "season", "next": 7, "games": 5}
    assert send(api, OUTCOMES, source="other") == {"id": "other", "next": 4, "games": 4}
    assert api.stats()["imported"] == 9
    shown = api.json("GET", "/v1/pools/chess/imports/season")
    assert shown == {"id": "season", "next": 7, "games": 5}
    assert problem(api.json("GET", "/v1/pools/chess/imports/none", 404)) == "no-such-import"
    before = check_sound(api)
    api.restart(crash=True)
    assert check_sound(api) == before
    api.restart()
    assert send(api, OUTCOMES, first=7)["games"] == 9


def test_unknown_players_join_away_and_known_ones_stay_as_they_are(lone):
    lone.pool(players=["ann"])
    send(lone, OUTCOMES)
    assert [lone.status(player) for player in ("ann", "bob", "cyd", "dan")] == [
        "waiting",
        "away",
        "away",
        "away",
    ]
    lone.join("dan")
    assert lone.game()["players"] == ["ann", "dan"]


def test_what_was_imported_is_what_a_pool_had_learnt_that_saw_it(lone):
    answers = [(True, True), (True, False), (False, False), (True, None), (None, None)]
    lone.pool("lived", players=["ann", "bob"])
    for one, other in answers:
        said = {True: "accepted", False: "declined", None: "unknown"}
        game = lone.game("lived")
        if None in (one, other):
            lone.report(game, "cancelled", ann="declined" if one else "unknown", bob="unknown")
        else:
            lone.report(game, None, ann=said[one], bob=said[other])
    lone.pool()
    rows = [("ann", "bob")] * 5
    columns = {
        "accepted_a": [True, True, False, False, None],
        "accepted_b": [True, False, False, None, None],
        "played": [None, None, None, None, False],
    }
    send(lone, rows, **columns)
    assert lone.learner() == lone.learner("lived")


def test_open_games_stay_open_while_history_is_imported(lone):
    lone.pool(players=["ann", "bob"])
    game = lone.game()
    send(lone, OUTCOMES)
    assert lone.report(game, "played")["result"] == "learnt"
    assert lone.learner()[0]["ann", "bob"] == (3, 2)
    assert lone.stats()["games"]["learnt"] == 1
    check_sound(lone)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"player_b": [1, 2, 0]}, "player_b has 3 items and player_a 4"),
        ({"played": [True] * 5}, "played has 5 items and player_a 4"),
        ({"accepted_a": []}, "accepted_a has 0 items"),
        ({"player_b": [1, 2, 0, 4]}, "places in players, from 0 to 3"),
        ({"player_b": [-1, 2, 0, 3]}, "greater than or equal to 0"),
        ({"player_b": [0, 2, 0, 3]}, "game 0 cannot be learnt from, both of its players are 'ann'"),
        ({"played": [True, None, True, True]}, "game 1 cannot be learnt from, neither `played`"),
        ({"accepted_b": [None, None, True, False]}, "game 3 .* only if both accept"),
        ({"players": ["ann", "ann", "cyd", "dan"]}, "players has 'ann' 2 times"),
        ({"players": ["ann", "bob", "cyd", "d" * 129]}, "at most 128 characters"),
        ({"players": ["ann", "bob", "cyd", " dan"]}, "neither begins nor ends with a blank"),
        ({"rows": 3}, "rows is 3, less than the 4 games"),
        ({"rows": -1}, "greater than or equal to 0"),
        ({"couples": []}, "Extra inputs are not permitted"),
    ],
)
def test_rows_that_break_a_rule_are_refused_as_a_whole(lone, changes, said):
    lone.pool()
    refused = send(lone, OUTCOMES, status=422, **changes)
    assert problem(refused) == "invalid-request"
    assert re.search(said, refused["detail"]), refused["detail"]
    assert lone.kinds() == ["created"]


def test_what_an_import_takes_is_bounded(tmp_path, monkeypatch):
    limited = Api(str(tmp_path / "pools.db"), max_players=4, max_import_rows=4)
    try:
        limited.pool()
        send(limited, OUTCOMES)
        assert problem(send(limited, [*OUTCOMES, OUTCOMES[0]], 4, 413)) == "too-large"
        refused = send(limited, [("ann", "eve", True)], 4, 409)
        assert problem(refused) == "pool-full"
        assert "would know 5 players, at most 4" in refused["detail"]
        send(limited, [("ann", "dan", True)], 4)
        monkeypatch.setattr("pairup.service.pools.imports.MAX_IMPORTS", 2)
        send(limited, OUTCOMES, source="second")
        assert problem(send(limited, OUTCOMES, 0, 409, source="third")) == "too-many-imports"
        send(limited, OUTCOMES, 4, source="second")
        limited("PUT", "/v1/pools/chess/imports/.hidden/rows/0", 422, json=body(OUTCOMES))
    finally:
        limited.stop()
    assert imports.MAX_IMPORTS == 1_000


def test_pages_of_large_events_are_short(lone, monkeypatch):
    lone.pool()
    for first in range(0, 12, 4):
        send(lone, OUTCOMES, first)
    monkeypatch.setattr("pairup.service.store.event_log._PAGE_BYTES", 150)
    page = lone.json("GET", "/v1/pools/chess/events?limit=100")
    assert len(page["events"]) == page["next"] < 4
    kinds, after = [], 0
    while after is not None:
        page = lone.json("GET", f"/v1/pools/chess/events?limit=100&after={after}")
        kinds += [event["kind"] for event in page["events"]]
        after = page["next"]
    assert kinds == ["created", "imported", "imported", "imported"]
    check_sound(lone)


def test_a_learner_is_taken_out_of_a_pool_and_loaded_into_another(api):
    api.pool(players=["ann", "bob", "eve"])
    send(api, OUTCOMES)
    game = api.game(available=["ann", "bob"])
    taken = api("GET", "/v1/pools/chess/learner", 200)
    assert taken.headers["content-type"] == "application/octet-stream"
    learner = Learner.from_bytes(taken.content)
    assert learner.pending == {("ann", "bob"): 1}
    api("DELETE", "/v1/pools/chess", 204)
    api.pool(players=["bob", "fay"])
    open_game = api.game()
    loaded = api.json("PUT", "/v1/pools/chess/learner", content=taken.content)
    assert loaded["players"] == {"waiting": 0, "proposed": 2, "playing": 0, "away": 4}
    couples, _, pending = api.learner()
    assert couples == {("ann", "bob"): (2, 1), ("ann", "cyd"): (1, 0), ("cyd", "dan"): (1, 1)}
    assert pending == {("bob", "fay"): 1}, "the game of the other pool is not awaited here"
    assert api.report(open_game, "played")["result"] == "learnt"
    assert api.kinds() == ["created", "joined", "joined", "proposed", "loaded", "decided"]
    before = check_sound(api)
    api.restart(crash=True)
    assert check_sound(api) == before
    assert game["id"] != open_game["id"]


def saved(policy=None, players=("ann", "bob")):
    return (policy or RankOneThompson(period=4)).learner(players).to_bytes()


def swollen(**changes):
    """A saved learner whose header says something else, sealed again."""
    header, arrays = serialization.unpack(saved())
    return serialization.pack({**header, **changes}, arrays)


def bomb():
    """Few bytes that say that they unpack to a great many."""
    head = serialization._MAGIC + serialization._PREFIX.pack(1, 3, 600_000_000)
    data = head + zlib.compress(b"{}\n" + bytes(10_000))
    return data + hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    ("data", "status", "kind", "said"),
    [
        (b"", 422, "invalid-request", "these 0 bytes are not a saved learner"),
        (saved()[:-1], 422, "invalid-request", "is damaged"),
        (swollen(capacity=10**9), 422, "invalid-request", "room for 1000000000 players"),
        (bomb(), 422, "invalid-request", "at most 500000000 are taken"),
        (saved(Unimodal()), 409, "learner-unfit", r"runs Unimodal\(\), pool 'chess' runs"),
        (saved(RankOneThompson(period=7)), 409, "learner-unfit", "the same policy and options"),
        (saved(players=("ann", 7)), 409, "learner-unfit", "cannot be in a pool, 7"),
        (saved(players=("ann", "a\x07")), 409, "learner-unfit", "or control characters like"),
        (saved(players=("ann", "zoe\u0308")), 409, "learner-unfit", "form NFC"),
        (saved(players=[f"p{i}" for i in range(6)]), 409, "pool-full", "would know 6 players"),
    ],
)
def test_a_learner_that_does_not_fit_is_refused(tmp_path, data, status, kind, said):
    limited = Api(str(tmp_path / "pools.db"), max_players=5)
    try:
        limited.pool(policy="rank_one_thompson", options={"period": 4})
        refused = limited.json("PUT", "/v1/pools/chess/learner", status, content=data)
        assert problem(refused) == kind
        assert re.search(said, refused["detail"]), refused["detail"]
        assert limited.kinds() == ["created"]
    finally:
        limited.stop()
