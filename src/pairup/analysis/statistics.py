"""Statistics: what replications tell of means, differences, ratios and ranks.

Replications are independent and policies meet the same players in each (common random numbers), so
that every comparison is paired by replication: what the players do that day cancels out. All
functions take the frame of `pairup.load_results` and give a polars frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairup.errors import ResultsError, did_you_mean

Floats = NDArray[np.float64]

PROBLEM = ["experiment", "problem", "family", "players", "pairs", "gap", "mean"]
NO_DIFFERENCE = "no difference shown"
_LEVEL = 0.95


def mean_intervals(
    frame: pl.DataFrame, measure: str = "regret", level: float = _LEVEL
) -> pl.DataFrame:
    """Average over replications, with a Student interval.

    Parameters
    ----------
    frame
        Results.
    measure
        Column to average, "regret" or "games".
    level
        Probability that an interval covers the true mean, in (0, 1).

    Returns
    -------
    polars.DataFrame
        A row for each experiment, problem, policy and round, in the order of the frame:
        ``estimate``, ``low``, ``high`` and the number of ``replications``. The ends of the
        interval are null where there is only one replication.

    Examples
    --------
    >>> import polars as pl
    >>> problem = dict(
    ...     experiment="e", problem="p", family="f", players=4, pairs=2, gap=0.1, mean=0.5
    ... )
    >>> frame = pl.DataFrame(
    ...     [
    ...         problem | dict(policy="SAM", replication=r, round=9, regret=10.0 + r)
    ...         for r in range(3)
    ...     ]
    ... )
    >>> mean_intervals(frame).select("estimate", pl.col("low", "high").round(2)).row(0)
    (11.0, 8.52, 13.48)
    """
    _check(frame, [*PROBLEM, "policy", "replication", "round", measure], level)
    # Lists keep the order of the replications, so that the last bit does not depend on threads.
    values = pl.col(measure)
    summary = (
        frame.sort("replication", maintain_order=True)
        .group_by(*PROBLEM, "policy", "round", maintain_order=True)
        .agg(values)
        .select(
            *PROBLEM,
            "policy",
            "round",
            estimate=values.list.mean(),
            spread=values.list.std() / values.list.len().cast(pl.Float64).sqrt(),
            replications=values.list.len().cast(pl.Int64),
        )
    )
    half = pl.Series(_quantile(summary["replications"].to_numpy(), level), nan_to_null=True)
    return summary.with_columns(
        low=pl.col("estimate") - half * pl.col("spread"),
        high=pl.col("estimate") + half * pl.col("spread"),
    ).drop("spread")


def final(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the last round of each problem of each experiment."""
    return frame.filter(pl.col("round") == pl.col("round").max().over("experiment", "problem"))


def policies_of(frame: pl.DataFrame) -> list[str]:
    """List the policies in the order in which they appear."""
    return frame["policy"].unique(maintain_order=True).to_list()


