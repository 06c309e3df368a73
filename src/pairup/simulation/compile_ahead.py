"""Loops compiled ahead, those of several policies side by side.

Numba compiles one function at a time per process: an experiment of several policies, on a machine
that never played them, would wait for one after the other. So each is compiled in a side process,
which leaves the machine code on disk for all others to read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from pathlib import Path

import numba
import numpy as np

from pairup.compiled.kernel_cache import cache_folder, is_ours
from pairup.compiled.kernels import say_compiling
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, check_fit
from pairup.problem import Problem
from pairup.side_process import SideProcessError, are_worth_it, call_aside
from pairup.simulation.playthrough import play_replications, start_state
from pairup.simulation.replication import new_replication, replicated_ground

Game = tuple[Problem, Policy]


def compile_ahead(games: Sequence[Game], threads: Executor) -> list[Future[None]]:
    """Let threads compile what policies need to play problems, where that is not on disk.

    Returns a future for each game. Third-party policies are left to this process, which alone
    knows their code. So is what cannot be compiled or played: the error shows where it is played.
    """
    marks = [_mark(*game) if _is_for_us(*game) else None for game in games]
    missing = {mark: game for mark, game in zip(marks, games, strict=True) if _is_missing(mark)}
    if are_worth_it(len(missing)):
        say_compiling()
    else:
        missing = {}
    compiling = {mark: threads.submit(_compile, *game) for mark, game in missing.items()}
    nothing: Future[None] = Future()
    nothing.set_result(None)
    return [compiling.get(mark, nothing) for mark in marks]


def _is_for_us(problem: Problem, policy: Policy) -> bool:
    try:
        check_fit(policy, problem)
    except PolicyError:
        return False
    return is_ours(type(policy))


def _is_missing(mark: Path | None) -> bool:
    return mark is not None and not mark.exists()


def _mark(problem: Problem, policy: Policy) -> Path:
    """Return the file that says that a loop is on disk: there is one for each type of a state."""
    replication = new_replication(problem.pieces[0], 0, 0)
    ground = replicated_ground(problem, 0, 0)
    state = start_state(policy, 1, np.uint64(0), replication, ground)
    kind = hashlib.sha256(str(numba.typeof(state)).encode()).hexdigest()[:32]
    return cache_folder() / f"loop-{kind}"


def _compile(problem: Problem, policy: Policy) -> None:
    with suppress(SideProcessError):
        call_aside(f"{__name__}:play_first_round", problem, policy)


def play_first_round(problem: Problem, policy: Policy) -> None:
    """Play one round, which compiles the loop, and leave the mark."""
    play_replications(problem, policy, 1, range(1), 0, [1])
    _mark(problem, policy).touch()
