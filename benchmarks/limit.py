"""The compiled loop against limit.c, a tuned C loop of the same steps, in the same run."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np

from benchmarks.workloads import LIMIT_BUDGET, POLICIES, best_of, problem_of
from pairup.kernels.rng import POLICY, stream_key, word
from pairup.simulate import play_block
from pairup.world import new_world

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


def play_in_c(limit: ctypes.CDLL, pairs: int, by_players: bool, rounds: int) -> tuple[int, float]:
    """Play replication 0 of seed 0 in C; returns its games and regret."""
    world = new_world(problem_of(pairs), 0, 0)
    policy_key = np.uint64(stream_key(0, 0, POLICY))
    keys = np.array([world.key[0], word(policy_key, 0), word(policy_key, 1)], np.uint64)
    games, regret = np.zeros(1, np.int64), np.zeros(1)
    run = limit.limit_new(
        world.rates.ctypes.data, 2 * pairs, keys.ctypes.data, world.best_games[0], by_players, True
    )
    limit.limit_play(run, rounds, games.ctypes.data, regret.ctypes.data)
    limit.limit_free(run)
    return int(games[0]), float(regret[0])


def measure(quick: bool) -> list[dict[str, object]]:
    limit, rounds = library(), 100_000 if quick else 1_000_000
    rows = []
    for name, by_players in (("V1 UCB", False), ("V2 UCB", True)):
        for pairs in (4, 10):
            problem, policy = problem_of(pairs), POLICIES[name]

            def ours() -> tuple[np.ndarray, np.ndarray]:
                return play_block(problem, policy, rounds, range(1), 0, [rounds])  # noqa: B023

            def theirs() -> tuple[int, float]:
                return play_in_c(limit, pairs, by_players, rounds)  # noqa: B023

            (regret,), (games,) = ours()
            c_games, c_regret = theirs()
            if c_games != games[0] or abs(c_regret - regret[0]) > 1e-6:
                raise AssertionError(
                    f"{name}, L = {pairs}: C has {c_games} games and regret {c_regret}, "
                    f"the kernels {games[0]} and {regret[0]}: they do not do the same work"
                )
            pairs_of_times = [(best_of(1, ours), best_of(1, theirs)) for _ in range(6)]
            mine, yours = (min(column) for column in zip(*pairs_of_times, strict=True))
            rows.append(
                {
                    "policy": name,
                    "L": pairs,
                    "ours, ns": round(mine / rounds * 1e9),
                    "C, ns": round(yours / rounds * 1e9),
                    "ratio": round(mine / yours, 2),
                    "budget": LIMIT_BUDGET,
                    "holds": mine / yours <= LIMIT_BUDGET,
                }
            )
    return rows
