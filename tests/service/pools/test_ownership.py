"""Of several processes on PostgreSQL, one serves each pool; one that was stopped writes nothing."""

import threading
import time
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import text

from pairup.service.domain.events import Configured
from pairup.service.pools import ownership
from pairup.service.pools.ownership import forwarded
from pairup.service.problems import MisdirectedError
from pairup.service.store import Peer, Transaction
from pairup.service.store.failures import StoreUnavailableError
from tests.support.service.services import check_agreement, check_stored, services

POOLS = [f"pool{number}" for number in range(24)]


@contextmanager
def processes(postgres, count=2, joined=None):
    """Services that share the pools of an empty database; the first of them have joined."""
    with services(postgres.emptied_database(), count) as found:
        for number, service in enumerate(found):
            service.share_pools(f"http://process{number}")
        for service in found[: count if joined is None else joined]:
            join(service, found)
        yield found


def join(service, others):
    service.pools.cache.ownership.join()
    await_members(others, service, True)


def await_members(services, member, lives):
    deadline = time.monotonic() + 20
    for each in services:
        while bool(each.pools.cache.ownership.peer(member.store.process)) != lives:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def owner_of(services, pool):
    """The only service that answers for a pool; all others name it."""
    answers, told = [], set()
    for service in services:
        try:
            service.show_pool(pool)
            answers.append(service)
        except MisdirectedError as misdirected:
            told.add((misdirected.owner, misdirected.address))
    (owner,) = answers
    assert {each for each, _ in told} <= {owner.store.process}
    return owner


def stop_renewing(service, others):
    """Let the lease of a service end as if its process had been stopped, and others see it."""
    service.pools.cache.ownership._closed.set()
    with service.store.writing() as transaction:
        transaction._execute(
            text("UPDATE processes SET until = 0 WHERE id = :id"), {"id": service.store.process}
        )
    await_members(others, service, False)


def fail():
    raise ZeroDivisionError


def make_pools(service, pools=POOLS):
    for pool in pools:
        service.create_pool(pool, {"policy": "uniform"})


def test_each_pool_is_served_by_one_process_and_all_know_which(postgres):
    with processes(postgres, 3) as found:
        make_pools(found[0])
        owners = [owner_of(found, pool) for pool in POOLS]
        assert set(owners) == set(found), "each of them serves some"
        assert [owner_of(found, pool) for pool in POOLS] == owners
        for service in found:
            assert len(service.pools.cache) == owners.count(service), "and has these in memory"


def test_who_joins_gets_a_share_and_nothing_else_moves(postgres):
    with processes(postgres, 3, joined=2) as found:
        one, other, new = found
        make_pools(one)
        for pool in POOLS:
            owner_of([one, other], pool).put_player(pool, "a")
        before = [owner_of([one, other], pool) for pool in POOLS]
        join(new, found)
        for service in (one, other):
            service.pools.hand_over()
        after = [owner_of(found, pool) for pool in POOLS]
        moved = [(was, now) for was, now in zip(before, after, strict=True) if was is not now]
        assert moved
        assert {now for _, now in moved} == {new}
        for pool, owner in zip(POOLS, after, strict=True):
            assert check_agreement(owner, pool) == (owner is new), "what moves is saved before"


def test_processes_may_come_and_go_while_a_pool_is_looked_for(postgres):
    with processes(postgres) as (one, _):
        make_pools(one, POOLS[:1])
        mine = one.pools.cache.ownership
        with one.store.reading() as transaction:
            row = transaction.pool_named(POOLS[0])

        looked = []

        class Changing(dict):
            def __contains__(self, process):
                looked.append(process)
                mine._live = {"newcomer": Peer("http://newcomer", "")}
                return super().__contains__(process)

        mine._live = Changing(mine._live)
        with suppress(MisdirectedError):
            mine.take(row)
        assert looked


def test_who_leaves_lets_others_have_its_pools_at_once(postgres):
    with processes(postgres) as (one, other):
        make_pools(one)
        mine = [pool for pool in POOLS if owner_of([one, other], pool) is one]
        one.leave()
        await_members([other], one, False)
        assert {owner_of([other], pool) for pool in mine} == {other}
        for pool in mine:
            with pytest.raises(MisdirectedError):
                one.show_pool(pool)


def test_who_leaves_knows_at_once_that_others_serve_its_pools(postgres):
    """A request that still comes to it is passed on, not refused."""
    with processes(postgres) as (one, other):
        make_pools(one)
        await_members([one], other, True)
        one.pools.cache.ownership._closed.set()  # so that it does not look again
        one.leave()
        for pool in POOLS:
            with pytest.raises(MisdirectedError) as refused:
                one.show_pool(pool)
            assert refused.value.owner == other.store.process


