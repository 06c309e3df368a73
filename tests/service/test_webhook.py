"""An address is told, in order and at least once, of games that expired and of pools in need."""

import socket
import time
from contextlib import ExitStack, closing, suppress

import pytest

from pairup.errors import ServiceError
from pairup.service import webhook
from pairup.service.domain.events import SECOND
from pairup.service.maintenance.archive import archive
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.settings import read_settings
from pairup.service.webhook import Webhook
from tests.support.docs.pages import blocks
from tests.support.service.damage import change
from tests.support.service.older_states import OlderState
from tests.support.service.pools import Api
from tests.support.service.receiver import KEY, SECRET, receiving
from tests.support.service.services import TickingClock, check_stored, open_service, services


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(webhook, "_PAUSE_S", 0.0)
    monkeypatch.setattr(webhook, "_LOOK_S", 0.0)


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


@pytest.fixture
def webhook_of():
    """A function that makes the webhook of a service, as its process does."""
    with ExitStack() as opened:

        def make(service):
            made = (service.settings, service.store, service.pools, service.clock, service.metrics)
            return opened.enter_context(closing(Webhook(*made)))

        yield make


def expire(service, pool, times=1):
    """Let the games of some proposals expire, one after the other; returns the ids."""
    expired = []
    for _ in range(times):
        games = service.propose(pool).view["games"]
        service.clock.moment += 61 * SECOND
        service.show_pool(pool)
        expired.append([game["id"] for game in games])
    return expired


def make(service, *pools):
    for pool in pools:
        service.create_pool(pool, {"policy": "uniform", "lifetime_s": 60})
        service.put_players(pool, [(name, "waiting") for name in "abcd"])


def told_games(receiver, pool):
    return [message["data"]["event"]["body"]["games"] for _, message in receiver.taken(pool)]


def test_games_that_expired_are_told_once_in_the_order_of_the_log(database, receiver, webhook_of):
    with services(database, 1, **receiver.settings) as (one,):
        telling = webhook_of(one)
        make(one, "chess", "go")
        telling.tell()
        assert receiver.messages == []
        expired = {pool: expire(one, pool, 3) for pool in ("chess", "go")}
        telling.tell()
        telling.tell()
        webhook_of(one).tell()  # after a restart
        for pool, games in expired.items():
            assert told_games(receiver, pool) == games
        (_, first), *_ = receiver.taken("chess")
        event = one.events("chess", 3, 1)["events"][0]
        assert event["kind"] == "expired"
        data = {"pool": "chess", "event": event}
        assert first == {"type": "games.expired", "timestamp": event["at"], "data": data}
        assert len({id for id, _ in receiver.messages}) == len(receiver.messages) == 6
        check_stored(one.store)


def test_what_is_refused_is_sent_again_before_what_follows_and_holds_up_no_other_pool(
    database, receiver, webhook_of
):
    with services(database, 1, **receiver.settings) as (one,):
        make(one, "chess", "go")
        telling = webhook_of(one)
        expired = {pool: expire(one, pool, 3) for pool in ("chess", "go")}
        receiver.refuse = lambda message: message["data"]["pool"] == "chess"
        telling.tell()
        telling.tell()
        assert told_games(receiver, "chess") == []
        assert told_games(receiver, "go") == expired["go"]
        ids = [id for id, message in receiver.messages if message["data"]["pool"] == "chess"]
        assert len(ids) == 2
        receiver.refuse = lambda message: False
        telling.tell()
        assert told_games(receiver, "chess") == expired["chess"]
        assert set(ids) == {receiver.taken("chess")[0][0]}, "by which the receiver knows it again"


def test_pauses_grow_while_nobody_answers_and_nothing_is_lost(
    database, receiver, monkeypatch, webhook_of
):
    monkeypatch.setattr(webhook, "_PAUSE_S", 1_000.0)
    monkeypatch.setattr(webhook.random, "uniform", lambda low, high: high)
    monkeypatch.setattr(webhook, "_MAX_PAUSE_S", 3_500.0)
    now = 0.0
    monkeypatch.setattr(webhook.time, "monotonic", lambda: now)
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        nowhere = f"http://127.0.0.1:{nobody.getsockname()[1]}/"
    given = receiver.settings | {"webhook_url": nowhere}
    with services(database, 1, **given) as (one,):
        make(one, "chess")
        expired = expire(one, "chess", 2)
        telling, tried, failed = webhook_of(one), [], one.metrics.webhook.labels("unreachable")
        for now in range(0, 12_000, 100):
            before = failed._value.get()
            telling.tell()
            if failed._value.get() > before:
                tried.append(now)
        assert tried == [0, 1_000, 3_000, 6_500, 10_000]
        telling._url = receiver.url
        now = 20_000
        telling.tell()
        assert told_games(receiver, "chess") == expired


