"""Since when players wait: part of the state of a pool, by the dates of its events."""

import pytest

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, Recorded
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import durable_part, read_snapshot, write_snapshot

GAME = {"players": [1, 2], "chance": None, "explores": False}


def happen(pool, seconds, event):
    pool.apply(Recorded.of(pool.seq + 1, seconds * SECOND, event))


def matching(key):
    return events.Proposed(key, [GAME], [], None, [], 10**12, None, None, None)


def since(pool):
    return {player: at // SECOND for player, at in pool.players.since.items()}


@pytest.fixture
def pool():
    made = Pool(1)
    happen(made, 0, events.Created("chess", Rules().as_json(), {"package": "1", "code": "0"}))
    happen(made, 1, events.Joined([1, 2], "waiting"))
    happen(made, 1, events.Joined([3], "away"))
    return made


def test_a_wait_begins_when_a_player_joins_or_returns(pool):
    assert since(pool) == {1: 1, 2: 1}
    happen(pool, 5, events.Moved([3], "waiting"))
    happen(pool, 6, events.Moved([1], "away"))
    assert since(pool) == {2: 1, 3: 5}
    happen(pool, 7, events.Left([2], False, None))
    happen(pool, 8, events.Joined([2], "waiting"))
    assert since(pool) == {3: 5, 2: 8}


@pytest.mark.parametrize(
    "end",
    [
        events.Decided([[3, 0]], [False], ["declined"], None, None),
        events.Released([[3, 0]], "released"),
        events.Expired([[3, 0]], "discard"),
    ],
)
def test_a_game_that_is_not_played_does_not_end_a_wait(pool, end):
    happen(pool, 3, matching(3))
    happen(pool, 9, end)
    assert since(pool) == {1: 1, 2: 1}


def test_the_next_wait_begins_after_a_game(pool):
    happen(pool, 3, matching(3))
    happen(pool, 9, events.Decided([[3, 0]], [True], None, None, None))
    assert since(pool) == {1: 9, 2: 9}
    happen(pool, 10, events.Configured({"after_game": "playing"}))
    happen(pool, 11, matching(11))
    happen(pool, 12, events.Decided([[11, 0]], [True], None, None, None))
    assert since(pool) == {}


def test_a_snapshot_has_the_waits_and_the_attributes(pool):
    lists = [{"player": 1, "attribute": "blocked", "players": [7]}]
    happen(pool, 4, events.Attributed([1, 3], [{"rating": 1.5}, {"tags": ["a"]}], lists))
    again = read_snapshot(1, pool.head, write_snapshot(pool))
    assert since(again) == since(pool)
    assert vars(again.players.attributes) == vars(pool.players.attributes)
    assert again.players.last == 7
    assert durable_part(again) == durable_part(pool)
