"""Games that are due expire in all pools, whether or not a process has them in memory."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pairup.service.store import Transaction
from tests.support.service.pools import Api
from tests.support.service.services import (
    TickingClock,
    check_agreement,
    check_stored,
    memory_of,
    open_service,
    services,
)


def stored_kinds(service, pool):
    """Return the kinds of the events of a pool, without a look at the pool."""
    with service.store.reading() as transaction:
        number = transaction.pool_named(pool).number
        return [each.kind for each in transaction.raw_events(number, 0, 1_000)]


def begin(service, *pools, lifetime_s=60):
    """Create pools with a game in each."""
    for name in pools:
        service.create_pool(name, {"lifetime_s": lifetime_s})
        service.put_players(name, [("ann", "waiting"), ("bob", "waiting")])
        service.propose(name)


def test_the_sweep_ends_games_of_pools_that_are_not_in_memory(database):
    clock = TickingClock()
    first = open_service(database, clock)
    begin(first, "chess", "go", "later")
    first.configure_pool("go", {"lifetime_s": 3600})  # for later games
    first.close()
    with services(database, 1, clock) as (service,):
        service.expire_games()
        assert "expired" not in stored_kinds(service, "chess")
        clock.advance(60)
        service.expire_games()
        for name in ("chess", "go", "later"):
            assert stored_kinds(service, name)[-1] == "expired"
        assert len(service.pools.cache) == 0  # they did not take the place of those in use
        service.expire_games()
        assert stored_kinds(service, "chess").count("expired") == 1
        assert service.show_pool("chess")["players"]["waiting"] == 2
        check_agreement(service, "chess")
        check_stored(service.store)


def test_the_sweep_ends_games_of_pools_that_made_room_for_others(database):
    with services(database, 1, cached_pools=1) as (service,):
        begin(service, "one", "two", "three")
        assert memory_of(service, "one") is None
        service.clock.advance(60)
        service.expire_games()
        assert {stored_kinds(service, name)[-1] for name in ("one", "two", "three")} == {"expired"}


def test_the_sweep_ends_what_another_process_proposed(database):
    with services(database) as (one, other):
        begin(one, "chess")
        other.clock.advance(60)
        other.expire_games()
        assert stored_kinds(one, "chess")[-1] == "expired"
        for service in (one, other):
            check_agreement(service, "chess")


def test_the_sweep_ends_games_that_a_clock_proposed_which_was_ahead(database):
    with services(database, 1) as (service,):
        service.clock.advance(3600)
        begin(service, "chess")
        service.clock.advance(-3600)
        service.expire_games()
        assert stored_kinds(service, "chess")[-1] == "expired"
        check_agreement(service, "chess")


def test_the_sweep_reads_no_pool_that_has_nothing_to_expire(database, monkeypatch):
    with services(database, 1, cached_pools=1) as (service,):
        begin(service, "due", lifetime_s=1)
        begin(service, "open", lifetime_s=3600)
        service.create_pool("idle", {})
        service.clock.advance(2)
        looked = []
        find = Transaction.pool_named
        monkeypatch.setattr(
            Transaction, "pool_named", lambda self, name: looked.append(name) or find(self, name)
        )
        service.expire_games()
        assert looked == ["due"]


def test_the_deadline_of_a_pool_is_that_of_its_next_game(database):
    """As it is proposed, reported, released and expires."""

    def due_at():
        with service.store.reading() as transaction:
            return transaction.pool_named("chess").due_at

    with services(database, 1) as (service,):
        service.create_pool("chess", {"lifetime_s": 60})
        service.put_players("chess", [(player, "waiting") for player in "abcd"])
        assert due_at() is None
        first = service.propose("chess", ["a", "b"]).view
        soonest = due_at()
        assert soonest is not None
        service.clock.advance(10)
        service.propose("chess", ["c", "d"])
        assert due_at() == soonest
        service.release("chess", first["id"])
        assert due_at() > soonest
        service.clock.advance(60)
        service.expire_games()
        assert due_at() is None
        service.propose("chess")
        service.delete_pool("chess")
        service.clock.advance(60)
        service.expire_games()
        check_stored(service.store)


def test_one_pool_that_cannot_be_read_does_not_keep_the_others_from_expiring(database):
    clock = TickingClock()
    first = open_service(database, clock)
    begin(first, "bad", "good")
    first.store.close()
    with services(database, 1, clock) as (service,):
        with service.store._writer() as connection:
            connection.exec_driver_sql(
                "DELETE FROM events WHERE seq = 2 AND pool = "
                "(SELECT number FROM pools WHERE name = 'bad')"
            )
        clock.advance(60)
        service.expire_games()
        assert stored_kinds(service, "good")[-1] == "expired"
        assert stored_kinds(service, "bad")[-1] == "proposed"


@pytest.fixture
def api(tmp_path):
    made = Api(str(tmp_path / "pools.db"), TickingClock(), sweep_s=0.05, cached_pools=1)
    yield made
    made.stop()


def test_a_stream_of_a_pool_that_is_not_in_memory_shows_games_that_expire(api):
    api.pool(players="ab")
    api.game()
    api.pool("other", players="ab")  # takes the only place in memory
    assert [each.name for each in api.service.pools.cache] == ["other"]
    with ThreadPoolExecutor(1) as thread:
        stream = thread.submit(api, "GET", "/v1/pools/chess/events/stream?after=4", 200)
        api.clock.advance(3600)
        deadline = time.monotonic() + 60
        while stored_kinds(api.service, "chess")[-1] != "expired":  # nobody else looks at it
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert [each.name for each in api.service.pools.cache] == ["other"]
        api("DELETE", "/v1/pools/chess", 204)  # which ends the stream
        lines = stream.result().text.splitlines()
    assert [each for each in lines if each.startswith("event:")] == [
        "event: expired",
        "event: deleted",
    ]
