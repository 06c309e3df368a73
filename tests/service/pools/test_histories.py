"""Random histories: what is served is what the log says, byte for byte."""

import pytest

from pairup.service.domain.games import changed_games, project
from pairup.service.domain.pool import replay
from pairup.service.domain.snapshot import durable_part
from pairup.service.maintenance.verify import verify
from tests.support.service.histories import History
from tests.support.service.pools import Api


def served(api):
    service = api.service
    return service.read("chess", lambda pool, _: durable_part(pool))


def projected(log):
    records = {}
    for recorded in log:
        project(records, recorded)
    return records


def compare_with_the_log(api):
    """What is served, and the records of games, are what the log says."""
    store, number = api.service.store, api.service.pool_number("chess")
    bytes_served = served(api)
    with store.reading() as transaction:
        log = list(transaction.events(number))
        assert durable_part(replay(number, log)) == bytes_served
        stored = {game.key: game for game in transaction.stored_games(number)}
        assert stored == projected(log)
        row = transaction.pool(number)
        assert (row.head, row.due_at) == api.service.read(
            "chess", lambda pool, _: (pool.head, pool.games.due_at)
        )
    decided = [
        game for each in log if each.event.kind == "decided" for game in changed_games(each.event)
    ]
    assert len(set(decided)) == len(decided)
    assert [verdict.error for verdict in verify(store)] == [""]


@pytest.mark.parametrize("seed", range(2))
def test_a_replay_gives_what_is_served(api, seed):
    history = History(api, seed, unreported="cancelled" if seed else "discard")
    history.go_on(150)
    compare_with_the_log(api)
    assert len(history.learnt) > 5
    history.finish()


@pytest.mark.parametrize(
    "rules",
    [
        {"memory_s": 60, "keep_records": True},  # of the default policy, which learns its prior
        {"policy": "hierarchical_thompson", "memory_s": 60, "keep_records": True},
        {"policy": "unimodal", "keep_records": True},
        {"policy": "uniform"},
    ],
    ids=str,
)
def test_restarts_change_nothing(tmp_path, rules):
    api = Api(str(tmp_path / "pools.db"), snapshot_every=7)
    try:
        history = History(api, 5, timeout_declines=True, **rules)
        for crash in (False, True, True):
            history.go_on(30)
            before = served(api)
            api.restart(crash=crash)
            assert served(api) == before
        compare_with_the_log(api)
        history.finish()
    finally:
        api.stop()


def test_a_restart_reads_the_end_of_the_log_only(tmp_path, monkeypatch):
    api = Api(str(tmp_path / "pools.db"))
    try:
        History(api, 1).go_on(40)
        api.restart()
        applied = []
        monkeypatch.setattr("pairup.service.domain.pool.Pool.apply", lambda *_: applied.append(1))
        served(api)
        assert applied == []
    finally:
        api.stop()


def test_a_replay_gives_what_is_served_after_changes_of_policy(lone):
    history = History(lone, 2)
    for policy in ("unimodal", "rank_one_thompson", "epsilon_greedy"):
        history.go_on(25)
        lone("PATCH", "/v1/pools/chess", 200, json={"policy": policy})
    history.go_on(25)
    compare_with_the_log(lone)


def test_a_replay_asks_no_policy(lone, monkeypatch):
    for policy in ("unimodal", "rank_one_thompson"):
        lone.pool(policy, "abcdefg", policy=policy)
        for _ in range(5):
            for game in lone.propose(policy)["games"]:
                lone.report(game, "played")

    def ask(*_):
        raise AssertionError("a policy was asked")

    asked = "pairup.learning.running_policy"
    monkeypatch.setattr(f"{asked}.propose_step", ask)
    monkeypatch.setattr(f"{asked}.RunningPolicy.propose", ask)
    monkeypatch.setattr(f"{asked}.RunningPolicy.leader", ask)
    monkeypatch.setattr(f"{asked}.RunningPolicy._catch_up", ask)
    lone.restart(crash=True)
    for policy in ("unimodal", "rank_one_thompson"):
        assert lone.json("GET", f"/v1/pools/{policy}")["seq"] == 28
    assert [verdict.error for verdict in verify(lone.service.store)] == ["", ""]


def test_two_services_on_one_database_agree(postgres):
    first = Api(postgres.new_database())
    second = Api(first.database, first.clock)
    try:
        history = History(first, 3)
        for _ in range(30):
            history.go_on(2)
            history.api = second if history.api is first else first
        assert served(first) == served(second)
        compare_with_the_log(second)
    finally:
        first.stop()
        second.stop()


@pytest.mark.parametrize("rules", [{}, {"fairness": {"floor": 0.5}}, {"max_wait_s": 60}], ids=str)
def test_a_pool_of_many_players_learns_how_couples_deviate(lone, rules):
    """Of more than 64 players only the couples that met are kept, and candidates matched."""
    players = [f"p{number}" for number in range(71)]
    lone.pool(players=players, policy="hierarchical_thompson", **rules)
    seen = []
    for round in range(24):
        if round in (8, 16):
            lone("DELETE", f"/v1/pools/chess/players/{players.pop()}")
            before = served(lone)
            lone.restart(crash=round == 16)
            assert served(lone) == before
        proposed = lone.propose()
        assert len(proposed["games"]) == len(players) // 2
        played = []
        for game in proposed["games"]:
            one, other = (int(each[1:]) for each in game["players"])
            played.append((one + other) % 3 == 0)
            lone.report(game, "played" if played[-1] else "cancelled")
        seen.append(sum(played) / len(played))
    assert sum(seen[-4:]) > 1.25 * sum(seen[:4])
    compare_with_the_log(lone)
