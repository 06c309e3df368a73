"""Comparisons of policies, paired by replication: differences, the ranks they show, and ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from pairup.analysis.means import (
    final,
    mean_intervals,
    policies_of,
    problem_columns,
    samples,
)
from pairup.errors import ResultsError, did_you_mean
from pairup.intervals import LEVEL, Floats, fieller_interval, student_interval

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
        difference shown may share a rank), ``policy``, ``estimate``, ``low``, ``high``; the mean
        ``difference`` from the first policy, ``difference_low``, ``difference_high`` and
        ``adjusted`` as in `paired_differences`, null for the first itself; ``unresolved`` (the
        policies from which no difference is shown, Holm's correction included), ``reasons`` (why
        not: the adjusted p-value, equal values, or a single replication) and a ``note`` that says
        both in words.

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
    [(1, 'b', 'no difference shown from c (p = 1.00)'),
     (1, 'c', 'no difference shown from b (p = 1.00)'),
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
    from_first = _from_first(differences, names)
    why = {
        frozenset((row["policy"], row["other"])): _reason(row)
        for row in differences.iter_rows(named=True)
    }
    reasons = [
        [why[frozenset((name, other))] for other in others]
        for name, others in zip(names, unresolved, strict=True)
    ]
    notes = [_note(*each) for each in zip(unresolved, reasons, strict=True)]
    return means.select(
        pl.Series("rank", rank),
        pl.col("policy", "estimate", "low", "high"),
        *from_first,
        pl.Series("unresolved", unresolved, dtype=pl.List(pl.String)),
        pl.Series("reasons", reasons, dtype=pl.List(pl.String)),
        pl.Series("note", notes),
    )


def _reason(row: Mapping[str, Any]) -> str:
    """Return why no difference is shown between two policies."""
    if row["adjusted"] is None:
        return "one replication" if row["replications"] else "no common replication"
    if row["difference"] == row["low"] == row["high"] == 0:
        return "equal in every replication"
    return f"p = {row['adjusted']:.2f}"


def _note(others: Sequence[str], reasons: Sequence[str]) -> str:
    pairs = zip(others, reasons, strict=True)
    said = ", ".join(f"{other} ({reason})" for other, reason in pairs)
    return f"no difference shown from {said}" if said else ""


def _from_first(differences: pl.DataFrame, names: Sequence[str]) -> list[pl.Series]:
    """Return the differences of policies from the first of them, as columns."""
    columns = ("difference", "low", "high", "adjusted")
    known: dict[str, tuple[float | None, ...]] = {}
    for policy, other, *found in differences.select("policy", "other", *columns).iter_rows():
        mean, low, high, adjusted = found
        if other == names[0]:
            known[policy] = mean, low, high, adjusted
        elif policy == names[0]:
            known[other] = _negative(mean), _negative(high), _negative(low), adjusted
    heads = ("difference", "difference_low", "difference_high", "adjusted")
    rows = [known.get(name, (None,) * len(heads)) for name in names]
    return [
        pl.Series(head, [row[place] for row in rows], pl.Float64)
        for place, head in enumerate(heads)
    ]


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def ratios(
    frame: pl.DataFrame,
    policy: str,
    other: str,
    measure: str = "regret",
    level: float = LEVEL,
    pooled: bool = False,
) -> pl.DataFrame:
    """Divide the mean of a policy by the mean of another, with Fieller's interval.

    Fieller's interval holds every ratio r for which ``policy - r * other``, paired by replication,
    does not differ from 0 by a t-test: exact for normal values, deterministic, and honest about a
    denominator that may be 0 (an end is then infinite).

    Parameters
    ----------
    frame
        Results of one experiment, of which the last round of each problem is used.
    policy, other
        Numerator and denominator.
    measure, level
        As in `mean_intervals`.
    pooled
        Whether to return one ratio of the sums over all problems instead of one per problem. The
        problems of a replication share its random numbers, so that the sums are formed inside it.

    Returns
    -------
    polars.DataFrame
        ``problem`` and its other columns (none of them if pooled), ``ratio``, ``low``, ``high``.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     dict(
    ...         experiment="e", problem="p", policy=["a"] * 3 + ["b"] * 3, seed=0, round=9,
    ...         replication=[0, 1, 2] * 2, regret=[22.0, 24.0, 26.5, 11.0, 12.0, 13.0],
    ...     )
    ... )  # fmt: skip
    >>> ratios(frame, "a", "b").select("problem", pl.col("ratio", "low", "high").round(2)).row(0)
    ('p', 2.01, 1.94, 2.06)
    """
    last = final(frame)
    keys = [] if pooled else ["problem", *problem_columns(last)]
    parts = [((), last)] if pooled else last.group_by(keys, maintain_order=True)
    rows = []
    for key, part in parts:
        values = samples(part, (policy, other), measure)
        if not len(values[policy]):
            raise ResultsError("a ratio needs replications that both policies played, got none")
        rows.append((*key, *fieller_interval(values[policy], values[other], level)))
    schema = {name: last.schema[name] for name in keys}
    return pl.DataFrame(
        rows, schema=schema | dict.fromkeys(("ratio", "low", "high"), pl.Float64), orient="row"
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