def samples(
    frame: pl.DataFrame, policies: Sequence[str], measure: str = "regret"
) -> dict[str, Floats]:
    """Give each policy's values, one a replication, in the same order for all policies.

    Where the frame has several problems or rounds, a replication's values are summed over them.
    Replications that not all of the policies have played on all of the problems are left out.

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


def paired_differences(
    frame: pl.DataFrame,
    problem: str,
    round: int | None = None,
    measure: str = "regret",
    level: float = _LEVEL,
) -> pl.DataFrame:
    """Compare all policies with each other on one problem, paired by replication.

    Parameters
    ----------
    frame
        Results of one experiment.
    problem
        Name of the problem.
    round
        A checkpoint; the last by default.
    measure, level
        As in `mean_intervals`.

    Returns
    -------
    polars.DataFrame
        A row for each pair of policies: ``policy``, ``other``, mean ``difference`` (policy minus
        other), its Student interval ``low`` and ``high`` for this pair taken alone, the
        ``p_value`` of a paired t-test, the same ``adjusted`` by Holm's method for all pairs of
        this table, and ``shown``: whether the adjusted p-value is below 1 - level. Null where
        there is only one replication. Holm's method keeps the chance of even one false "shown" in
        a table below 1 - level; tables of several problems are not corrected for each other.

    Examples
    --------
    >>> from pairup.analysis.statistics import paired_differences
    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     dict(
    ...         experiment="e", problem="p", policy=["a"] * 3 + ["b"] * 3, seed=0, round=9,
    ...         replication=[0, 1, 2] * 2, regret=[1.0, 2.0, 3.0, 4.0, 5.0, 6.5],
    ...     )
    ... )  # fmt: skip
    >>> differences = paired_differences(frame, "p")
    >>> differences.select(pl.col("difference", "low", "high").round(2)).row(0)
    (-3.17, -3.88, -2.45)
    """
    rows = _at(frame, problem, round)
    names = policies_of(rows)
    pairs = list(combinations(names, 2))
    outcomes = [_paired(samples(rows, pair, measure), *pair, level) for pair in pairs]
    table = pl.DataFrame(outcomes, schema=_DIFFERENCE, orient="row")
    adjusted = pl.Series(holm(table["p_value"].to_numpy()), nan_to_null=True)
    return table.with_columns(adjusted=adjusted).with_columns(
        shown=pl.col("adjusted") < 1 - level,
    )


_DIFFERENCE = {
    "policy": pl.String,
    "other": pl.String,
    "replications": pl.Int64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_value": pl.Float64,
}


def ranking(
    frame: pl.DataFrame,
    problem: str,
    round: int | None = None,
    measure: str = "regret",
    level: float = _LEVEL,
) -> pl.DataFrame:
    """Order the policies on one problem, the least regret first.

    Parameters
    ----------
    frame, problem, round, measure, level
        As in `paired_differences`. Games are ranked from the most down.

    Returns
    -------
    polars.DataFrame
        ``rank`` (1 plus the number of policies shown to be better, so that policies without a
        difference shown may share a rank), ``policy``, ``estimate``, ``low``, ``high``,
        ``unresolved`` (the policies from which no difference is shown, Holm's correction
        included) and a ``note`` that says the same in words.

    Examples
    --------
    >>> from pairup.analysis.statistics import ranking
    >>> import polars as pl
    >>> problem = dict(
    ...     experiment="e", problem="p", family="f", players=4, pairs=2, gap=0.1, mean=0.5
    ... )
    >>> regret = {"a": [5.0, 6.0, 7.5], "b": [1.0, 2.0, 3.0], "c": [0.5, 2.5, 3.0]}
    >>> frame = pl.DataFrame(
    ...     problem | dict(policy=policy, seed=0, replication=r, round=9, regret=value)
    ...     for policy, values in regret.items()
    ...     for r, value in enumerate(values)
    ... )
    >>> ranking(frame, "p").select("rank", "policy", "note").rows()
    [(1, 'b', 'no difference shown from c'),
     (1, 'c', 'no difference shown from b'),
     (3, 'a', '')]
    """
    rows = _at(frame, problem, round)
    differences = paired_differences(rows, problem, None, measure, level)
    means = mean_intervals(rows, measure, level)
    means = means.sort("estimate", descending=measure == "games", maintain_order=True)
    names = means["policy"].to_list()
    shown = {
        frozenset(pair): bool(found)
        for *pair, found in differences.select("policy", "other", "shown").iter_rows()
    }
    unresolved = [
        [other for other in names if other != name and not shown[frozenset((name, other))]]
        for name in names
    ]
    better = [
        sum(shown[frozenset((name, above))] for above in names[:place])
        for place, name in enumerate(names)
    ]
    return means.select(
        pl.Series("rank", [1 + count for count in better]),
        "policy",
        "estimate",
        "low",
        "high",
        pl.Series("unresolved", unresolved, dtype=pl.List(pl.String)),
        pl.Series("note", [_note(others) for others in unresolved]),
    )


def _note(others: Sequence[str]) -> str:
    return f"{NO_DIFFERENCE} from {', '.join(others)}" if others else ""


def ratios(
    frame: pl.DataFrame,
    policy: str,
    other: str,
    measure: str = "regret",
    level: float = _LEVEL,
    pooled: bool = False,
) -> pl.DataFrame:
    """Divide the mean of a policy by the mean of another, with Fieller's interval.

    Fieller's interval holds every ratio r for which ``policy - r * other``, paired by replication,
    does not differ from 0 by a t-test: exact for normal values, deterministic, and honest about a
    denominator that may be 0 (an end is then infinite).

    Parameters
    ----------
    frame
        Results of one experiment; the last round of each problem counts.
    policy, other
        Numerator and denominator.
    measure, level
        As in `mean_intervals`.
    pooled
        One ratio of the sums over all problems, in place of one for each problem. A replication
        shares its random numbers among problems, so that the sums are formed inside it.

    Returns
    -------
    polars.DataFrame
        ``problem``, ``pairs``, ``mean`` (null when pooled), ``ratio``, ``low``, ``high``.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     dict(
    ...         experiment="e", problem="p", pairs=2, mean=0.5, policy=["a"] * 3 + ["b"] * 3,
    ...         seed=0, round=9, replication=[0, 1, 2] * 2,
    ...         regret=[22.0, 24.0, 26.5, 11.0, 12.0, 13.0],
    ...     )
    ... )  # fmt: skip
    >>> ratios(frame, "a", "b").select("problem", pl.col("ratio", "low", "high").round(2)).row(0)
    ('p', 2.01, 1.94, 2.06)
    """
    last = final(frame)
    if pooled:
        parts = [(None, None, None, last)]
    else:
        groups = last.group_by("problem", "pairs", "mean", maintain_order=True)
        parts = [(*key, part) for key, part in groups]
    rows = []
    for *key, part in parts:
        values = samples(part, (policy, other), measure)
        rows.append((*key, *_fieller(values[policy], values[other], level)))
    schema = {"problem": pl.String, "pairs": pl.Int64, "mean": pl.Float64}
    return pl.DataFrame(
        rows, schema=schema | dict.fromkeys(("ratio", "low", "high"), pl.Float64), orient="row"
    )


def interval(values: Floats, level: float = _LEVEL) -> tuple[float, float, float]:
    """Give the mean of independent values and the ends of its Student interval.

    Examples
    --------
    >>> import numpy as np
    >>> mean, low, high = interval(np.array([1.0, 2.0, 3.0]))
    >>> round(mean, 2), round(low, 2), round(high, 2)
    (2.0, -0.48, 4.48)
    """
    mean = float(values.mean())
    if len(values) < 2:
        return mean, float("nan"), float("nan")
    half = float(_quantile(len(values), level) * values.std(ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half


def line(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Fit a straight line: its slope, its intercept, and the share of variance it explains.

    Examples
    --------
    >>> import numpy as np
    >>> line(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]))
    (2.0, 1.0, 1.0)
    """
    centred = x - x.mean()
    slope = float(centred @ (y - y.mean()) / (centred @ centred))
    intercept = float(y.mean() - slope * x.mean())
    rest = float(((y - intercept - slope * x) ** 2).sum())
    total = float(((y - y.mean()) ** 2).sum())
    return slope, intercept, 1.0 - rest / total if total else 1.0


