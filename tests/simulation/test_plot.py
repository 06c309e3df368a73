import os
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from pairup import Problem, SimulationError, Uniform, simulate


@pytest.fixture(scope="module")
def run():
    return simulate(Problem([1, 1, 0, 0], "mine"), Uniform(), 100, 4)


def test_it_draws_the_mean_and_its_interval(run):
    ax = Figure().subplots()
    assert run.plot(ax) is ax
    (line,) = ax.lines
    assert np.array_equal(line.get_xdata(), run.rounds)
    assert np.array_equal(line.get_ydata(), run.mean())
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 1].max() == pytest.approx(run.interval()[1].max())
    assert (ax.get_title(), ax.get_xlabel(), ax.get_ylabel()) == ("mine", "round, t", "regret")


def test_another_run_is_drawn_on_the_same_axes(run):
    ax = run.plot(Figure().subplots(), label="first")
    simulate(run.problem, Uniform(), 100, 1).plot(ax, "regret")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "Uniform()"]
    assert len(ax.collections) == 1  # one replication has no interval
    assert run.plot(Figure().subplots(), "games").get_ylabel() == "games"


def test_an_unknown_measure_is_refused(run):
    with pytest.raises(SimulationError, match="measure must be"):
        run.plot(Figure().subplots(), "wins")


def test_a_figure_is_made_and_matplotlib_loaded_only_when_asked_for():
    code = (
        "import sys\n"
        "from pairup import *\n"
        "run = simulate(Problem([0.5, 0.5]), Uniform(), 10, 2)\n"
        "assert 'matplotlib' not in sys.modules\n"
        "run.plot().savefig(sys.stdout.buffer, format='png')\n"
    )
    environment = os.environ | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env=environment
    )
    assert done.stdout.startswith(b"\x89PNG")
