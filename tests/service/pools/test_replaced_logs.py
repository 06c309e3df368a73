"""Logs whose ends are replaced while processes have their pools in memory.

PostgreSQL fails over to a replica that lacks the last transactions, or a file of SQLite is restored
in its place: other events get the same numbers.
"""

from contextlib import closing

import pytest
from structlog.testing import capture_logs

from pairup.service.pools.access import PoolAccess
from pairup.service.problems import RefusalError
from tests.support.service.older_states import OlderState
from tests.support.service.pools import Api
from tests.support.service.services import (
    TickingClock,
    check_agreement,
    check_stored,
    memory_of,
    players_of,
    services,
)


def replaced(service):
    """Return how many logs a service has found replaced."""
    exposed = service.metrics.expose(lambda _: True).decode().splitlines()
    (line,) = [each for each in exposed if each.startswith("pairup_logs_replaced_total ")]
    return float(line.split()[1])


@pytest.fixture
def two(database):
    """Two processes at the same event of two logs: the first has the one that was lost."""
    with services(database) as (one, other):
        one.create_pool("chess", {})
        one.put_players("chess", [("ann", "waiting"), ("bob", "waiting")])
        other.show_pool("chess")
        with closing(OlderState(database)) as state:
            one.put_player("chess", "lost-1", "waiting")
            one.put_player("chess", "lost-2", "away")
            state.put_back()
        other.put_player("chess", "kept-1", "waiting")
        other.put_player("chess", "kept-2", "away")
        assert memory_of(one, "chess").seq == memory_of(other, "chess").seq == 4
        yield one, other


def check(one, other, players):
    """Both processes serve the log that there is, which is sound."""
    for service in (one, other):
        assert players_of(service, "chess") == players
        check_agreement(service, "chess")
    check_stored(one.store)
    assert (replaced(one), replaced(other)) == (1, 0)


KEPT = {"ann", "bob", "kept-1", "kept-2"}


def test_a_replaced_log_is_noticed_by_the_next_read(two):
    with capture_logs() as logged:
        assert players_of(two[0], "chess") == KEPT
    said = {"event": "log replaced", "log_level": "warning", "pool": "chess"}
    assert [said.items() <= line.items() for line in logged] == [True]
    check(*two, KEPT)


def test_a_replaced_log_is_noticed_by_the_next_write(two):
    one, other = two
    view, joined = one.put_player("chess", "lost-1", "waiting")
    assert joined
    assert view == {"player": "lost-1", "status": "waiting", "game": None, "attributes": {}}
    check(one, other, KEPT | {"lost-1"})


def test_a_write_that_the_lost_log_had_no_need_for_is_done(two):
    """In the log that was lost the player has left, or is away already."""
    one, other = two
    one.put_player("chess", "lost-2", "away")
    assert other.show_player("chess", "lost-2")["status"] == "away"
    check(one, other, KEPT | {"lost-2"})


def test_a_refusal_because_of_the_lost_log_is_not_believed(two):
    """The first process believes that kept-1 is not there."""
    one, other = two
    matching = one.propose("chess", ["ann", "kept-1"]).view
    assert sorted(matching["games"][0]["players"]) == ["ann", "kept-1"]
    check(one, other, KEPT)


def test_a_refusal_because_of_the_log_that_there_is_is_one(two):
    one, other = two
    with pytest.raises(RefusalError) as refused:
        one.propose("chess", ["ann", "lost-1"])
    assert refused.value.slug == "no-such-player"
    check(one, other, KEPT)


def test_the_end_of_a_process_saves_no_snapshot_of_a_log_that_was_lost(database):
    with services(database, 1) as (other,):
        with services(database, 1) as (one,):
            one.create_pool("chess", {})
            with closing(OlderState(database)) as state:
                one.put_player("chess", "lost", "waiting")
                state.put_back()
            other.put_player("chess", "kept", "waiting")
        assert check_agreement(other, "chess") == 0
        check_stored(other.store)
    with services(database, 1) as (again,):
        assert players_of(again, "chess") == {"kept"}
        assert check_agreement(again, "chess") == 1


