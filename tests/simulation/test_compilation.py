"""Loops that are compiled ahead, in processes of their own, are found by this one."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

PROGRAM = """
import sys

from pairup import ExploreThenCommit, Problem, Uniform, side_process, simulate
from pairup.compiled.kernel_cache import cache_folder
from pairup.compiled.simulation_loop import play_rounds
from pairup.simulation.compilation import compile_loops

side_process.MIN_CORES = 1
problem = Problem([0.9, 0.7, 0.5, 0.3])
policies = [Uniform(), ExploreThenCommit()][: int(sys.argv[1])]
compile_loops([(problem, policy) for policy in policies])
marks = len(list(cache_folder().glob("loop-*")))
for policy in policies:
    simulate(problem, policy, 5, 1)
stats = play_rounds.stats
print(marks, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.parametrize(
    ("policies", "marks", "hits", "misses"), [(2, 2, 2, 0), (1, 0, 0, 1)], ids=["several", "one"]
)
def test_several_policies_are_compiled_ahead(tmp_path, monkeypatch, policies, marks, hits, misses):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    command = [sys.executable, "-c", PROGRAM, str(policies)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(map(int, done.stdout.split())) == [marks, hits, misses]
