"""Two versions of pairup on one database: forward, back and side by side, killed at any moment."""

import random

import httpx
import pytest

from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.processes import Process
from tests.support.service.running import Running
from tests.support.service.versions import (
    OTHER_ORDER,
    OTHER_POLICY,
    OTHER_SNAPSHOTS,
    other_version,
)

POOLS = {"rates": {}, "couples": {"policy": "unimodal"}}
SETTINGS = {"snapshot_every": 15, "sweep_s": 0.2}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("other")
    with other_version(folder, OTHER_POLICY, OTHER_ORDER, OTHER_SNAPSHOTS) as sources:
        yield sources


class Players:
    """Players of two pools, who play where they are told to."""

    def __init__(self):
        self.draw, self.learnt = random.Random(4), dict.fromkeys(POOLS, 0)

    def set_up(self, url):
        for pool, rules in POOLS.items():
            _send(url, "POST", "/v1/pools", 201, {"name": pool, **rules})
            for player in "abcdefg":
                _send(url, "PUT", f"/v1/pools/{pool}/players/{player}", 201, {})

    def play(self, url, rounds=6):
        """Propose in each pool and report, but for a game that stays open until it is released."""
        for pool in POOLS:
            for _ in range(rounds):
                matching = _send(url, "POST", f"/v1/pools/{pool}/matchings", 201)
                for game in matching["games"][1:]:
                    outcome = {"outcome": self.draw.choice(["played", "cancelled"])}
                    _send(url, "PUT", f"/v1/games/{game['id']}/outcome", 200, outcome)
                    self.learnt[pool] += 1
                _send(url, "POST", f"/v1/matchings/{matching['id']}/release", 200)
            _send(url, "POST", f"/v1/pools/{pool}/matchings", 201)
        return self.look(url)

    def look(self, url):
        """Look at the facts, and release what is open."""
        found = {}
        for pool in POOLS:
            stats = _send(url, "GET", f"/v1/pools/{pool}/stats")
            couples = _send(url, "GET", f"/v1/pools/{pool}/estimates")["couples"]
            digest = _send(url, "GET", f"/v1/pools/{pool}/digest")
            assert stats["games"]["learnt"] == self.learnt[pool]
            assert sum(couple["proposed"] for couple in couples) == self.learnt[pool]
            found[pool] = [stats["games"], stats["players"], couples, digest]
        return found

    def release(self, url):
        for pool in POOLS:
            for game in _send(url, "GET", f"/v1/pools/{pool}/stats")["open_games"]:
                _send(url, "POST", f"/v1/matchings/{game['matching']}/release", 200)


def _send(url, method, path, status=200, body=None):
    answer = httpx.request(
        method, f"{url}{path}", json=body, timeout=60, trust_env=False, verify=False
    )
    assert answer.status_code == status, answer.text
    return answer.json()


def _check(database, versions):
    store = Store(database)
    try:
        assert [found.error for found in verify(store)] == ["", ""]
        for pool in POOLS:
            with store.reading() as transaction:
                log = list(transaction.events(transaction.pool_named(pool).number))
            written = [
                recorded.event.version["code"]
                for recorded in log
                if recorded.event.kind in ("created", "continued")
            ]
            assert len(set(written)) == 2
            assert len(written) >= versions
    finally:
        store.close()


def test_pools_go_on_under_another_version_and_back(database, tmp_path, sources):
    ours = Process(database, tmp_path / "log", **SETTINGS)
    theirs, players = None, Players()
    try:
        ours.start()
        assert ours.wait(), ours.said()
        players.set_up(ours.url)
        known = players.play(ours.url)
        ours.kill()
        theirs = Running(tmp_path, sources, **SETTINGS, **{"database": database})
        assert players.look(theirs.url) == known
        players.release(theirs.url)
        known = players.play(theirs.url)
        theirs.kill()
        ours.start()
        assert ours.wait(), ours.said()
        assert players.look(ours.url) == known
        players.release(ours.url)
        known = players.play(ours.url)
        assert ours.stop() == 0
        _check(database, 3)
    finally:
        for process in (ours, theirs):
            if process:
                process.stop()


def test_two_versions_on_one_database_ask_each_other_and_take_over(postgres, tmp_path, sources):
    database = postgres.new_database()
    ours = Process(database, tmp_path / "log", **SETTINGS)
    ours.start()
    theirs = Running(tmp_path, sources, **SETTINGS, **{"database": database})
    players = Players()
    try:
        assert ours.wait(), ours.said()
        players.set_up(ours.url)
        for url, other in [(theirs.url, ours.url), (ours.url, theirs.url)] * 3:
            known = players.play(url, rounds=2)
            assert players.look(other) == known
            players.release(other)
        ours.kill()
        players.play(theirs.url, rounds=2)
        players.release(theirs.url)
        ours.start()
        assert ours.wait(), ours.said()
        players.play(ours.url, rounds=2)
        players.release(ours.url)
        theirs.kill()
        players.play(ours.url, rounds=2)
        _check(database, 3)
    finally:
        ours.stop()
        theirs.stop()
