"""The compiled steps against their slow twins in Python.

    python -m benchmarks twins

The twins are those of the tests, in tests/support/twins.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.workloads import POLICIES, Compiled, best_of, nanoseconds, problem_of
from pairup.compiled.randomness import POLICY, stream_key
from pairup.simulation.replication import new_replication


def measure(quick: bool) -> list[dict[str, object]]:
    from tests.support.twins.sam import SAM
    from tests.support.twins.unimodal import Unimodal

    rounds, pairs = 100 if quick else 300, 10
    key = stream_key(0, 0, POLICY)
    twins: dict[str, Any] = {
        name: (lambda options=POLICIES[name].options: Unimodal(2 * pairs, key, **options))
        for name in ("V1 UCB", "V2 UCB", "V1 KL", "V2 KL")
    }
    twins["SAM"] = lambda: SAM(2 * pairs, horizon=rounds)
    rows = []
    for name, make in twins.items():
        start = partial(Compiled, POLICIES[name], pairs, rounds)
        start()(1)  # compiled or fetched from the cache
        (ours,) = nanoseconds([start], rounds, 20)
        theirs = best_of(1, _play_slowly, make(), pairs, rounds) / rounds * 1e9
        rows.append(
            {
                "policy": name,
                "L": pairs,
                "rounds": rounds,
                "twin, us per round": round(theirs / 1e3),
                "ours, us per round": round(ours / 1e3, 2),
                "ratio": round(theirs / ours),
            }
        )
    return rows


def _play_slowly(twin: Any, pairs: int, rounds: int) -> None:
    from tests.support.twins.loop import accepts

    replication = new_replication(problem_of(pairs), 0, 0)
    rates = replication.rates.tolist()
    for round in range(rounds):
        matching = twin.propose()
        accepted = accepts(int(replication.key[0]), rates, round)
        twin.observe(matching, [accepted[i] and accepted[j] for i, j in matching])
