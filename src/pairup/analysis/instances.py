"""Instances: problems that differ in one parameter only, for example the seed of random rates.

They are a sample of problems, and a mean over them describes the distribution they come from. The
mean m_i of instance i over its R replications varies for two reasons: instances differ (variance
B), and R replications are few (variance W / R). The means of I instances are independent with
variance B + W / R, so the variance of their mean is (B + W / R) / I, and the sample variance of the
m_i divided by I estimates just that, whatever B, W and R are. The interval of the m_i is
therefore right, even for one replication each. Treating all I x R values as independent would give
(B + W) / (I R): too narrow by a factor of up to the square root of R.

Instances are independent in an experiment that names the parameter, ``over = "seed"``: the numbers
of their replications differ. In other experiments, replications with the same number share random
numbers across problems, and intervals over few replications are a little too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from pairup.analysis.means import problem_columns
from pairup.errors import ResultsError, did_you_mean
from pairup.experiments.results import parameter_column, parameters_of

_MEASURES = ("regret", "games")
_SIZES = ("players", "pairs")


def average_instances(frame: pl.DataFrame, over: str | None) -> pl.DataFrame:
    """Average the replications of each instance, so that instances replace replications.

    All statistics and figures accept the frame that is returned, and treat instances as they treat
    replications: means have intervals over instances, and policies are compared within an
    instance.

    Parameters
    ----------
    frame
        Results, as `pairup.load_results` returns them.
    over
        Parameter in which the instances differ, by its name in an experiment file, for example
        "seed". Problems without this parameter stay as they are; with None all of them do.

    Returns
    -------
    polars.DataFrame
        The columns of the frame without that of the parameter. ``problem`` names the instances by
        the parameters that they have in common, ``replication`` is the number of the instance from
        0, ``regret`` and ``games`` are its means over replications. Where instances differ in their
        number of players, ``players`` and ``pairs`` are null.

    Examples
    --------
    >>> import polars as pl
    >>> row = dict(experiment="e", family="random", param_players=4, policy="SAM", round=9)
    >>> regret = {0: [10.0, 14.0], 1: [20.0, 22.0]}
    >>> frame = pl.DataFrame(
    ...     row | dict(problem=f"random(4, {seed})", param_seed=seed, replication=r, regret=value)
    ...     for seed, values in regret.items()
    ...     for r, value in enumerate(values)
    ... )
    >>> average_instances(frame, "seed").select("problem", "replication", "regret").rows()
    [('random(players=4)', 0, 12.0), ('random(players=4)', 1, 21.0)]
    """
    if over is None:
        return frame
    instances = _instances(frame, over)
    measures = [name for name in _MEASURES if name in frame.columns]
    columns = [name for name in frame.columns if name != parameter_column(over)]
    given = [name for name in columns if name not in {*measures, "replication", *_SIZES}]
    means = (
        # Sorted, and averaged as lists, so that the last bit does not depend on threads.
        frame.sort("replication", maintain_order=True)
        .group_by(given, maintain_order=True)
        .agg(measures)
        .with_columns(pl.col(measures).list.mean())
        .join(instances, on=["experiment", "problem"], maintain_order="left")
        .with_columns(problem=pl.col("group"))
    )
    others = frame.filter(pl.col(parameter_column(over)).is_null())
    others = others.with_columns(pl.col(measures).cast(pl.Float64))
    return pl.concat([means.select(columns), others.select(columns)])


def group_names(frame: pl.DataFrame, over: str | None) -> dict[str, str]:
    """Return the name that `average_instances` gives each problem, by the problem's own name."""
    groups = {}
    if over is not None:
        groups = dict(_instances(frame, over).select("problem", "group").iter_rows())
    return {name: groups.get(name, name) for name in frame["problem"].unique(maintain_order=True)}


def average_values(values: Mapping[str, float], groups: Mapping[str, str]) -> dict[str, float]:
    """Average values of problems over each group; groups with a missing value are left out.

    Examples
    --------
    >>> average_values({"a": 1.0, "b": 3.0, "c": 9.0}, {"a": "g", "b": "g", "c": "h", "d": "h"})
    {'g': 2.0}
    """
    members: dict[str, list[float]] = {}
    for name, group in groups.items():
        members.setdefault(group, []).append(values.get(name, math.nan))
    means = {group: math.fsum(each) / len(each) for group, each in members.items()}
    return {group: mean for group, mean in means.items() if not math.isnan(mean)}


def _instances(frame: pl.DataFrame, over: str) -> pl.DataFrame:
    """Return a row for each instance: its group, its number there, and sizes that all share."""
    column = parameter_column(over)
    if column not in frame.columns:
        near = did_you_mean(over, parameters_of(frame))
        raise ResultsError(f"the problems have no parameter {over!r} to average over{near}")
    sizes = [name for name in _SIZES if name in frame.columns]
    shared = [name for name in problem_columns(frame) if name not in {column, *sizes}]
    problems = frame.filter(pl.col(column).is_not_null()).select(
        "experiment", "problem", *shared, *sizes
    )
    problems = problems.unique(maintain_order=True)
    group = [_group_name(row) for row in problems.select(shared).iter_rows(named=True)]
    problems = problems.with_columns(pl.Series("group", group, pl.String))
    key = ["experiment", "group"]
    return problems.select(
        *("experiment", "problem", "group"),
        pl.int_range(pl.len()).over(key).alias("replication"),
        *(pl.when(pl.col(name).n_unique().over(key) == 1).then(name) for name in sizes),
    )


def _group_name(traits: dict[str, Any]) -> str:
    known = {name.removeprefix(parameter_column("")): value for name, value in traits.items()}
    family = known.pop("family", "")
    shown = (
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in known.items()
        if value is not None
    )
    return f"{family}({', '.join(shown)})"
