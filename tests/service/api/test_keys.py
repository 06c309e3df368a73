"""API keys: who may do what in which pool."""

import threading
import time

import pytest

from pairup.errors import ServiceError
from pairup.service import api_keys
from pairup.service.domain.events import SECOND, format_moment
from pairup.service.maintenance.archive import archive
from pairup.service.maintenance.export import audited
from pairup.service.maintenance.verify import verify
from pairup.service.server import open_store
from pairup.service.settings import Settings, read_settings
from pairup.service.store import Store
from tests.support.service.clock import SettableClock
from tests.support.service.pools import Api


@pytest.fixture
def guarded(tmp_path):
    running = Api(str(tmp_path / "pools.db"), keys="required", poll_s=0.05)
    yield running
    running.stop()


def bearer(api, *scopes):
    _, key = api_keys.create(api.service.store, "test", api_keys.parse_scopes(list(scopes)), 0)
    return {"Authorization": f"Bearer {key}"}


def test_without_a_key_nothing_is_shown(guarded):
    for path in ("/v1/pools", "/v1/pools/chess", f"/v1/games/1-0-{'0' * 16}-0"):
        answer = guarded("GET", path, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["type"] == "/problems/key-needed"
    guarded("GET", "/v1/pools", 401, headers={"Authorization": "Bearer wrong"})
    guarded("GET", "/v1/pools", 401, headers={"Authorization": "Basic eDp5"})
    guarded.wait()
    for path in ("/healthz", "/readyz", "/metrics"):
        guarded("GET", path, 200)


def test_a_key_allows_what_its_scopes_say(guarded):
    admin, writer = bearer(guarded, "*:admin"), bearer(guarded, "chess:write", "go:read")
    for name in ("chess", "go", "secret"):
        guarded("POST", "/v1/pools", 403, json={"name": name}, headers=writer)
        guarded("POST", "/v1/pools", 201, json={"name": name}, headers=admin)
        for player in "ab":
            path = f"/v1/pools/{name}/players/{player}"
            guarded("PUT", path, 201, headers=admin)
    listed = guarded.json("GET", "/v1/pools", headers=writer)["pools"]
    assert [pool["name"] for pool in listed] == ["chess", "go"]
    guarded("GET", "/v1/pools/go/stats", 200, headers=writer)
    guarded("GET", "/v1/pools/secret/stats", 403, headers=writer)
    guarded("GET", "/v1/pools/nix/stats", 403, headers=writer)  # nor whether it exists
    guarded("PUT", "/v1/pools/chess/players/c", 201, headers=writer)
    refused = guarded("PUT", "/v1/pools/go/players/c", 403, headers=writer).json()
    assert "pairup keys create --scope go:write" in refused["detail"]
    guarded("PATCH", "/v1/pools/chess", 403, json={}, headers=writer)
    guarded("DELETE", "/v1/pools/chess", 403, headers=writer)


def test_games_of_pools_that_a_key_may_not_read_do_not_exist_for_it(guarded):
    admin, other = bearer(guarded, "*:admin"), bearer(guarded, "go:admin")
    reader = bearer(guarded, "chess:read")
    guarded("POST", "/v1/pools", 201, json={"name": "chess"}, headers=admin)
    for player in "ab":
        guarded("PUT", f"/v1/pools/chess/players/{player}", 201, headers=admin)
    matching = guarded.json("POST", "/v1/pools/chess/matchings", 201, headers=admin)
    game = matching["games"][0]["id"]
    played = {"outcome": "played"}
    for headers, shown, done in ((other, 404, 404), (reader, 200, 403), (admin, 200, 200)):
        guarded("GET", f"/v1/matchings/{matching['id']}", shown, headers=headers)
        guarded("GET", f"/v1/games/{game}", shown, headers=headers)
        guarded("PUT", f"/v1/games/{game}/outcome", done, json=played, headers=headers)
        guarded("POST", f"/v1/matchings/{matching['id']}/release", done, headers=headers)


def test_a_revoked_key_allows_nothing(guarded):
    store = guarded.service.store
    id, key = api_keys.create(store, "test", {"*": "read"}, 0)
    headers = {"Authorization": f"Bearer {key}"}
    guarded("GET", "/v1/pools", 200, headers=headers)
    api_keys.revoke(store, id, 1)
    guarded("GET", "/v1/pools", 401, headers=headers)
    with pytest.raises(ServiceError, match="no valid key has the id"):
        api_keys.revoke(store, id, 2)
    (listed,) = api_keys.list_keys(store)
    assert (listed["id"], listed["name"], listed["scopes"]) == (id, "test", "*:read")
    assert listed["revoked"]
    assert key not in str(listed)


def test_a_stream_ends_when_its_key_is_revoked(guarded):
    guarded("POST", "/v1/pools", 201, json={"name": "chess"}, headers=bearer(guarded, "*:admin"))
    id, key = api_keys.create(guarded.service.store, "test", {"chess": "read"}, 0)

    def revoke():
        while not guarded.app.state.open_streams:
            time.sleep(0.02)
        time.sleep(0.2)
        api_keys.revoke(guarded.service.store, id, 1)

    revoking = threading.Thread(target=revoke)
    revoking.start()
    headers = {"Authorization": f"Bearer {key}"}
    stream = guarded("GET", "/v1/pools/chess/events/stream", 200, headers=headers)  # until it ends
    revoking.join()
    assert "event: created" in stream.text


def test_keys_are_hashed_at_rest(tmp_path):
    file = tmp_path / "pools.db"
    store = Store(str(file))
    made = [api_keys.create(store, "test", {"*": "read"}, 0)[1] for _ in range(20)]
    store.close()
    content = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    assert len(set(made)) == 20
    assert all(len(key) >= 40 and key.encode() not in content for key in made)


def test_idempotency_keys_are_their_owners(guarded):
    one, other = bearer(guarded, "*:admin"), bearer(guarded, "*:admin")
    key = {"Idempotency-Key": "k"}
    guarded("POST", "/v1/pools", 201, json={"name": "chess"}, headers={**one, **key})
    guarded("POST", "/v1/pools", 201, json={"name": "go"}, headers={**other, **key})


@pytest.mark.parametrize(
    ("scope", "says"),
    [
        ("chess", r"a scope is POOL:SCOPE, got 'chess': try"),
        (":read", r"a scope is POOL:SCOPE, got ':read': try"),
        ("chess:reed", r'no scope is called \'reed\'.* did you mean "read"'),
        ("chess:", r"no scope is called ''"),
        ("Chess:read", r"no pool can be called 'Chess'"),
    ],
)
def test_a_scope_that_cannot_be_granted_is_refused(scope, says):
    with pytest.raises(ServiceError, match=says):
        api_keys.parse_scopes([scope])


@pytest.mark.parametrize(
    ("host", "wanted", "needed"),
    [
        ("127.0.0.1", "auto", False),
        ("127.9.9.9", "auto", False),
        ("localhost", "auto", False),
        ("::1", "auto", False),
        ("127.0.0.1", "required", True),
        ("0.0.0.0", "auto", True),
        ("::", "auto", True),
        ("example.com", "auto", True),
    ],
)
def test_keys_are_needed_off_loopback(host, wanted, needed):
    assert read_settings(host=host, keys=wanted).needs_keys is needed


def test_without_keys_it_starts_on_loopback_only(tmp_path):
    database = str(tmp_path / "pools.db")
    with pytest.raises(ServiceError, match=r"on loopback only, got host '0\.0\.0\.0'"):
        read_settings(host="0.0.0.0", keys="off")
    with pytest.raises(ServiceError, match="pairup keys create"):
        open_store(Settings(host="0.0.0.0", database=database))
    store = Store(database)
    id, _ = api_keys.create(store, "test", {"*": "read"}, 0)
    open_store(Settings(host="0.0.0.0", database=database)).close()
    api_keys.revoke(store, id, 1)
    store.close()
    with pytest.raises(ServiceError, match="pairup keys create"):
        open_store(Settings(host="0.0.0.0", database=database))


def test_a_key_expires(tmp_path):
    clock = SettableClock()
    api = Api(str(tmp_path / "pools.db"), clock, keys="required")
    try:
        store, later = api.service.store, clock.now() + 60 * SECOND
        _, key = api_keys.create(store, "test", {"*": "read"}, clock.now(), later)
        headers = {"Authorization": f"Bearer {key}"}
        api("GET", "/v1/pools", 200, headers=headers)
        clock.advance(60)
        refused = api("GET", "/v1/pools", 401, headers=headers)
        assert "unknown, revoked or expired" in refused.json()["detail"]
        (listed,) = api_keys.list_keys(store)
        assert listed["expires"] == format_moment(later)
        with pytest.raises(ServiceError, match="no valid key"):
            api_keys.rotate(store, listed["id"], clock.now(), clock.now())
    finally:
        api.stop()


def test_a_key_is_rotated_without_an_interruption(tmp_path):
    """Two are valid at once, and are one to limits and idempotent replies; then the new one is."""
    clock = SettableClock()
    api = Api(str(tmp_path / "pools.db"), clock, keys="required")
    try:
        store = api.service.store
        id, former = api_keys.create(store, "test", {"*": "admin"}, clock.now())
        new = api_keys.rotate(store, id, clock.now(), clock.now() + 60 * SECOND)
        pool = {"json": {"name": "chess"}}
        first, again = (
            api("POST", "/v1/pools", 201, **pool, headers=bearer_of(key, "Idempotency-Key"))
            for key in (former, new)
        )
        assert (first.text, again.headers["idempotent-replay"]) == (again.text, "true")
        clock.advance(60)
        api("GET", "/v1/pools", 401, headers=bearer_of(former))
        api("GET", "/v1/pools", 200, headers=bearer_of(new))
        api_keys.revoke(store, id, clock.now())
        api("GET", "/v1/pools", 401, headers=bearer_of(new))
    finally:
        api.stop()


def bearer_of(key, *names):
    return {"Authorization": f"Bearer {key}", **dict.fromkeys(names, "same")}


def test_the_log_names_the_key_of_who_configures_a_pool(guarded):
    store = guarded.service.store
    _, key = api_keys.create(store, "ann at the desk", {"chess": "admin"}, 0)
    _, other = api_keys.create(store, "bob", {"*": "admin"}, 0)
    guarded("POST", "/v1/pools", 201, json={"name": "chess"}, headers=bearer_of(key))
    change = {"json": {"lifetime_s": 5.0}, "headers": bearer_of(other)}
    guarded("PATCH", "/v1/pools/chess", 200, **change)
    learner = guarded("GET", "/v1/pools/chess/learner", 200, headers=bearer_of(key)).content
    sent = {"content": learner, "headers": bearer_of(key)}
    guarded("PUT", "/v1/pools/chess/learner", 200, **sent)
    page = guarded.json("GET", "/v1/pools/chess/events", headers=bearer_of(key))
    named = ["ann at the desk", "bob", "ann at the desk"]
    assert [each["body"].get("by") for each in page["events"]] == named
    guarded("DELETE", "/v1/pools/chess", 204, headers=bearer_of(other))
    found = audited(store, "chess")
    assert [each["by"] for each in found] == [*named, "bob"]
    assert found[1]["what"] == '{"lifetime_s":5.0}'
    assert audited(store, "go") == []
    (archived,) = archive(store, guarded.clock.moment + 1)
    assert archived.events == page["events"][-1]["seq"] + 1
    assert audited(store, "chess") == found, "also from archives"
    assert [verdict.error for verdict in verify(store)] == [""]
