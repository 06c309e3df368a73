"""Code that fails while it serves: the log is not blamed, and the pool is served again."""

import pytest
from sqlalchemy import event

from pairup.errors import PairupError
from pairup.learning import Learner
from pairup.service.pools import cache, players
from pairup.service.problems import RefusalError
from pairup.service.store import Transaction
from pairup.service.store.engine import WRITES
from tests.support.service.services import (
    check_agreement,
    check_stored,
    memory_of,
    players_of,
    services,
)


@pytest.fixture
def service(database):
    with services(database, 1, snapshot_every=1) as (opened,):
        opened.create_pool("chess", {})
        opened.put_players("chess", [(player, "waiting") for player in "abcd"])
        yield opened


def fail_once(monkeypatch, where, name, error):
    """Let a function fail the next time, when it has done its work."""
    work, failures = getattr(where, name), [error]

    def fail(*given, **options):
        done = work(*given, **options)
        if failures:
            raise failures.pop()
        return done

    monkeypatch.setattr(where, name, fail)


ERRORS = [MemoryError("no room"), ValueError("a bug"), PairupError("a rule"), OSError(24, "files")]
PLACES = {
    "join": Learner,  # in the middle of an event
    "put_players": players,  # after all events, before anything is written
    "write_snapshot": cache,
    "append": Transaction,
    "add_snapshot": Transaction,  # when most is written
}


@pytest.mark.parametrize(
    ("name", "error"),
    [*((place, ERRORS[0]) for place in PLACES), *(("join", error) for error in ERRORS[1:])],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_error_of_live_code_is_not_called_a_damaged_log(service, monkeypatch, name, error):
    fail_once(monkeypatch, PLACES[name], name, error)
    wanted = [*((player, "away") for player in "abcd"), ("e", "waiting")]  # until a snapshot
    with pytest.raises(type(error)) as raised:
        service.put_players("chess", wanted)
    assert raised.value is error
    memory = memory_of(service, "chess")
    assert memory is None or memory.seq == 2
    assert players_of(service, "chess") == set("abcd")
    assert service.show_pool("chess")["players"]["waiting"] == 4
    assert service.pools.cache.unreadable == 0
    assert check_agreement(service, "chess") == 1
    results = service.put_players("chess", wanted).view["results"]
    assert [each["result"] for each in results] == ["moved"] * 4 + ["joined"]
    assert players_of(service, "chess") == set("abcde")
    assert check_agreement(service, "chess") == 2
    check_stored(service.store)


def test_what_could_not_be_committed_is_not_shown(service):
    failures = [MemoryError()]

    def fail(connection):
        if connection.get_execution_options().get(WRITES) is not None and failures:
            raise failures.pop()

    event.listen(service.store._engine, "commit", fail)
    with pytest.raises(MemoryError):
        service.put_player("chess", "e", "waiting")
    assert not failures
    assert memory_of(service, "chess") is None
    assert players_of(service, "chess") == set("abcd")
    check_agreement(service, "chess")
    service.put_player("chess", "e", "waiting")
    check_agreement(service, "chess")
    check_stored(service.store)


def test_a_proposal_that_fails_leaves_no_trace(service, monkeypatch):
    fail_once(monkeypatch, Learner, "record", MemoryError())
    with pytest.raises(MemoryError):
        service.propose("chess")
    assert service.show_pool("chess")["players"]["waiting"] == 4
    assert len(service.propose("chess").view["games"]) == 2
    check_agreement(service, "chess")
    check_stored(service.store)


@pytest.mark.parametrize("error", [MemoryError(), RecursionError(), OSError(24, "files")])
def test_a_machine_in_trouble_while_a_log_is_read_does_not_make_the_pool_unreadable(
    database, monkeypatch, error
):
    with services(database) as (one, other):
        one.create_pool("chess", {})
        other.show_pool("chess")
        one.put_player("chess", "ann", "waiting")
        fail_once(monkeypatch, Learner, "join", error)
        with pytest.raises(type(error)):
            other.show_pool("chess")
        assert memory_of(other, "chess") is None
        assert other.pools.cache.unreadable == 0
        assert players_of(other, "chess") == {"ann"}
        check_agreement(other, "chess")


def test_an_event_that_cannot_be_applied_is_a_damaged_log(database, monkeypatch):
    """Where the log is read, an error that says nothing about this machine is the log's."""
    with services(database) as (one, other):
        one.create_pool("chess", {})
        one.put_player("chess", "ann", "waiting")
        monkeypatch.setattr(Learner, "join", lambda *_: 1 / 0)
        with pytest.raises(RefusalError, match=r"event 2 of pool .* damaged") as refused:
            other.show_pool("chess")
        assert refused.value.slug == "pool-unreadable"
