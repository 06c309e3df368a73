"""Ratios of two policies' means, with Fieller's interval."""

from __future__ import annotations

import polars as pl

from pairup.analysis.means import final, problem_columns, samples
from pairup.errors import ResultsError
from pairup.intervals import LEVEL, fieller_interval


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
