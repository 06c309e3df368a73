"""Compilation: the loops in which policies play, compiled before several threads need them.

Numba compiles one function at a time per process: an experiment of several policies, on a machine
that never played them, would wait for one after the other. So each is compiled in a side process,
which leaves the machine code on disk for all others to read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numba
import numpy as np

from pairup.compiled.kernel_cache import cache_folder, is_ours
from pairup.compiled.kernels import announce_compiling
from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.side_process import SideProcessError, are_worth_it, call_aside
from pairup.simulation.playthrough import play_replications, start_state
from pairup.simulation.replication import new_replication, replicated_ground

Game = tuple[Problem, Policy]


def compile_loops(games: Iterable[Game]) -> None:
    """Compile what policies need to play problems, or read it from disk.

    Threads that found no machine code would each compile it. Loops that are not on disk are
    compiled side by side, if there are several of them and cores enough; third-party policies only
    here, because no other process knows their code. All of them can play their problems.
    """
    ours: dict[Path, Game] = {}
    others: list[Game] = []
    for problem, policy in games:
        if is_ours(type(policy)):
            ours[_mark(problem, policy)] = problem, policy
        else:
            others.append((problem, policy))
    missing = {mark: game for mark, game in ours.items() if not mark.exists()}
    if are_worth_it(len(missing)):
        announce_compiling()
        with ThreadPoolExecutor(len(missing)) as threads:
            list(threads.map(_compile_aside, missing, missing.values()))
    for problem, policy in (*ours.values(), *others):
        play_first_round(problem, policy)


def _compile_aside(mark: Path, game: Game) -> None:
    with suppress(SideProcessError):  # what cannot be compiled fails here again
        call_aside(f"{__name__}:play_first_round", *game)
        mark.touch()


def play_first_round(problem: Problem, policy: Policy) -> None:
    """Play one round, which compiles the loop or reads it from disk."""
    play_replications(problem, policy, 1, range(1), 0, [1])


def _mark(problem: Problem, policy: Policy) -> Path:
    """Return the file that says that a loop is on disk: there is one for each type of a state."""
    replication = new_replication(problem.pieces[0], 0, 0)
    ground = replicated_ground(problem, 0, 0)
    state = start_state(policy, 1, np.uint64(0), replication, ground)
    kind = hashlib.sha256(str(numba.typeof(state)).encode()).hexdigest()[:32]
    return cache_folder() / f"loop-{kind}"
