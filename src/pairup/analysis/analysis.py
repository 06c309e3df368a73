"""Analysis: an experiment's results, and what tables, figures and the report compute from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from pairup.analysis.instances import average_instances, average_values, group_names
from pairup.analysis.limits import compute_limits
from pairup.analysis.standings import Standing, compute_standings
from pairup.experiments.results import Results
from pairup.experiments.timings import Timings


@dataclass(frozen=True, eq=False)
class Analysis:
    """Results, the statistics computed from them once, and the time that a round takes.

    Results come from `pairup.run_experiment` or `pairup.experiments.storage.read_results`, timings
    from `pairup.experiments.timings.measure_timings`; they are empty where nothing was timed.

    Examples
    --------
    >>> from pairup import load_experiment, run_experiment
    >>> small = load_experiment("field").scaled(rounds=30, replications=2)
    >>> analysis = Analysis(run_experiment(small).results)
    >>> list(analysis.limits) == list(analysis.standings)
    True
    """

    results: Results
    timings: Timings = field(default_factory=dict)

    @cached_property
    def limits(self) -> Mapping[str, float]:
        """The limit of each problem for which a figure of the experiment asks for it."""
        return compute_limits(self.results.experiment)

    @cached_property
    def sample(self) -> pl.DataFrame:
        """The rows of the experiment, averaged over its instances where it has some."""
        return average_instances(self._rows, self.results.experiment.over)

    @cached_property
    def mean_limits(self) -> Mapping[str, float]:
        """The limits by the names in the standings: means over the instances of a group."""
        return average_values(self.limits, group_names(self._rows, self.results.experiment.over))

    @property
    def _rows(self) -> pl.DataFrame:
        return self.results.frame.filter(experiment=self.results.experiment.name)

    @cached_property
    def standings(self) -> Mapping[str, list[Standing]]:
        """By the names of the problems, or of groups of instances: the policies in order."""
        return compute_standings(self.results, self.limits, self.timings)
