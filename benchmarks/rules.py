"""Milliseconds of proposals by rules, through HTTP on the loopback interface.

    python -m benchmarks rules

Players have ratings (mean 1,500, deviation 300) and one of four regions. They meet within 100
points and in their region; worth falls by half per 100 points, and a floor of 0.5 is held.
Acceptance rates are drawn from Beta(2, 3); every game is reported after each proposal. The same
players in pools without rules, and with the floor alone, are beside it.
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service import _quantile, _started, _timed

_FLOOR: dict[str, Any] = {"fairness": {"floor": 0.5}}
_RULES: dict[str, Any] = {
    "constraints": [
        {"kind": "distance", "attribute": "rating", "at_most": 100},
        {"kind": "equal", "attribute": "region"},
    ],
    "worth": [{"kind": "distance", "attribute": "rating", "half_at": 100}],
    **_FLOOR,
}
_MAX_MS = {2_000: (60.0, 200.0), 10_000: (400.0, 2_000.0)}  # p50, p99


def measure(quick: bool) -> list[dict[str, object]]:
    rows = []
    for players, times in ((2_000, 5 if quick else 60), (10_000, 3 if quick else 15)):
        for name, rules in (("without rules", {}), ("a floor alone", _FLOOR), ("rules", _RULES)):
            with tempfile.TemporaryDirectory(dir="/tmp") as folder:
                seconds, matched = _proposals(Path(folder), players, rules, times)
            most = _MAX_MS[players]
            found = _quantile(seconds, 0.5), _quantile(seconds, 0.99)
            rows.append(
                {
                    "what": f"{players:,} waiting, {name}",
                    "proposals": len(seconds),
                    "p50, ms": found[0],
                    "p99, ms": found[1],
                    "matched": f"{100 * matched:.1f}%",
                    "holds": found[0] <= most[0] and found[1] <= most[1] if rules is _RULES else "",
                }
            )
    return rows


def _proposals(
    folder: Path, players: int, rules: dict[str, Any], times: int
) -> tuple[list[float], float]:
    """Return the seconds of proposals, after some to learn from, and the share that is matched."""
    process, rng = _started(folder, max_events_per_s=1e9, max_requests_per_s=1e9), random.Random(1)
    try:
        with httpx.Client(base_url=process.url, timeout=300) as client:
            _join(client, players, rules, rng)
            rates = [rng.betavariate(2, 3) for _ in range(players)]
            rounds = [_round(client, rates, rng) for _ in range(times + 5)][5:]
    finally:
        process.kill()
    matched = sum(games for _, games in rounds) * 2 / (players * len(rounds))
    return [seconds for seconds, _ in rounds], matched


def _join(client: httpx.Client, players: int, rules: dict[str, Any], rng: random.Random) -> None:
    pool = {"name": "chess", "lifetime_s": 3600, **rules}
    client.post("/v1/pools", json=pool).raise_for_status()
    for first in range(0, players, 5_000):
        some = [
            {
                "player": f"p{number}",
                "attributes": {
                    "rating": round(rng.gauss(1500, 300), 1),
                    "region": rng.choice(["eu", "us", "as", "sa"]),
                },
            }
            for number in range(first, min(first + 5_000, players))
        ]
        client.post("/v1/pools/chess/players", json={"players": some}).raise_for_status()


def _round(client: httpx.Client, rates: list[float], rng: random.Random) -> tuple[float, int]:
    """Propose, and report every game; returns the seconds of the proposal, and its games."""
    seconds, answer = _timed(client.post, "/v1/pools/chess/matchings")
    games = answer.json()["games"]
    reports = []
    for game in games:
        one, other = (rates[int(player[1:])] for player in game["players"])
        outcome = "played" if rng.random() < one * other else "cancelled"
        reports.append({"game": game["id"], "outcome": outcome})
    for first in range(0, len(reports), 5_000):
        some = {"outcomes": reports[first : first + 5_000]}
        client.post("/v1/pools/chess/outcomes", json=some).raise_for_status()
    return seconds, len(games)
