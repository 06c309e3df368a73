"""Small experiments, and processes that run them, for the tests of the runner."""

import subprocess
import sys
from pathlib import Path

from pairup import Problem, Uniform, Unimodal
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.posed_problems import PosedProblem
from tests.support.paths import ROOT

PROBLEMS = 6
UNITS = 2 * PROBLEMS

# Runs the experiment of argv in a process of its own; after `last` new work units it does `then`.
SCRIPT = """
import os, signal, sys
from tests.support.experiments.races import race
from pairup import run_experiment

folder, rounds, last, then = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
new = 0

def after_unit(progress):
    global new
    new += 1
    if new == last:
        os.kill(os.getpid(), getattr(signal, then))

print("ready", flush=True)
summary = run_experiment(race(rounds), folder, progress=after_unit)
print(summary.run.computed, summary.run.reused)
"""


def race(rounds=3_000, replications=8, name="race"):
    """Two policies on six problems, twelve work units."""
    problems = tuple(
        PosedProblem(Problem.random(n + 4, seed=n), "random", {"players": n + 4})
        for n in range(PROBLEMS)
    )
    for n, posed in enumerate(problems):
        assert posed.problem.name == f"random({n + 4}, seed={n})"
    entries = (
        Entry("V2", Unimodal(index="ucb", clock="round")),
        Entry("at random", Uniform()),
    )
    return Experiment(name, name, "", rounds, replications, 7, problems, entries)


def start(folder, rounds=3_000, last=0, then="SIGKILL"):
    """Start a process that runs `race` into a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(rounds), str(last), then],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def parts(folder):
    """The finished work units of a folder, with the time at which each was written."""
    found = Path(folder).glob("parts/*.parquet")
    return {part.name: (part.stat().st_mtime_ns, part.stat().st_ino) for part in found}
