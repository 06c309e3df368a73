"""Assessments of simulated histories: how often intervals cover the truth, and checks raise alarms.

    python -m benchmarks assessment

Each history has 300 players in 120 rounds of random pairing. *covered*: histories whose interval of
the gain has the true gain; *alarms*: histories in which any check of the model raises an alarm: a
false one where couples are products. The last row is a file of ten million rows.
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from pairup import assess
from pairup.assessment import simulate_history
from pairup.assessment.outlook import pair_at_random, pair_best

_HISTORIES, _PLAYERS = 100, 300
_PRODUCTS = tuple(
    {"distribution": distribution, "told": told}
    for distribution in ((2.0, 3.0), (8.0, 2.0), (5.0, 2.0))
    for told in (True, False)
)
_OTHERS = ({"pattern": 0.7}, {"pattern": 1.0}, {"rating_effect": 0.5}, {"rating_effect": 1.0})


def measure(quick: bool) -> list[dict[str, object]]:
    """Assess histories of which the truth is known."""
    seeds = range(_HISTORIES // (10 if quick else 1))
    rows = [_row(options, seeds) for options in _PRODUCTS]
    rows += [_row(options, seeds[: len(seeds) // 5]) for options in _OTHERS]
    return [*rows, _file(1_000_000 if quick else 10_000_000)]


def _row(options: dict[str, object], seeds: range) -> dict[str, object]:
    covered, widths, gains, alarms = 0, [], [], 0
    for seed in seeds:
        found = assess(simulate_history(_PLAYERS, seed=seed, **options), seed=seed)
        rates = np.random.default_rng(seed).beta(*options.get("distribution", (2, 3)), _PLAYERS)
        gain = pair_best(rates) - pair_at_random(rates)
        covered += bool(found.gain.low <= gain <= found.gain.high)
        widths.append(found.gain.high - found.gain.low)
        gains.append(gain)
        alarms += any(check.alarm for check in found.checks)
    products = "distribution" in options
    return {
        "what": ", ".join(f"{name} {value}" for name, value in options.items()),
        "histories": len(seeds),
        "covered": covered if products else "",
        "gain": f"{np.mean(gains):.4f}" if products else "",
        "width": f"{np.mean(widths):.4f}" if products else "",
        "alarms": alarms,
        "seconds": "",
        "MB": "",
    }


def _file(rows: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.csv"
        simulate_history(20_000, rows // 10_000, churn=0.01).write_csv(path)
        began = time.perf_counter()
        assess(path)
        seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    row = dict.fromkeys(("histories", "covered", "gain", "width", "alarms"), "")
    return {"what": f"a file of {rows:,} rows", **row, "seconds": f"{seconds:.0f}", "MB": used}
