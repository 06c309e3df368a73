"""Requests with one idempotency key at the same moment, on several pools."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from pairup.service.pools import players
from pairup.service.problems import RefusalError
from pairup.service.store import Store
from tests.support.service.clock import SettableClock
from tests.support.service.processes import Process
from tests.support.service.services import (
    check_agreement,
    check_stored,
    keyed,
    memory_of,
    open_service,
    players_of,
    services,
)

POOLS = ("one", "two")


def joining(names, meanwhile=lambda: None):
    """Return a command that lets players join; another request is done while it decides."""
    tries = itertools.count()

    def decide(work):
        wanted = [players.Wish(name, "waiting") for name in names]
        done = players.put_players(work, wanted)
        if next(tries) == 0:
            meanwhile()
        return done

    return decide


@pytest.fixture
def clock():
    return SettableClock()


@pytest.fixture
def collision(database, clock):
    """A service in which one key was used on two pools at once, and the losing request."""
    service = open_service(database, clock)
    for name in POOLS:
        service.create_pool(name, {})
        service.put_players(name, [("ann", "waiting"), ("bob", "waiting")])
    request, other = keyed("k", "a"), keyed("k", "b")

    def win():
        service.put_players("two", [("eve", "waiting")], other)

    with pytest.raises(RefusalError) as refused:
        service.pools.change_once("one", joining(["ghost"], win), request)
    return service, refused.value


def test_the_loser_of_a_collision_is_refused_and_leaves_no_trace(collision):
    service, refused = collision
    assert refused.slug == "key-reused"
    assert memory_of(service, "one") is None or memory_of(service, "one").seq == 2
    assert players_of(service, "one") == {"ann", "bob"}
    assert players_of(service, "two") == {"ann", "bob", "eve"}
    for name in POOLS:
        check_agreement(service, name)
    with service.store.reading() as transaction:
        number = transaction.pool_named("one").number
        assert transaction.numbers_of(number, "ghost") == []
    check_stored(service.store)
    service.close()


@pytest.mark.parametrize("read", [False, True])
def test_no_snapshot_is_ahead_of_its_log_after_a_collision(collision, database, clock, read):
    service, _ = collision
    if read:
        service.show_pool("one")
    service.close()
    again = open_service(database, clock)
    assert check_agreement(again, "one") == read  # not in memory, or as its log
    assert check_agreement(again, "two") == 1
    for name in ("dan", "fay", "gus"):
        again.put_player("one", name, "waiting")
    again.store.close()  # without a word, as a process ends that is killed
    last = open_service(database, clock)
    assert players_of(last, "one") == {"ann", "bob", "dan", "fay", "gus"}
    for name in POOLS:
        check_agreement(last, name)
    check_stored(last.store)
    last.close()


@pytest.mark.parametrize("pool", POOLS)
def test_the_same_request_is_done_once_by_two_processes_at_once(database, pool):
    with services(database) as (one, other):
        for name in POOLS:
            one.create_pool(name, {})
            other.show_pool(name)
        won = []

        def win():
            won.append(other.put_players(pool, [("eve", "waiting")], keyed("k")))

        lost = one.pools.change_once("one", joining(["eve"], win), keyed("k"))
        assert lost.replayed
        assert lost.view == won[0].view
        for service in (one, other):
            assert players_of(service, pool) == {"eve"}
            for name in POOLS:
                check_agreement(service, name)
        check_stored(one.store)


def test_a_change_that_is_overtaken_twice_is_done_by_the_try_that_locks(database):
    with services(database) as (one, other):
        one.create_pool("one", {})
        tries = []

        def decide(work):
            tries.append(players_of(other, "one") if len(tries) < 2 else None)
            if len(tries) <= 2:
                other.put_player("one", f"faster-{len(tries)}", "waiting")
            return players.put_players(work, [players.Wish("ann", "waiting")])

        one.pools.change_once("one", decide, keyed("k"))
        assert tries == [set(), {"faster-1"}, None]
        for service in (one, other):
            assert players_of(service, "one") == {"ann", "faster-1", "faster-2"}
            check_agreement(service, "one")


def test_collisions_in_a_process_that_is_stopped_and_killed_lose_nothing(tmp_path):
    """Six keys, each sent with four requests on two pools at once; then SIGTERM, and later -9."""
    database = str(tmp_path / "pools.db")
    process = Process(database, tmp_path / "log", log_level="warning")
    acknowledged = {name: set() for name in POOLS}
    with httpx.Client(base_url=process.url, trust_env=False, timeout=30) as client:
        process.start()
        assert process.wait(), process.said()
        for name in POOLS:
            assert client.post("/v1/pools", json={"name": name}).status_code == 201
        barrier = threading.Barrier(24)

        def collide(number):
            pool, player = POOLS[number % 2], f"p{number}"
            sent = {"players": [{"player": player, "status": "waiting"}]}
            barrier.wait(60)
            path, headers = f"/v1/pools/{pool}/players", {"Idempotency-Key": f"key-{number // 4}"}
            return pool, player, client.post(path, json=sent, headers=headers).status_code

        with ThreadPoolExecutor(24) as threads:
            answers = list(threads.map(collide, range(24)))
        assert sorted(status for *_, status in answers) == [200] * 6 + [422] * 18
        for pool, player, status in answers:
            if status == 200:
                acknowledged[pool].add(player)
        assert process.stop() == 0, process.said()
        _check(database, acknowledged)
        process.start()
        assert process.wait(), process.said()
        for name, player in itertools.product(POOLS, ("dan", "fay", "gus")):
            assert client.put(f"/v1/pools/{name}/players/{player}").status_code == 201
            acknowledged[name].add(player)
        process.kill()
        _check(database, acknowledged)
        process.start()
        assert process.wait(), process.said()
        for name in POOLS:
            page = client.get(f"/v1/pools/{name}/players").json()["players"]
            assert {each["player"] for each in page} == acknowledged[name]
        assert process.stop() == 0, process.said()
    _check(database, acknowledged)


def _check(database, acknowledged):
    service = open_service(database, SettableClock())
    try:
        for name, players in acknowledged.items():
            check_agreement(service, name)
            assert players_of(service, name) == players
        check_stored(service.store)
    finally:
        service.store.close()
    with closing(Store(database)) as store:
        check_stored(store)
