"""Experiments: policies compared on problems, played anywhere, kept as Parquet if asked."""

from pairup.experiments.compare import compare
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.experiment_file import (
    copy_experiment,
    load_experiment,
    shipped_experiments,
)
from pairup.experiments.results import HorizonCheck, Results, RunSummary
from pairup.experiments.runner import RunProgress, run_experiment
from pairup.experiments.scheduler import dask_executor
from pairup.experiments.storage import load_results, read_runs
from pairup.experiments.timings import Timing, measure_timings

__all__ = [
    "Entry",
    "Experiment",
    "HorizonCheck",
    "Results",
    "RunProgress",
    "RunSummary",
    "Timing",
    "compare",
    "copy_experiment",
    "dask_executor",
    "load_experiment",
    "load_results",
    "measure_timings",
    "read_runs",
    "run_experiment",
    "shipped_experiments",
]
