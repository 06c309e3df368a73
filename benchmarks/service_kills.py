"""Kill the service with -9, at every commit and at random: nothing acknowledged is lost.

    python -m benchmarks.service_kills --kills 100

At random, two processes serve one database. Their clients propose and report, import games, erase
players, and use one idempotency key for two pools at once. After each kill everything that was
acknowledged is looked for in the log, and each stored snapshot is compared with the log. A database
is discarded after some kills, so that its whole log can be replayed after each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

_KILLS_PER_DATABASE = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service_kills", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--kills",
        type=int,
        default=100,
        help="kills at random moments on SQLite, and a third as many on PostgreSQL",
    )
    parser.add_argument("--random-only", action="store_true", help="leave out kills at commits")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    from tests.support.service.postgres import Server

    server = Server()
    try:
        found = {}
        for name, each, share in (("sqlite", None, 1), ("postgresql", server, 3)):
            found[f"random, {name}"] = _random(arguments.kills // share, arguments.seed, each)
            if not arguments.random_only:
                found[f"at commits, {name}"] = _at_commits(each)
    finally:
        server.remove()
    path = Path("build/service_kills.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
    print(f"nothing was lost; written to {path}")


def _at_commits(server: Any) -> dict[str, float]:
    """Die at each pass by a commit of a scripted history: in the end the same has happened."""
    from tests.support.service.kills import Script

    began, die_at, undisturbed, kills = time.perf_counter(), 0, None, 0
    while True:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            database = server.new_database() if server else f"{folder}/pools.db"
            happened, deaths = Script(database, Path(folder), die_at).play()
        undisturbed = undisturbed or happened
        assert happened == undisturbed, f"a kill at pass {die_at} changed what happened"
        kills += deaths
        if die_at and not deaths:
            break
        die_at += 1
    counted = {"kills": kills, "seconds": round(time.perf_counter() - began)}
    print("at commits", "postgresql" if server else "sqlite", counted, flush=True)
    return counted


def _random(kills: int, seed: int, server: Any) -> dict[str, float]:
    from tests.support.service.kills import Campaign

    began, counted = time.perf_counter(), Counter[str]()
    while counted["kills"] < kills:
        seed += 1
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            database = server.new_database() if server else f"{folder}/pools.db"
            goal = min(_KILLS_PER_DATABASE, kills - counted["kills"])
            with Campaign(database, Path(folder), seed=seed, work_s=2.0) as campaign:
                while sum(each.kills for each in campaign.processes) < goal:
                    campaign.kill_once()
                counted.update(campaign.finish())
        print("random", "postgresql" if server else "sqlite", dict(counted), flush=True)
    return dict(counted) | {"seconds": round(time.perf_counter() - began)}


if __name__ == "__main__":
    main()
