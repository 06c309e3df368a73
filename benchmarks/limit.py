"""The compiled loop against limit.c, a tuned C loop of the same steps, in the same run.

python -m benchmarks limit
"""

from __future__ import annotations

import ctypes
import subprocess
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.workloads import LIMIT_BUDGET, POLICIES, Compiled, nanoseconds, problem_of
from pairup.compiled.randomness import POLICY, stream_key, word
from pairup.simulation.replication import new_replication

_SOURCE = Path(__file__).with_name("limit.c")
_BUILT = Path("build/limit.so")
_FLAGS = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]


def library() -> ctypes.CDLL:
    """Compile limit.c with the machine's own C compiler."""
    _BUILT.parent.mkdir(exist_ok=True)
    subprocess.run(["cc", *_FLAGS, "-o", _BUILT, _SOURCE, "-lm"], check=True)
    limit = ctypes.CDLL(str(_BUILT.resolve()))
    limit.limit_new.restype = ctypes.c_void_p
    limit.limit_new.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_double,
        ctypes.c_int,
        ctypes.c_int,
    ]
    limit.limit_play.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    limit.limit_free.argtypes = [ctypes.c_void_p]
    return limit


class InC:
    """Replication 0 of seed 0 in C, to be played on in steps."""

    def __init__(self, limit: ctypes.CDLL, pairs: int, by_players: bool, by_round: bool) -> None:
        self.limit, self.replication = limit, new_replication(problem_of(pairs), 0, 0)
        policy_key = np.uint64(stream_key(0, 0, POLICY))
        keys = [self.replication.key[0], word(policy_key, 0), word(policy_key, 1)]
        self.keys = np.array(keys, np.uint64)
        self.games, self.regret = np.zeros(1, np.int64), np.zeros(1)
        rates, keys_at = self.replication.rates.ctypes.data, self.keys.ctypes.data
        best = self.replication.best_games[0]
        self.run = limit.limit_new(rates, 2 * pairs, keys_at, best, by_players, by_round)

    def __call__(self, until: int) -> tuple[int, float]:
        self.limit.limit_play(self.run, until, self.games.ctypes.data, self.regret.ctypes.data)
        return int(self.games[0]), float(self.regret[0])

    def __del__(self) -> None:
        self.limit.limit_free(self.run)


def measure(quick: bool) -> list[dict[str, object]]:
    limit, rounds = library(), 1_000_000
    rows = []
    for name in ("V1 UCB", "V2 UCB"):
        for pairs in (4, 10):
            policy = POLICIES[name]
            by_players, by_round = policy.compare == "players", policy.clock == "round"
            ours = partial(Compiled, policy, pairs, rounds)
            theirs = partial(InC, limit, pairs, by_players, by_round)
            _check_same(f"{name}, L = {pairs}", ours()(rounds), theirs()(rounds))
            mine, yours = nanoseconds([ours, theirs], rounds, 3 if quick else 12)
            rows.append(
                {
                    "policy": name,
                    "L": pairs,
                    "ours, ns": round(mine),
                    "C, ns": round(yours),
                    "ratio": round(mine / yours, 2),
                    "budget": LIMIT_BUDGET,
                    "holds": mine / yours <= LIMIT_BUDGET,
                }
            )
    return rows


def _check_same(what: str, ours: tuple[int, float], theirs: tuple[int, float]) -> None:
    if ours[0] != theirs[0] or abs(ours[1] - theirs[1]) > 1e-6:
        raise AssertionError(
            f"{what}: games and regret are {ours} in the kernels but {theirs} in C: "
            "they do not do the same work"
        )
