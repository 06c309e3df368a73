"""Kill the service with -9, at every commit and at random: nothing acknowledged is lost.

    python -m benchmarks.service_kills --kills 300

Each database is discarded after some kills, so that its whole log can be replayed after each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

_KILLS_PER_DATABASE = 30


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service_kills", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--kills", type=int, default=300, help="kills at random moments, over both databases"
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    from tests.support.service.postgres import Server

    server = Server()
    try:
        found = {
            "at commits, sqlite": _at_commits(None),
            "at commits, postgresql": _at_commits(server),
            "random, sqlite": _random(arguments.kills // 2, arguments.seed, None),
            "random, postgresql, 2 processes": _random(
                arguments.kills - arguments.kills // 2, arguments.seed, server
            ),
        }
    finally:
        server.remove()
    path = Path("build/service_kills.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1))
    print(f"nothing was lost; written to {path}")


def _at_commits(server: Any) -> dict[str, float]:
    """Die at each pass by a commit of a scripted history; the learner ends up the same."""
    from tests.support.service.kills import Script

    began, die_at, learners, kills = time.perf_counter(), 0, set(), 0
    while True:
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            database = server.new_database() if server else f"{folder}/pools.db"
            learner, deaths = Script(database, Path(folder), die_at).play()
        learners.add(learner)
        assert len(learners) == 1, f"a kill at pass {die_at} changed what was learnt"
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
            with Campaign(database, Path(folder), 2 if server else 1, seed=seed) as campaign:
                while sum(each.kills for each in campaign.processes) < goal:
                    campaign.kill_once()
                counted.update(campaign.finish())
        print("random", dict(counted), flush=True)
    return dict(counted) | {"seconds": round(time.perf_counter() - began)}


if __name__ == "__main__":
    main()