@pytest.mark.parametrize("refill", [1, 2, 5])
def test_a_log_that_is_shorter_or_longer_than_memory_is_noticed_too(database, refill):
    with services(database) as (one, other):
        one.create_pool("chess", {})
        other.show_pool("chess")
        with closing(OlderState(database)) as state:
            for number in range(3):
                one.put_player("chess", f"lost-{number}", "waiting")
            state.put_back()
        kept = {f"kept-{number}" for number in range(refill)}
        for name in sorted(kept):
            other.put_player("chess", name, "waiting")
        assert players_of(one, "chess") == kept
        check(one, other, kept)


def test_a_pool_that_got_the_number_of_a_lost_one_is_another_pool(database):
    """Numbers of pools that were lost are given again; a name in memory does not follow them."""
    with services(database) as (one, other):
        one.create_pool("first", {})
        with closing(OlderState(database)) as state:
            one.create_pool("lost", {})
            one.put_player("lost", "ann", "waiting")
            number = one.pool_number("lost")
            state.put_back()
        other.create_pool("other", {})
        assert other.pool_number("other") == number
        other.put_player("other", "bob", "waiting")
        for ask in (
            lambda: one.show_pool("lost"),
            lambda: one.put_player("lost", "eve", "waiting"),
            lambda: one.delete_pool("lost"),
        ):
            with pytest.raises(RefusalError) as refused:
                ask()
            assert refused.value.slug == "no-such-pool"
        assert players_of(one, "other") == players_of(other, "other") == {"bob"}
        check_stored(one.store)


def test_events_of_others_while_a_log_is_read_are_not_taken_for_a_replaced_one(
    database, monkeypatch
):
    """PostgreSQL shows to each statement what has been committed by then."""
    with services(database) as (one, other):
        one.create_pool("chess", {})
        one.show_pool("chess")
        other.put_player("chess", "ann", "waiting")
        row, faster = PoolAccess._row, []

        def look_and_be_overtaken(self, *given, **options):
            found = row(self, *given, **options)
            if self is one.pools and faster:
                other.put_player("chess", faster.pop(), "waiting")
            return found

        monkeypatch.setattr(PoolAccess, "_row", look_and_be_overtaken)
        faster.append("bob")
        assert players_of(one, "chess") == {"ann"}
        faster.append("eve")
        one.put_player("chess", "dan", "waiting")
        assert not faster
        monkeypatch.undo()
        assert players_of(one, "chess") == {"ann", "bob", "eve", "dan"}
        assert replaced(one) == 0
        for service in (one, other):
            check_agreement(service, "chess")


def test_snapshots_that_are_replaced_while_they_are_read_are_left_out(database):
    with services(database, snapshot_every=1) as (one, other):
        one.create_pool("chess", {})

        def move(status):
            one.put_players("chess", [("ann", status), ("bob", status)])

        move("waiting")
        move("away")
        with other.store.reading() as transaction:
            found = transaction.snapshots(one.pool_number("chess"))
            latest = next(found)
            move("waiting")
            move("away")
            assert [each.head.seq for each in found] in ([latest.head.seq - 1], [])


def test_a_stream_of_events_that_were_lost_ends(database):
    with services(database) as (one, other):
        one.create_pool("chess", {})
        with closing(OlderState(database)) as state:
            one.put_player("chess", "lost", "waiting")
            state.put_back()
        number = other.pool_number("chess")
        with pytest.raises(RefusalError, match="a copy of the database was restored"):
            one.follow(number, 2, 10)


def test_a_replaced_log_is_shown_as_it_is_over_http(database):
    api = Api(database, TickingClock())
    try:
        api.pool(players="ab")
        with closing(OlderState(database)) as state, services(database, 1, api.clock) as (other,):
            api.join("c")
            state.put_back()
            other.put_player("chess", "d", "waiting")
        digests = {api("GET", "/v1/pools/chess/digest", 200).text for _ in range(2)}
        assert len(digests) == 1
        page = api.json("GET", "/v1/pools/chess/players")["players"]
        assert [each["player"] for each in page] == ["a", "b", "d"]
        assert "pairup_logs_replaced_total 1.0" in api("GET", "/metrics", 200).text
        api.join("c")
        check_stored(api.service.store)
    finally:
        api.stop()
