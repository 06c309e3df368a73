"""Tails: the spread of the regret of single replications, which means and their intervals hide.

A policy that is nearly always good, and rarely misled for the rest of the run, has a small mean and
a few replications that lose many times as much. In frames of `average_instances` the values are the
means of instances.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from pairup.analysis.means import final, problem_columns
from pairup.intervals import LEVEL, wilson_ends

QUANTILES = {"q50": 0.5, "q90": 0.9, "q95": 0.95, "q99": 0.99, "q999": 0.999}


def tail_quantiles(frame: pl.DataFrame, measure: str = "regret") -> pl.DataFrame:
    """Compute quantiles over replications after the last round.

    Parameters
    ----------
    frame
        Results, as `pairup.load_results` returns them.
    measure
        Column of which to take quantiles, "regret" or "games".

    Returns
    -------
    polars.DataFrame
        A row for each experiment, problem and policy, in the order of the frame, with the problem's
        columns: ``q50`` (the median), ``q90``, ``q95``, ``q99``, ``q999`` (99.9%) and ``max``. The
        quantile of a share is the least measured value that at least this share of the replications
        do not exceed. It is null where they are too few to show it: `replications_needed`.

    Examples
    --------
    >>> import polars as pl
    >>> row = dict(experiment="e", problem="p", policy="SAM", round=9)
    >>> frame = pl.DataFrame([row | dict(replication=r, regret=1.0 + r) for r in range(20)])
    >>> tail_quantiles(frame).select("q50", "q90", "q95", "q99", "max").row(0)
    (10.0, 18.0, 19.0, None, 20.0)
    """
    values = pl.col(measure)
    keys = ["experiment", "problem", *problem_columns(frame), "policy"]
    return (
        final(frame)
        .group_by(keys, maintain_order=True)
        .agg(
            *(_quantile(values, share).alias(name) for name, share in QUANTILES.items()),
            max=values.max(),
        )
    )


def replications_needed(share: float) -> int:
    """Return the number of replications from which a quantile can be told from the largest value.

    Examples
    --------
    >>> [replications_needed(share) for share in (0.5, 0.95, 0.999)]
    [2, 20, 1000]
    """
    return math.ceil(round(1 / (1 - share), 9))


def missing_quantiles(count: int) -> str:
    """Return which quantiles the replications are too few for, and the number needed; or "".

    Examples
    --------
    >>> missing_quantiles(100)
    'Quantiles of 99.9% need at least 1,000 replications, got 100.'
    """
    needed = {share: replications_needed(share) for share in QUANTILES.values()}
    missing = [f"{share:.1%} need at least {n:,}" for share, n in needed.items() if n > count]
    said = ", ".join(each.replace(".0%", "%") for each in missing)
    return f"Quantiles of {said} replications, got {count:,}." if missing else ""


def _quantile(values: pl.Expr, share: float) -> pl.Expr:
    enough = pl.len() >= replications_needed(share)
    return pl.when(enough).then(values.sort().get(_place(share)))


def _place(share: float) -> pl.Expr:
    """Return the place of a quantile among sorted values; rounded, because 0.95 * 20 > 19."""
    return (pl.len() * share).round(9).ceil().cast(pl.Int64) - 1


def tail_probabilities(
    frame: pl.DataFrame, measure: str = "regret", level: float = LEVEL
) -> pl.DataFrame:
    """Return, for each regret x, the share of replications that lost at least x.

    Each share has Wilson's interval of its own: of a hundred points about five lie outside theirs.

    Parameters
    ----------
    frame
        Results, of which the last round of each problem is used.
    measure, level
        As in `mean_intervals`.

    Returns
    -------
    polars.DataFrame
        A row for each experiment, problem, policy and distinct value of the measure, in rising
        order: the measure, ``probability`` (the share of replications of at least this value),
        ``low`` and ``high``.

    Examples
    --------
    >>> import polars as pl
    >>> row = dict(experiment="e", problem="p", policy="SAM", round=9)
    >>> frame = pl.DataFrame([row | dict(replication=r, regret=1.0 + r) for r in range(4)])
    >>> tail_probabilities(frame).select("regret", "probability").rows()
    [(1.0, 1.0), (2.0, 0.75), (3.0, 0.5), (4.0, 0.25)]
    """
    keys = ["experiment", "problem", "policy"]
    counted = final(frame).select(*keys, measure).sort(measure, maintain_order=True)
    count, below = pl.len().over(keys), pl.int_range(pl.len()).over(keys)
    ranked = counted.with_columns(n=count, exceeding=count - below)
    ranked = ranked.unique([*keys, measure], keep="first", maintain_order=True)
    n, exceeding = (ranked[name].to_numpy().astype(np.float64) for name in ("n", "exceeding"))
    low, high = wilson_ends(exceeding / n, n, level)
    return ranked.select(
        *keys,
        measure,
        probability=pl.Series(exceeding / n, dtype=pl.Float64),
        low=pl.Series(low, dtype=pl.Float64),
        high=pl.Series(high, dtype=pl.Float64),
    )
