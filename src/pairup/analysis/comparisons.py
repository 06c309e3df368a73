"""Comparisons: differences between policies, paired by replication, and the ranks they show."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl

from pairup.analysis.means import final, mean_intervals, policies_of, samples
from pairup.errors import ResultsError, did_you_mean
from pairup.intervals import LEVEL, Floats, student_interval

_DIFFERENCE = {"policy": pl.String, "other": pl.String, "replications": pl.Int64} | dict.fromkeys(
    ("difference", "low", "high", "p_value"), pl.Float64
)


def paired_differences(
    frame: pl.DataFrame,
    problem: str | None = None,
    round: int | None = None,
    measure: str = "regret",
    level: float = LEVEL,
) -> pl.DataFrame:
    """Compare all policies with each other on one problem, paired by replication or instance.

    Holm's method keeps the probability of even one false "shown" in the table below 1 - level;
    tables of several problems are not corrected for each other.

    Parameters
    ----------
    frame
        Results of one experiment; for a comparison over instances, those of `average_instances`.
    problem
        Name of the problem; needed where the frame has several.
    round
        Checkpoint at which to compare; the last by default.
    measure, level
        As in `mean_intervals`.

    Returns
    -------
    polars.DataFrame
        A row for each pair of policies: ``policy``, ``other``, mean ``difference`` (policy minus
        other), its Student interval ``low`` and ``high`` for this pair alone, the ``p_value`` of a
        paired t-test, the same ``adjusted`` by Holm's method for all pairs of this table, and
        ``shown``: whether the adjusted p-value is below 1 - level. What cannot be estimated from
        one replication is null.

    Examples
    --------
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
    pairs = combinations(policies_of(rows), 2)
    outcomes = [_paired(samples(rows, pair, measure), *pair, level) for pair in pairs]
    table = pl.DataFrame(outcomes, schema=_DIFFERENCE, orient="row")
    adjusted = pl.Series(holm(table["p_value"].to_numpy()), nan_to_null=True)
    return table.with_columns(adjusted=adjusted).with_columns(shown=pl.col("adjusted") < 1 - level)


def ranking(
    frame: pl.DataFrame,
    problem: str | None = None,
    round: int | None = None,
    measure: str = "regret",
    level: float = LEVEL,
) -> pl.DataFrame:
    """Order the policies on one problem, the least regret first, or the most games.

    Parameters
    ----------
    frame, problem, round, measure, level
        As in `paired_differences`.

    Returns
    -------
    polars.DataFrame
        ``rank`` (1 plus the number of policies shown to be better, so that policies without a
        difference shown may share a rank), ``policy``, ``estimate``, ``low``, ``high``,
        ``unresolved`` (the policies from which no difference is shown, Holm's correction included)
        and a ``note`` that says the same in words.

    Examples
    --------
    >>> import polars as pl
    >>> regret = {"a": [5.0, 6.0, 7.5], "b": [1.0, 2.0, 3.0], "c": [0.5, 2.5, 3.0]}
    >>> frame = pl.DataFrame(
    ...     dict(
    ...         experiment="e", problem="p", policy=policy, seed=0, replication=r, round=9,
    ...         regret=value,
    ...     )
    ...     for policy, values in regret.items()
    ...     for r, value in enumerate(values)
    ... )  # fmt: skip
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
    rank = [
        1 + sum(shown[frozenset((name, above))] for above in names[:place])
        for place, name in enumerate(names)
    ]
    notes = [f"no difference shown from {', '.join(each)}" if each else "" for each in unresolved]
    return means.select(
        pl.Series("rank", rank),
        pl.col("policy", "estimate", "low", "high"),
        pl.Series("unresolved", unresolved, dtype=pl.List(pl.String)),
        pl.Series("note", notes),
    )


def holm(p_values: Floats) -> Floats:
    """Adjust p-values by Holm's method; NaNs are kept and not counted.

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
    if count < 2:
        mean = float(differences.mean()) if count else None
        return policy, other, count, mean, None, None, None
    mean, low, high = map(float, student_interval(differences, level))
    return policy, other, count, mean, low, high, _p_value(differences)


def _p_value(differences: Floats) -> float:
    from scipy import stats  # slow to import

    mean = abs(differences.mean())
    # All replications may agree: SAM before its first split loses a fixed number.
    if np.ptp(differences) <= 1e-12 * mean:
        return 0.0 if mean > 0 else 1.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def _at(frame: pl.DataFrame, problem: str | None, round: int | None) -> pl.DataFrame:
    """Keep one round of one problem of one experiment."""
    known = frame["problem"].unique(maintain_order=True).to_list()
    if problem is None and len(known) != 1:
        raise ResultsError(
            f"policies are compared on one problem, got {len(known)}: name one, or take their "
            'mean, average_instances(frame, over="...")'
        )
    problem = known[0] if problem is None else problem
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
        checkpoints = np.sort(rows["round"].unique().to_numpy())
        near = checkpoints[np.abs(checkpoints - round).argmin()]
        raise ResultsError(f"round {round} of {problem} is not a checkpoint; the nearest is {near}")
    return chosen
