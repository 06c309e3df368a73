"""A pool that cannot be read stops nothing else."""

import json

import pytest

from pairup.service.pools import cache
from pairup.service.pools.access import PoolAccess
from pairup.service.pools.cache import PoolCache, UnreadablePoolError
from pairup.service.problems import RefusalError
from pairup.service.store.event_log import encode_body
from tests.support.service.damage import change
from tests.support.service.services import services


@pytest.fixture(
    params=[
        "UPDATE events SET kind = 'nonsense' WHERE pool = 1 AND seq = 3",
        "UPDATE events SET body = '{' WHERE pool = 1 AND seq = 3",
        "UPDATE events SET body = :shape WHERE pool = 1 AND seq = 6",
        "DELETE FROM events WHERE pool = 1 AND seq = 3",
    ],
    ids=["kind", "body", "shape", "gap"],
)
def broken(request, lone):
    """Two pools with open games, of which one cannot be read any more."""
    for name in ("broken", "sound"):
        lone.pool(name, players="abcd")
    lone.open_game = lone.game("broken")
    lone.game("sound")
    damage = request.param
    values = {"shape": encode_body('{"matching":1,"games":5}')} if ":shape" in damage else {}
    lone.restart(crash=True, meanwhile=lambda: change(lone.database, damage, **values))
    lone.wait()
    return lone


def test_it_is_refused_by_name_and_everything_else_is_served(broken):
    for method, path, body in (
        ("GET", "/v1/pools/broken", None),
        ("POST", "/v1/pools/broken/matchings", None),
        ("PUT", "/v1/pools/broken/players/e", {}),
        ("PUT", f"/v1/games/{broken.open_game['id']}/outcome", {"outcome": "played"}),
    ):
        answer = broken(method, path, 503, json=body)
        assert answer.json()["type"] == "/problems/pool-unreadable"
        assert "pool 'broken' cannot be read" in answer.json()["detail"]
    assert broken.status("a", "sound") == "proposed"
    listed = broken.json("GET", "/v1/pools")["pools"]
    assert [pool["name"] for pool in listed] == ["broken", "sound"]
    assert broken.json("GET", "/readyz") == {"status": "ok", "unreadable_pools": 1}
    assert "pairup_unreadable_pools 1.0" in broken("GET", "/metrics").text
    page = broken("GET", "/", 200).text
    assert "cannot be read" in page
    assert 'href="/pools/sound"' in page
    assert broken("GET", "/pools/broken", 503).headers["content-type"].startswith("text/html")


def test_its_events_can_be_read(broken):
    page = broken.json("GET", "/v1/pools/broken/events?limit=100")
    assert [event["seq"] for event in page["events"]][-1] == 6
    assert json.dumps(page)


def test_it_can_be_deleted_and_its_name_used_again(broken):
    broken("DELETE", "/v1/pools/broken", 204)
    broken("GET", "/v1/pools/broken", 404)
    assert broken.json("GET", "/readyz") == {"status": "ok"}
    broken.pool("broken", players="ab")
    broken.propose("broken")


def test_it_is_read_again_after_a_while(lone, monkeypatch):
    lone.pool(players="ab")
    lone.restart(
        crash=True,
        meanwhile=lambda: change(lone.database, "UPDATE events SET seq = seq + 9 WHERE seq = 2"),
    )
    lone.wait()
    lone("GET", "/v1/pools/chess", 503)
    change(lone.database, "UPDATE events SET seq = seq - 9 WHERE seq = 11")
    lone("GET", "/v1/pools/chess", 503)  # it is not tried at every request
    later = cache.time.monotonic() + 60
    monkeypatch.setattr(cache.time, "monotonic", lambda: later)
    lone("GET", "/v1/pools/chess", 200)
    assert lone.json("GET", "/readyz") == {"status": "ok"}


@pytest.fixture
def two(database):
    """Two processes that cannot read a pool, neither of which has noticed it."""
    with services(database, 1) as (service,):
        service.create_pool("chess", {"policy": "unimodal"})
        change(database, "UPDATE events SET kind = 'nonsense'")
    change(database, "DELETE FROM snapshots")
    with services(database) as found:
        yield found


def test_it_can_be_deleted_by_two_processes_at_once(two, monkeypatch):
    one, other = two
    delete = PoolAccess.delete_unread

    def be_overtaken(self, name, by):
        if self is one.pools:
            other.delete_pool(name)
        delete(self, name, by)

    monkeypatch.setattr(PoolAccess, "delete_unread", be_overtaken)
    one.delete_pool("chess")
    for service in two:
        with pytest.raises(RefusalError) as refused:
            service.show_pool("chess")
        assert refused.value.slug == "no-such-pool"


def test_it_is_counted_once_if_it_is_met_by_a_request_and_without_one(two, monkeypatch):
    service, _ = two
    find = PoolCache.find

    def be_overtaken(self, name, keep=True, deadline=None):
        found = find(self, name, keep, deadline)
        if not keep:
            with pytest.raises(UnreadablePoolError):
                service.show_pool("chess")
        return found

    monkeypatch.setattr(PoolCache, "find", be_overtaken)
    with pytest.raises(UnreadablePoolError):
        service.pools._try("chess", lambda work: None, keep=False)
    assert b"pairup_unreadable_pools 1.0" in service.show_metrics(lambda _: True)
    service.delete_pool("chess")
    assert b"pairup_unreadable_pools 0.0" in service.show_metrics(lambda _: True)
