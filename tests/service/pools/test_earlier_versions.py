"""Histories that earlier versions wrote: read, served and continued by this one."""

import gzip
import json
import sqlite3

import pytest

from pairup.service.domain.version import current_version
from pairup.service.maintenance.verify import verify
from tests.support.paths import ROOT
from tests.support.service.clock import SettableClock
from tests.support.service.histories import facts
from tests.support.service.pools import Api

HISTORIES = sorted((ROOT / "tests" / "histories").glob("*.sql.gz"))


@pytest.fixture(params=HISTORIES, ids=lambda file: file.name.removesuffix(".sql.gz"))
def history(request, tmp_path):
    """The service of this version on a database of an earlier one, and what that one served."""
    with sqlite3.connect(tmp_path / "pools.db") as connection:
        connection.executescript(gzip.decompress(request.param.read_bytes()).decode())
    connection.close()
    version = request.param.name.removesuffix(".sql.gz")
    served = json.loads(request.param.with_name(f"{version}.json").read_text("utf-8"))
    api = Api(str(tmp_path / "pools.db"), SettableClock(served["moment"]))
    yield api, served["pools"]
    api.stop()


def test_what_an_earlier_version_served_is_served(history):
    api, served = history
    for pool, then in served.items():
        now = facts(api, pool)
        now["rules"] = {rule: now["rules"][rule] for rule in then["rules"]}  # others are newer
        seen = zip(now["players"], then["players"], strict=True)
        now["players"] = [{name: player[name] for name in known} for player, known in seen]
        assert now == then
    assert [verdict.error for verdict in verify(api.service.store)] == [""] * (len(served) + 1)


def _differs(pool, _):
    """Whether a pool was written by another version than the one that runs."""
    return pool.version != current_version(pool.learner.policy)


def test_pools_of_an_earlier_version_go_on(history):
    api, served = history
    for pool in served:
        learnt, code_differs = api.stats(pool)["games"]["learnt"], api.service.read(pool, _differs)
        for turn in range(12):
            for player in "xyz":
                api.join(player, pool)
            for number, game in enumerate(api.propose(pool)["games"]):
                api.report(game, "played" if (turn + number) % 3 else "cancelled")
        assert api.stats(pool)["games"]["learnt"] >= learnt + 12
        page = api.json("GET", f"/v1/pools/{pool}/events?limit=1000")
        versions = [event for event in page["events"] if event["kind"] == "continued"]
        assert len(versions) == code_differs
        assert all(set(each["body"]["version"]) == {"package", "code"} for each in versions)
    before = {pool: api.json("GET", f"/v1/pools/{pool}/digest") for pool in served}
    for crash in (False, True):
        api.restart(crash=crash)
        assert {pool: api.json("GET", f"/v1/pools/{pool}/digest") for pool in served} == before
    assert {verdict.error for verdict in verify(api.service.store)} == {""}
