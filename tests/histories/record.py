"""Record a history with the pairup of this clone: python -m tests.histories.record VERSION.

A history is a database as a version of pairup left it when it was killed, and the facts that it
served. Later versions must read it, serve the same facts and go on. Record one before a release,
and keep those of earlier versions.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from pairup.service.domain.events import KINDS
from tests.support.service.histories import History, facts
from tests.support.service.pools import Api

POOLS = {
    "rank-one": {"policy": "rank_one_thompson", "options": {"period": 2}},
    "answers": {"timeout_declines": True, "after_game": "playing"},
    "unimodal": {"policy": "unimodal", "unreported": "cancelled"},
    "sam": {"policy": "sam", "options": {"horizon": 1_000}},
    "comb-ucb": {"policy": "comb_ucb", "options": {"index": "kl"}},
    "changed": {"policy": "unimodal"},
    "kept": {"keep_records": True, "memory_s": 3_600},
    "deleted": {"policy": "uniform"},
}
_STEPS = 240


def record(version, folder=Path(__file__).parent):
    """Write the history of a version: VERSION.sql.gz, and what it served, VERSION.json."""
    with tempfile.TemporaryDirectory() as temporary:
        database = str(Path(temporary) / "pools.db")
        api = Api(database, snapshot_every=90)
        try:
            served = _served(api)
            api.service.close = api.service.store.close  # as if killed: nothing more is saved
        finally:
            api.stop()
        with sqlite3.connect(database) as connection:
            dump = "\n".join(connection.iterdump())
    (folder / f"{version}.sql.gz").write_bytes(gzip.compress(dump.encode(), mtime=0))
    text = json.dumps(served, indent=1, sort_keys=True) + "\n"
    (folder / f"{version}.json").write_text(text, "utf-8")


def _served(api):
    histories = [
        History(api, seed, pool, **rules) for seed, (pool, rules) in enumerate(POOLS.items())
    ]
    for policy in ("rank_one_thompson", "epsilon_greedy", "unimodal"):
        for history in histories:
            history.go_on(_STEPS // 3)
        api("PATCH", "/v1/pools/changed", 200, json={"policy": policy})
    api("POST", "/v1/pools/rank-one/matchings", headers={"Idempotency-Key": "again"})
    _bring_in(api)
    _let_go(api)
    kept = [pool for pool in POOLS if pool != "deleted"]
    kinds = {kind for pool in kept for kind in api.kinds(pool)}
    assert kinds == {*KINDS} - {"continued", "deleted"}, "the history lacks a kind of event"
    served = {pool: facts(api, pool) for pool in kept}  # now nothing expires any more
    assert served == {pool: facts(api, pool) for pool in kept}
    api("DELETE", "/v1/pools/deleted", 204)
    return {"moment": api.clock.now(), "pools": served}


def _bring_in(api):
    """Import games of the past into one pool, and what it has learnt then into another."""
    couples = {"players": ["p1", "q1", "q2"], "player_a": [0, 0, 1], "player_b": [1, 2, 2]}
    said = {"accepted_a": [True, None, False], "accepted_b": [True, None, None]}
    rows = {"rows": 3, **couples, **said, "played": [None, True, False]}
    api("PUT", "/v1/pools/rank-one/imports/season/rows/0", 200, json=rows)
    learner = api("GET", "/v1/pools/rank-one/learner", 200).content
    api("PATCH", "/v1/pools/kept", 200, json=POOLS["rank-one"])
    api("PUT", "/v1/pools/kept/learner", 200, content=learner)


def _let_go(api):
    """Let players leave whose records are kept, forget one of these, and erase another."""
    for player, wish in (("q1", "forget=false"), ("q1", "forget=true"), ("q2", "erase=true")):
        api("DELETE", f"/v1/pools/kept/players/{player}?{wish}", 204)


if __name__ == "__main__":
    record(sys.argv[1])