def test_an_owner_that_was_stopped_writes_nothing(postgres):
    """Not even if its successor has written nothing, and the log ends as it did."""
    with processes(postgres) as found:
        make_pools(found[0])
        one = found[0]
        pool = next(each for each in POOLS if owner_of(found, each) is one)
        one.put_player(pool, "a")
        other, before = found[1], one.show_digest(pool)

        def stopped(work):
            stop_renewing(one, [other])
            assert other.show_digest(pool) == before
            work.add(Configured({"max_wait_s": 5.0}))

        with pytest.raises(MisdirectedError):
            one.pools.change(pool, stopped)
        assert other.show_digest(pool) == before
        with pytest.raises(MisdirectedError):
            one.put_player(pool, "b")
        other.put_player(pool, "c")
        check_agreement(other, pool)
        check_stored(other.store)


def test_a_transaction_that_a_stopped_process_left_open_holds_nobody_up(postgres):
    with processes(postgres) as found:
        make_pools(found[0])
        one, other = found
        pool = next(each for each in POOLS if owner_of(found, each) is one)
        number = one.pool_number(pool)

        def stop_in_between():
            with one.store.writing() as left_open:
                left_open.pool(number, lock=True)
                stop_renewing(one, [other])
                began = time.monotonic()
                other.put_player(pool, "a")
                assert time.monotonic() - began < 10, "much less than wait_s"
                left_open.pool(number)

        with pytest.raises(StoreUnavailableError):
            stop_in_between()


def test_who_gets_a_request_that_was_forwarded_takes_a_pool_of_nobody(postgres):
    with processes(postgres) as (one, other):
        make_pools(one, POOLS[:8])
        forwarded.set(True)
        try:
            for pool in POOLS[:8]:
                one.show_pool(pool)
        finally:
            forwarded.set(False)
        assert {owner_of([one, other], pool) for pool in POOLS[:8]} == {one}
        with pytest.raises(MisdirectedError):
            other.show_pool(POOLS[0])
        one.pools.hand_over()
        assert {owner_of([one, other], pool) for pool in POOLS[:8]} == {one, other}


def test_what_goes_to_others_is_handed_over_in_the_end_whatever_happens_meanwhile(
    postgres, monkeypatch
):
    with processes(postgres, 3, joined=2) as found:
        one, other, new = found
        make_pools(one)
        for pool in POOLS:
            owner_of([one, other], pool)
        listed, meanwhile = Transaction.pools_of, [lambda: join(new, found), fail]

        def interrupted(self, owner):
            rows = listed(self, owner)
            if meanwhile:
                meanwhile.pop()()
            return rows

        monkeypatch.setattr(Transaction, "pools_of", interrupted)
        one.pools.cache.ownership._placed = None
        with pytest.raises(ZeroDivisionError):
            one.pools.hand_over()
        for service in (one, one, other):
            service.pools.hand_over()
        assert meanwhile == []
        for pool in POOLS:
            with new.store.reading() as transaction:
                row = transaction.pool_named(pool)
            assert row.owner == new.pools.cache.ownership.prefers(row.number)


def test_a_lease_that_ends_is_noticed_when_it_ends(postgres, monkeypatch):
    """Not at the next look, which may be a second later."""
    monkeypatch.setattr(ownership, "_RENEW_S", 5.0)
    with processes(postgres) as (one, other):
        await_members([one], other, True)
        with one.store.writing() as transaction:
            transaction.renew_lease(other.store.process, other.pools.cache.ownership.me, 0.0)
            transaction.renew_lease("a", Peer("http://gone", ""), 1.0)
        one.pools.cache.ownership._tell_members()
        await_members([one], other, False)
        assert one.pools.cache.ownership.peer("a")
        began = time.monotonic()
        while one.pools.cache.ownership.peer("a"):
            assert time.monotonic() < began + 3
            time.sleep(0.01)


def test_a_lease_that_was_ended_is_not_renewed_once_more(postgres):
    with processes(postgres) as (one, other):
        session = one.pools.cache.ownership._session
        begins, goes_on = threading.Event(), threading.Event()
        opened = session.transaction

        @contextmanager
        def slow():
            with opened() as transaction:
                begins.set()
                assert goes_on.wait(20)
                yield transaction

        session.transaction = slow
        assert begins.wait(20)
        leaving = threading.Thread(target=one.leave)
        leaving.start()
        leaving.join(0.3)
        goes_on.set()
        leaving.join(20)
        session.transaction = opened
        with other.store.reading() as transaction:
            assert list(transaction.processes()[0]) == [other.store.process]
