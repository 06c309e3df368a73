"""Loops compiled ahead, those of several policies side by side.

Numba compiles one function at a time per process: an experiment of several policies, on a machine
that never played them, would wait for one after the other. So each is compiled in a process of its
own, as a program, which leaves the machine code on disk for all others to read.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np

from pairup.kernels.runtime.compilation import cache_folder, is_ours, say_compiling
from pairup.policies.base import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import play_replications, start_state
from pairup.simulation.replication import new_replication, replicated_columns, replicated_graph

Game = tuple[Problem, Policy]
MIN_CORES = 4  # with fewer, processes take from each other what they gain


def compile_ahead(games: Iterable[Game]) -> None:
    """Compile what policies need to play problems, where that is not on disk.

    Policies from elsewhere are left to this process, which alone knows their code. So is what
    cannot be compiled: the error shows where it is played.
    """
    if (os.cpu_count() or 1) < MIN_CORES:
        return
    ours = (game for game in games if is_ours(type(game[1])))
    missing = {mark: game for game in ours if not (mark := _mark(*game)).exists()}
    if len(missing) < 2:
        return
    say_compiling()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(_compile, missing.values()))


def _mark(problem: Problem, policy: Policy) -> Path:
    """Return the file that says that a loop is on disk: there is one for each type of a state."""
    replication = new_replication(problem.pieces[0], 0, 0)
    columns, graph = replicated_columns(problem, 0, 0), None
    if columns is None and not problem.is_complete:
        graph = replicated_graph(problem, 0, 0)
    state = start_state(policy, 1, np.uint64(0), replication, columns, graph)
    kind = hashlib.sha256(str(numba.typeof(state)).encode()).hexdigest()[:32]
    return cache_folder() / f"loop-{kind}"


def _compile(game: Game) -> None:
    command = [sys.executable, "-m", __name__]
    subprocess.run(command, input=pickle.dumps(game), capture_output=True, check=False)


def main() -> None:
    """Play one round of what is read from standard input, and leave the mark."""
    problem, policy = pickle.load(sys.stdin.buffer)
    play_replications(problem, policy, 1, range(1), 0, [1])
    _mark(problem, policy).touch()


if __name__ == "__main__":
    main()
