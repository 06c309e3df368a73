"""Cost of a live learner against the number of players, with rank-one Thompson sampling.

    python -m benchmarks learner

Each size has a process of its own. It learns a history of ten outcomes per player, a million at
most, then plays rounds in which all players wait, or 2,000 of a million. The first proposal makes
up for the history; the slowest is one of the others, of which every second draws rates. Times are
CPU time of one core. A join has its share of the growth that it causes; memory is what the process
needed on top.
"""

from __future__ import annotations

import json
import subprocess
import sys

# Players known, players waiting, milliseconds for the slowest proposal, megabytes.
SIZES: tuple[tuple[int, int, float | None, float | None], ...] = (
    (100, 100, None, None),
    (1_000, 1_000, None, None),
    (10_000, 10_000, 50.0, 300.0),
    (100_000, 100_000, 1_000.0, None),
    (1_000_000, 2_000, 50.0, None),
)

_SCRIPT = """
import json, resource, time
import numpy as np
from pairup import Learner, RankOneThompson

known, waiting, rounds = {known}, {waiting}, {rounds}

def timed(call):
    start = time.process_time()
    result = call()
    return result, time.process_time() - start

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def play(learner, players, draw):
    matching, proposing = timed(lambda: learner.propose(players))
    played = (draw.random(len(matching)) < 0.3).tolist()
    _, observing = timed(lambda: learner.observe(matching, played))
    return proposing, observing / len(matching)

draw = np.random.default_rng(0)
for size in (10, 100):  # compiles both layouts of the state
    small = RankOneThompson().learner(range(size))
    for _ in range(4):
        play(small, None, draw)
    small.leave(3)
    Learner.from_bytes(small.to_bytes())
before = memory()
names = [f"player-{{number}}" for number in range(known)]
learner = RankOneThompson().learner(names)
rows = min(5 * known, 1_000_000)
one = draw.integers(0, known, rows)
other = (one + draw.integers(1, known, rows)) % known
columns = tuple(np.array(names, object)[each] for each in (one, other))
_, learning = timed(lambda: learner.learn(columns, draw.random(rows) < 0.3))
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
    return [_row(*size, rounds=8 if quick else 24) for size in (SIZES[:4] if quick else SIZES)]


def _row(
    known: int, waiting: int, max_ms: float | None, max_mb: float | None, rounds: int
) -> dict[str, object]:
    script = _SCRIPT.format(known=known, waiting=waiting, rounds=rounds)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measured = json.loads(done.stdout)
    holds = measured["slowest"] <= (max_ms or 1e9) and measured["MB"] <= (max_mb or 1e9)
    shown = {name: float(f"{value:.3g}") for name, value in measured.items()}
    limits = [f"{max_ms:,.0f} ms"] if max_ms else []
    limits += [f"{max_mb:,.0f} MB"] if max_mb else []
    return {
        "players": f"{known:,}",
        "waiting": f"{waiting:,}",
        **shown,
        "budget": ", ".join(limits),
        "holds": "" if max_ms is None else holds,
    }
