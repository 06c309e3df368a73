"""Limits: the regret that no policy stays below, and regret in multiples of it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from pairup.bounds import lower
from pairup.experiments.experiment import Experiment


def compute_limits(experiment: Experiment) -> dict[str, float]:
    """Compute the limit of each problem for which a figure of the experiment asks for it.

    It is the constant of `pairup.bounds.lower`; problems where it is 0 are left out.
    """
    asked = [spec for spec in experiment.figures if spec.limit or spec.kind == "limit"]
    constants = {
        posed.problem.name: lower(posed.problem).constant
        for posed in experiment.problems
        if any(spec.shows(posed) for spec in asked)
    }
    return {name: constant for name, constant in constants.items() if constant > 0}


def divide_by_limits(frame: pl.DataFrame, limits: Mapping[str, float]) -> pl.DataFrame:
    """Divide the regret in results by the limit c ln T of its problem.

    The first round is left out (ln 1 = 0), and so are problems without a constant c, or of 0.
    """
    known = {name: constant for name, constant in limits.items() if constant > 0}  # NaN is not
    frame = frame.filter(pl.col("problem").is_in(list(known)), pl.col("round") > 1)
    unit = pl.Series([known[name] for name in frame["problem"]], dtype=pl.Float64)
    return frame.with_columns(pl.col("regret") / (unit * frame["round"].cast(pl.Float64).log()))
