"""Cost of a live learner against the number of players, with the policies that serve pools.

    python -m benchmarks learner

Each size has a process of its own. It learns a history of ten outcomes per player, a million at
most, then plays rounds in which all players wait, or 2,000 of a million. The first proposal makes
up for the history; the slowest is one of the others, of which every second draws rates. Couples
play with the product of their players' rates, or they deviate: then each has a chance of its own
and met five times in the history, so that `HierarchicalThompson` weighs couples one by one. Times
are CPU time of one core. A join has its share of the growth that it causes; memory is what the
process needed on top.
"""

from __future__ import annotations

import json
import subprocess
import sys

RANK_ONE, HIERARCHICAL = "RankOneThompson", "HierarchicalThompson"
# The policy, whether couples deviate, players known, players waiting, milliseconds for the slowest
# proposal, megabytes.
SIZES: tuple[tuple[str, bool, int, int, float | None, float | None], ...] = (
    (RANK_ONE, False, 100, 100, None, None),
    (RANK_ONE, False, 1_000, 1_000, None, None),
    (RANK_ONE, False, 10_000, 10_000, 50.0, 300.0),
    (HIERARCHICAL, False, 2_000, 2_000, 60.0, None),
    (HIERARCHICAL, True, 2_000, 2_000, 60.0, None),
    (HIERARCHICAL, False, 10_000, 10_000, 400.0, None),
    (HIERARCHICAL, True, 10_000, 10_000, 400.0, None),
    (RANK_ONE, False, 100_000, 100_000, 1_000.0, None),
    (RANK_ONE, False, 1_000_000, 2_000, 50.0, None),
    (HIERARCHICAL, True, 1_000_000, 2_000, 60.0, None),
)
_QUICK = 7  # of these sizes

_SCRIPT = """
import json, resource, time
import numpy as np
from pairup import Learner, {policy} as Policy

known, waiting, rounds, deviate = {known}, {waiting}, {rounds}, {deviate}

def timed(call):
    start = time.process_time()
    result = call()
    return result, time.process_time() - start

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def chances(one, other):
    if not deviate:
        return 0.3
    low, high = np.minimum(one, other), np.maximum(one, other)
    return 0.05 + 0.6 * ((low * 7_919 + high * 104_729) // 13 % 2)

def play(learner, players, draw):
    matching, proposing = timed(lambda: learner.propose(players))
    places = np.array([[place.get(i, 0), place.get(j, 0)] for i, j in matching])
    played = (draw.random(len(matching)) < chances(*places.T)).tolist()
    _, observing = timed(lambda: learner.observe(matching, played))
    return proposing, observing / len(matching)

draw = np.random.default_rng(0)
for size in (10, 100):  # compiles both layouts of the state
    small, place = Policy().learner(range(size)), {{}}
    if deviate:  # compiles matchings too
        small.learn([(0, 1)] * 20 + [(2, 3)] * 20 + [(0, 3)] * 20, [True] * 20 + [False] * 40)
    for _ in range(4):
        play(small, None, draw)
    small.leave(3)
    Learner.from_bytes(small.to_bytes())
before = memory()
names = [f"player-{{number}}" for number in range(known)]
place = {{name: number for number, name in enumerate(names)}}
learner = Policy().learner(names)
rows, repeats = min(5 * known, 1_000_000), 5 if deviate else 1
one = np.repeat(draw.integers(0, known, rows // repeats), repeats)
other = (one + np.repeat(draw.integers(1, known, rows // repeats), repeats)) % known
columns = tuple(np.array(names, object)[each] for each in (one, other))
_, learning = timed(lambda: learner.learn(columns, draw.random(len(one)) < chances(one, other)))
players = None if waiting == known else names[:waiting]
times = [play(learner, players, draw) for _ in range(rounds)]
newcomers = [f"new-{{number}}" for number in range(min(known, 1_000))]
_, growing = timed(lambda: learner.join("first"))  # the capacity doubles
_, joining = timed(lambda: [learner.join(name) for name in newcomers])
_, leaving = timed(lambda: [learner.leave(name) for name in names[: len(newcomers)]])
saved, saving = timed(learner.to_bytes)
_, loading = timed(lambda: Learner.from_bytes(saved))
proposing, observing = np.array(times).T
print(json.dumps({{
    "learn us per row": 1e6 * learning / rows,
    "first ms": 1e3 * proposing[0],
    "propose ms, median": 1e3 * float(np.median(proposing[1:])),
    "slowest": 1e3 * proposing[1:].max(),
    "observe us": 1e6 * float(np.median(observing)),
    "join us": 1e6 * (joining / len(newcomers) + growing / known),
    "leave us": 1e6 * leaving / len(newcomers),
    "save s": saving,
    "load s": loading,
    "MB": memory() - before,
}}))
"""


def measure(quick: bool) -> list[dict[str, object]]:
    return [_row(*size, 8 if quick else 24) for size in (SIZES[:_QUICK] if quick else SIZES)]


def _row(
    policy: str,
    deviate: bool,
    known: int,
    waiting: int,
    max_ms: float | None,
    max_mb: float | None,
    rounds: int,
) -> dict[str, object]:
    script = _SCRIPT.format(
        policy=policy, deviate=deviate, known=known, waiting=waiting, rounds=rounds
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    holds = measured["slowest"] <= (max_ms or 1e9) and measured["MB"] <= (max_mb or 1e9)
    shown = {name: float(f"{value:.3g}") for name, value in measured.items()}
    limits = [f"{max_ms:,.0f} ms"] if max_ms else []
    limits += [f"{max_mb:,.0f} MB"] if max_mb else []
    return {
        "policy": policy,
        "couples": "deviate" if deviate else "products",
        "players": f"{known:,}",
        "waiting": f"{waiting:,}",
        **shown,
        "budget": ", ".join(limits),
        "holds": "" if max_ms is None else holds,
    }