def holm(p_values: Floats) -> Floats:
    """Adjust p-values by Holm's method; NaN stays and does not count.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.asarray(p_values, np.float64).copy()
    tested = np.flatnonzero(~np.isnan(adjusted))
    order = tested[np.argsort(adjusted[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(adjusted[order] * factors), 1.0)
    return adjusted


def _paired(
    values: dict[str, Floats], policy: str, other: str, level: float
) -> tuple[str, str, int, float | None, float | None, float | None, float | None]:
    differences = values[policy] - values[other]
    count = len(differences)
    if count == 0:
        return policy, other, 0, None, None, None, None
    mean, low, high = interval(differences, level)
    if count < 2:
        return policy, other, count, mean, None, None, None
    return policy, other, count, mean, low, high, _p_value(differences)


def _p_value(differences: Floats) -> float:
    from scipy.special import stdtr  # slow to import, and no figure needs it

    count = len(differences)
    error = differences.std(ddof=1) / np.sqrt(count)
    mean = abs(differences.mean())
    if error == 0:  # all replications agree: SAM before its first split loses a fixed number
        return 0.0 if mean > 0 else 1.0
    return float(2 * stdtr(count - 1, -mean / error))


def _fieller(top: Floats, bottom: Floats, level: float) -> tuple[float, float, float]:
    """Solve (mean(top) - r mean(bottom))^2 = t^2 var(top - r bottom) / n for r."""
    count = len(top)
    if count == 0:
        raise ResultsError("a ratio needs replications that both policies played, got none")
    over, under = float(top.mean()), float(bottom.mean())
    ratio = over / under if under else float("nan")
    if count < 2:
        return ratio, float("nan"), float("nan")
    (vt, cross), (_, vb) = np.cov(top, bottom) * float(_quantile(count, level)) ** 2 / count
    a, b, c = under**2 - vb, over * under - cross, over**2 - vt
    root = b**2 - a * c
    if a <= 0:  # the denominator may be 0: no ratio can be excluded from above
        return ratio, float("-inf"), float("inf")
    half = float(np.sqrt(max(root, 0.0)))
    return ratio, float((b - half) / a), float((b + half) / a)


def _quantile(count: int | NDArray[np.int64], level: float) -> Floats:
    """Give the half width of a Student interval in standard errors; NaN below two replications."""
    from scipy.special import stdtrit  # slow to import

    freedom = np.asarray(count, np.float64) - 1
    return np.where(freedom > 0, stdtrit(np.maximum(freedom, 1), (1 + level) / 2), np.nan)


def _at(frame: pl.DataFrame, problem: str, round: int | None) -> pl.DataFrame:
    """Keep one round of one problem of one experiment."""
    known = frame["problem"].unique(maintain_order=True).to_list()
    if problem not in known:
        raise ResultsError(f"no results on the problem {problem!r}{did_you_mean(problem, known)}")
    rows = frame.filter(problem=problem)
    experiments = rows["experiment"].unique(maintain_order=True).to_list()
    if len(experiments) > 1:
        raise ResultsError(
            f"policies are compared inside one experiment, got {', '.join(experiments)}: "
            f'keep one, frame.filter(experiment="{experiments[0]}")'
        )
    if round is None:
        return final(rows)
    chosen = rows.filter(round=round)
    if chosen.is_empty():
        marks = np.sort(rows["round"].unique().to_numpy())
        near = marks[np.abs(marks - round).argmin()]
        raise ResultsError(f"round {round} of {problem} is no checkpoint; the nearest is {near}")
    return chosen


def _check(frame: pl.DataFrame, columns: Sequence[str], level: float) -> None:
    for column in columns:
        if column not in frame.columns:
            raise ResultsError(
                f"results have no column {column!r}{did_you_mean(column, frame.columns)}"
            )
    if not 0 < level < 1:
        raise ResultsError(f"level must lie in (0, 1), got {level!r}: try 0.95")