def test_what_was_told_by_a_process_that_died_at_that_is_told_again(database, receiver, webhook_of):
    with services(database, 1, **receiver.settings) as (one,):
        make(one, "chess")
        expire(one, "chess", 2)
        dying = webhook_of(one)
        dying._move_on = lambda *_: 1 / 0
        with pytest.raises(ZeroDivisionError):
            dying.tell()
        webhook_of(one).tell()
        first, again, second = [id for id, _ in receiver.messages]
        assert first == again != second


def test_of_pools_that_were_there_before_it_is_told_what_happens_from_now_on(
    database, receiver, webhook_of
):
    clock = TickingClock()
    with closing(open_service(database, clock)) as without:
        make(without, "chess")
        expire(without, "chess")
    with services(database, 1, clock, **receiver.settings) as (one,):
        telling = webhook_of(one)
        telling.tell()
        make(one, "new")
        expired = {pool: expire(one, pool) for pool in ("chess", "new")}
        telling.tell()
        for pool, games in expired.items():
            assert told_games(receiver, pool) == games


def test_only_the_owner_of_a_pool_tells_and_its_successor_goes_on(postgres, receiver, webhook_of):
    database = postgres.emptied_database()
    with services(database, 2, **receiver.settings) as found:
        for number, service in enumerate(found):
            service.share_pools(f"http://process{number}")
            service.pools.cache.ownership.join()
        one, other = found
        one.pools.cache.ownership._renew()
        pools = [f"pool{number}" for number in range(8)]
        owners = {}
        for pool in pools:
            one.create_pool(pool, {"policy": "uniform", "lifetime_s": 60})
            for service in found:
                with suppress(MisdirectedError):
                    service.put_players(pool, [(name, "waiting") for name in "ab"])
                    expire(service, pool)
                    owners[pool] = service
        assert set(owners.values()) == {one, other}
        webhook_of(one).tell()
        for pool, owner in owners.items():
            assert len(receiver.taken(pool)) == (owner is one)
        other.leave()
        one.pools.cache.ownership._renew()
        webhook_of(one).tell()
        assert [len(receiver.taken(pool)) for pool in pools] == [1] * len(pools)


def test_who_was_overtaken_tells_no_more(database, receiver, webhook_of):
    with services(database, 2, **receiver.settings) as (one, other):
        make(one, "chess")
        expire(one, "chess", 3)
        slow, note = webhook_of(one), webhook_of(other)
        moves_on = slow._move_on

        def overtaken(*args):
            note.tell()
            return moves_on(*args)

        slow._move_on = overtaken
        slow.tell()
        numbers = [message["data"]["event"]["seq"] for _, message in receiver.messages]
        assert numbers == [numbers[0], *numbers[1:4]] == [numbers[0], *sorted(set(numbers))]


def test_a_log_in_which_nothing_is_to_be_told_is_passed(database, receiver, webhook_of):
    with services(database, 1, **receiver.settings) as (one,):
        make(one, "chess")
        number, telling = one.pool_number("chess"), webhook_of(one)

        def until():
            with one.store.reading() as transaction:
                return transaction.told_until(number)

        telling.tell()
        assert until() == 0
        for _ in range(webhook._FAR):
            one.put_player("chess", "a", "away")
            one.put_player("chess", "a", "waiting")
        telling.tell()
        assert until() == one.show_digest("chess")["seq"]


def test_what_is_still_to_be_told_is_not_archived(database, receiver, tmp_path, webhook_of):
    with services(database, 1, **receiver.settings) as (one,):
        make(one, "chess")
        expired = expire(one, "chess", 2)
        receiver.refuse = lambda message: message["data"]["event"]["seq"] > 4
        webhook_of(one).tell()
        after = one.clock.moment + SECOND
        folder = None if one.store.file else tmp_path
        (found,) = archive(one.store, after, folder)
        assert (found.error, found.events) == ("", 4)
        receiver.refuse = lambda message: False
        webhook_of(one).tell()
        assert told_games(receiver, "chess") == expired


