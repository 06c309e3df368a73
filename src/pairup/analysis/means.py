"""Means: averages over replications with intervals, and what each replication lost.

Replications are independent, and in each of them policies meet the same players (common random
numbers). So every comparison is paired by replication, and the players' luck cancels out. All
functions take the frame of `pairup.load_results`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from pairup.errors import ResultsError, did_you_mean
from pairup.experiments.results import (
    option_column,
    options_of,
    parameter_column,
    parameters_of,
)
from pairup.intervals import LEVEL, Floats, skewed_ends, skewness

_CARRIED = ("family", "players", "pairs")  # with the parameters: the same in all rows of a problem


def mean_intervals(
    frame: pl.DataFrame, measure: str = "regret", level: float = LEVEL
) -> pl.DataFrame:
    """Average over replications, with the interval of `pairup.intervals.skewed_ends`.

    Parameters
    ----------
    frame
        Results, as `pairup.load_results` returns them.
    measure
        Column to average, "regret" or "games".
    level
        Probability that an interval covers the true mean, in (0, 1).

    Returns
    -------
    polars.DataFrame
        A row for each experiment, problem, policy and round, in the order of the frame, with the
        problem's columns: ``estimate``, ``low``, ``high`` and the number of ``replications`` (of
        instances, where the frame is that of `average_instances`). The ends of the interval are
        null if there is only one.

    Examples
    --------
    >>> import polars as pl
    >>> row = dict(experiment="e", problem="p", policy="SAM", round=9)
    >>> frame = pl.DataFrame([row | dict(replication=r, regret=10.0 + r) for r in range(3)])
    >>> mean_intervals(frame).select("estimate", pl.col("low", "high").round(2)).row(0)
    (11.0, 9.0, 14.92)
    """
    _check(frame, ["experiment", "problem", "policy", "replication", "round", measure], level)
    swept = map(option_column, options_of(frame))
    keys = ["experiment", "problem", *problem_columns(frame), "policy", *swept, "round"]
    # Lists keep the order of the replications, so that the last bit does not depend on threads.
    values = pl.col(measure)
    summary = (
        frame.sort("replication", maintain_order=True)
        .group_by(keys, maintain_order=True)
        .agg(values)
        .select(
            *keys,
            estimate=values.list.mean(),
            error=values.list.std() / values.list.len().cast(pl.Float64).sqrt(),
            second=values.list.eval((pl.element() - pl.element().mean()) ** 2).list.mean(),
            third=values.list.eval((pl.element() - pl.element().mean()) ** 3).list.mean(),
            replications=values.list.len().cast(pl.Int64),
        )
    )
    mean, error, second, third, count = (
        summary[name].to_numpy()
        for name in ("estimate", "error", "second", "third", "replications")
    )
    low, high = skewed_ends(mean, error, skewness(second, third, count), count, level)
    ends = {"low": pl.Series(low, nan_to_null=True), "high": pl.Series(high, nan_to_null=True)}
    return summary.with_columns(**ends).drop("error", "second", "third")


def problem_columns(frame: pl.DataFrame) -> list[str]:
    """List the columns that describe a problem beyond its name: family, size, parameters."""
    parameters = map(parameter_column, parameters_of(frame))
    return [*(name for name in _CARRIED if name in frame.columns), *parameters]


def along_option(frame: pl.DataFrame, option: str, lines: Mapping[str, str]) -> pl.DataFrame:
    """Return the rows with the labels of their lines, for a figure with an option on its axis.

    `lines` has these labels by policy. A policy that is not swept over the option has the same
    rows at each of its values.
    """
    column = option_column(option)
    swept = frame.filter(pl.col(column).is_not_null())
    swept = swept.with_columns(pl.col("policy").replace(lines))
    others = frame.filter(pl.col(column).is_null()).drop(column)
    values = swept.select(pl.col(column).unique(maintain_order=True))
    return pl.concat([swept, others.join(values, how="cross").select(frame.columns)])


def final(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the last round of each problem of each experiment."""
    return frame.filter(pl.col("round") == pl.col("round").max().over("experiment", "problem"))


def policies_of(frame: pl.DataFrame) -> list[str]:
    """List the policies in the order in which they appear."""
    return frame["policy"].unique(maintain_order=True).to_list()


def samples(
    frame: pl.DataFrame, policies: Sequence[str], measure: str = "regret"
) -> dict[str, Floats]:
    """Return each policy's values, one per replication, in the same order for all policies.

    If the frame has several problems or rounds, a replication's values are summed over them.
    Replications that some policy has not played on some problem are left out.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     dict(policy=["a", "a", "b"], seed=0, replication=[0, 1, 1], regret=[1.0, 2.0, 5.0])
    ... )
    >>> samples(frame, ["a", "b"])
    {'a': array([2.]), 'b': array([5.])}
    """
    known = policies_of(frame)
    for policy in policies:
        if policy not in known:
            raise ResultsError(
                f"no results of a policy called {policy!r}{did_you_mean(policy, known)}"
            )
    chosen = frame.filter(pl.col("policy").is_in(list(policies)))
    sums = chosen.group_by("policy", "seed", "replication").agg(
        pl.col(measure).sort().sum(), rows=pl.len()
    )
    whole = pl.col("rows").min().over("seed", "replication") == pl.col("rows").max()
    played = pl.len().over("seed", "replication") == len(set(policies))
    sums = sums.filter(whole & played).sort("seed", "replication")
    return {each: sums.filter(policy=each)[measure].to_numpy() for each in policies}


def _check(frame: pl.DataFrame, columns: Sequence[str], level: float) -> None:
    for column in columns:
        if column not in frame.columns:
            raise ResultsError(
                f"results have no column {column!r}{did_you_mean(column, frame.columns)}"
            )
    if not 0 < level < 1:
        raise ResultsError(f"level must lie in (0, 1), got {level!r}: try 0.95")
