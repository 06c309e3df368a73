"""Figures that are drawn in side processes are those that are drawn here."""

import dataclasses
import os

import pytest

from pairup import load_experiment, run_experiment
from pairup.analysis.analysis import Analysis
from pairup.cli import drawing
from pairup.reporting.figures import draw_figures


@pytest.fixture(scope="module")
def analysis():
    experiment = load_experiment("experiment-2").scaled(rounds=100, replications=2)
    one_figure = dataclasses.replace(experiment, figures=experiment.figures[-1:])
    return Analysis(run_experiment(one_figure).results)


@pytest.fixture(scope="module")
def drawn_here(analysis):
    return draw_figures(analysis)


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("is_last", [False, True], ids=["others follow", "last"])
def test_figures_are_the_same_wherever_they_are_drawn(
    monkeypatch, analysis, drawn_here, cores, is_last
):
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    with drawing.figures_drawn_aside(analysis.results.experiment) as aside:
        aside.add(analysis, is_last)
        assert aside.get(analysis) == drawn_here


def test_what_a_side_process_cannot_draw_is_drawn_here(monkeypatch, analysis, drawn_here):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(drawing, "_DRAW", "pairup.reporting.figures:no_such_thing")
    with drawing.figures_drawn_aside(analysis.results.experiment) as aside:
        aside.add(analysis, is_last=False)
        assert aside.get(analysis) == drawn_here