def test_a_pool_that_cannot_be_read_is_told_once_as_long_as_it_cannot(
    database, receiver, webhook_of
):
    clock = TickingClock()
    with closing(open_service(database, clock)) as before:
        make(before, "chess", "go")
        before._save_pools = lambda: None
    change(database, "UPDATE events SET kind = 'nonsense' WHERE pool = 1 AND seq = 2")
    with services(database, 1, clock, **receiver.settings) as (one,):
        telling = webhook_of(one)
        for pool in ("chess", "go"):
            try:
                one.show_pool(pool)
            except RefusalError:
                assert pool == "chess"
        receiver.refuse = lambda message: True
        telling.tell()
        receiver.refuse = lambda message: False
        telling.tell()
        telling.tell()
        (refused, _), (id, message) = receiver.messages
        assert refused == id
        assert message["type"] == "pool.attention"
        assert (message["data"]["pool"], message["data"]["why"]) == ("chess", "unreadable")
        assert "cannot be read" in message["data"]["detail"]


def test_a_log_whose_end_was_replaced_is_told(database, receiver, webhook_of):
    with services(database, 1, **receiver.settings) as (one,):
        make(one, "chess")
        telling = webhook_of(one)
        for times in (1, 2):
            with closing(OlderState(database)) as state:
                one.put_player("chess", "lost", "away")
                state.put_back()
            one.put_player("chess", f"kept{times}", "away")
            telling.tell()
            telling.tell()
            assert [each["data"]["why"] for _, each in receiver.messages] == [
                "log-replaced"
            ] * times


def test_a_pool_that_does_worse_than_random_pairing_is_told(
    tmp_path, receiver, monkeypatch, webhook_of
):
    gains = {"low": -0.3, "estimate": -0.2, "high": -0.1}
    compared = type("Compared", (), {"gain": gains})
    monkeypatch.setattr(webhook, "compare", lambda buckets: compared)
    with services(str(tmp_path / "pools.db"), 1, **receiver.settings) as (one,):
        make(one, "chess")
        telling = webhook_of(one)
        for why in ("", "again"):
            gains["high"] = -0.1
            telling.tell()
            telling.tell()
            _, message = receiver.messages[-1]
            assert message["data"]["why"] == "worse-than-random", why
            assert "0.100 to 0.300 less" in message["data"]["detail"]
            gains["high"] = 0.1
            telling.tell()
        assert len(receiver.messages) == 2


def test_a_service_tells_by_itself(tmp_path, receiver):
    api = Api(str(tmp_path / "pools.db"), sweep_s=0.05, **receiver.settings)
    try:
        api.wait()
        api.pool(players="ab", policy="uniform", lifetime_s=60)
        game = api.game()
        api.clock.moment += 61 * SECOND
        deadline = time.monotonic() + 60
        while not receiver.messages:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        api.stop()
    assert told_games(receiver, "chess") == [[game["id"]]]


def test_a_receiver_reads_messages_as_the_guide_says():
    (program,) = blocks("how-to/monitor-the-service.md", "python")
    names = {}
    exec(compile(program.text, program.title, "exec"), names)
    body, now = b'{"type": "pool.attention"}', str(int(time.time()))
    headers = {
        "webhook-id": "3-17-0f",
        "webhook-timestamp": now,
        "webhook-signature": webhook.sign(KEY, "3-17-0f", now, body),
    }
    read = names["read_message"]
    assert read(SECRET, headers, body) == ("3-17-0f", {"type": "pool.attention"})
    for wrong in ({"webhook-id": "3-18-0f"}, {"webhook-timestamp": "0"}):
        with pytest.raises(ValueError, match="signature"):
            read(SECRET, headers | wrong, body)
    old = {"webhook-timestamp": "0", "webhook-signature": webhook.sign(KEY, "3-17-0f", "0", body)}
    with pytest.raises(ValueError, match="old"):
        read(SECRET, headers | old, body)


@pytest.mark.parametrize(
    ("url", "secret", "says"),
    [
        ("ftp://x", SECRET, "begins with https:// or http://, got 'ftp://x'"),
        ("https://", SECRET, "got 'https://'"),
        ("https://x/y", "", "set PAIRUP_WEBHOOK_SECRET"),
        ("https://x/y", SECRET.replace("whsec", "what"), "is whsec_ and 24 to 64 bytes"),
        ("https://x/y", "whsec_c2hvcnQ=", "is whsec_ and 24 to 64 bytes"),
        ("https://x/y", "whsec_%%%", "is whsec_ and 24 to 64 bytes"),
    ],
)
def test_an_address_or_a_secret_that_cannot_be_is_refused(url, secret, says):
    with pytest.raises(ServiceError, match=says.replace("(", r"\(")):
        read_settings(webhook_url=url, webhook_secret=secret)
    settings = read_settings(webhook_url="https://x/y", webhook_secret=SECRET)
    assert SECRET not in repr(settings)
