"""Figures drawn in side processes, while the next experiment is played."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pairup.compiled.matchings.max_matching import solve
from pairup.compiled.numba_internals import is_on_disk
from pairup.side_process import SideProcessError, are_worth_it, call_aside

if TYPE_CHECKING:
    from pairup.analysis.analysis import Analysis
    from pairup.experiments.experiment import Experiment
    from pairup.reporting.figures import Picture

_DRAW = "pairup.reporting.figures:draw_figures"
_LIMITS = "pairup.analysis.limits:compute_limits"


class FiguresAside:
    """Figures of finished experiments.

    With few cores they are drawn when they are asked for, and so are those of the last experiment.
    """

    def __init__(self, threads: Executor) -> None:
        self._threads = threads
        self._aside: dict[str, Future[list[Picture]]] = {}
        self._here: dict[str, list[Picture]] = {}
        self._waiting: list[Analysis] = []

    def add(self, analysis: Analysis, is_last: bool) -> None:
        """Add an experiment, whose figures are drawn while the next one is played."""
        if is_last or not are_worth_it(2):
            self._waiting.append(analysis)
        else:
            drawn = self._threads.submit(call_aside, _DRAW, analysis)
            self._aside[analysis.results.experiment.name] = drawn

    def get(self, analysis: Analysis) -> list[Picture]:
        """Return the figures of an experiment."""
        from pairup.reporting.figures import draw_figures

        for each in self._waiting:  # all of them, while others are drawn aside
            self._here[each.results.experiment.name] = draw_figures(each)
        self._waiting.clear()
        name = analysis.results.experiment.name
        if name in self._aside:
            with suppress(SideProcessError):
                return self._aside[name].result()
        return self._here.get(name) or draw_figures(analysis)


@contextmanager
def figures_drawn_aside(first: Experiment) -> Iterator[FiguresAside]:
    """Draw figures in side processes while the block runs.

    The kernels for their limits are compiled meanwhile, and the modules for the page imported.
    """
    with ThreadPoolExecutor() as threads:
        threads.submit(importlib.import_module, "pairup.reporting.page")
        if are_worth_it(2) and not is_on_disk(solve):
            threads.submit(call_aside, _LIMITS, first)
        yield FiguresAside(threads)
