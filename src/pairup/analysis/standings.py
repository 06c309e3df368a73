"""Standings: who loses least on each problem, how far from the limit, and how fast."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import polars as pl

from pairup.analysis.comparisons import ranking
from pairup.analysis.instances import average_instances, group_names
from pairup.analysis.means import final, mean_intervals
from pairup.analysis.tails import QUANTILES, tail_quantiles
from pairup.bounds import lower
from pairup.experiments.experiment import Experiment
from pairup.experiments.results import Results
from pairup.html_table import html_table
from pairup.problem import Problem

TIMING_NOTE = (
    "ns per round: one replication on one thread, after a warm-up, on the machine that ran the "
    "race; from its first round on, for at most about 0.3 s per policy, so that a slow policy is "
    "timed over its early rounds alone, which may take longer than later ones."
)
BOTTOM_NOTE = (
    "bottom: expected games of the tenth of the players with the lowest chances, as a share of what"
    " random pairing gives them; in the second half of one replication."
)
_MIN_RUN = 3  # neighbours in a table that are named by the first and the last of them


@dataclass(frozen=True)
class Standing:
    """A policy on a problem, or over its instances: rank, mean regret, games, time per round.

    The rank is 1 plus the number of policies shown to be better. `estimate` is the mean regret
    after the last round, `low` and `high` the ends of its 95% interval (None for one replication),
    `difference` to `adjusted` compare it with the first policy as in `ranking`, `times_limit` is
    the estimate in multiples of the limit c ln T. `bottom_tenth` is what is left to the tenth of
    the players with the lowest chances, as a share of what random pairing gives them. `q50` to
    `max` are those of `tail_quantiles`. What was not asked for or not measured is None.
    `unresolved` are the policies from which no difference is shown, and `reasons` why not; `note`
    says both in words.
    """

    problem: str
    policy: str
    rank: int
    estimate: float
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    adjusted: float | None
    times_limit: float | None
    nanoseconds: float | None
    rounds_timed: int | None
    games: float
    bottom_tenth: float | None
    q50: float | None
    q90: float | None
    q95: float | None
    q99: float | None
    q999: float | None
    max: float
    unresolved: tuple[str, ...]
    reasons: tuple[str, ...]
    note: str


def standings_frame(rows: Iterable[Standing]) -> pl.DataFrame:
    """Return standings as a frame, whose columns have the same types whatever was measured."""
    words = pl.List(pl.String)
    kinds: dict[str, Any] = {"str": pl.String, "int": pl.Int64, "tuple[str, ...]": words}
    fields = {
        each.name: str(each.type).removesuffix(" | None") for each in dataclasses.fields(Standing)
    }
    schema = {name: kinds.get(kind, pl.Float64) for name, kind in fields.items()}
    return pl.DataFrame([dataclasses.astuple(row) for row in rows], schema=schema, orient="row")


def compute_limits(experiment: Experiment) -> dict[str, float]:
    """Compute the limit of each problem for which a figure of the experiment asks for it.

    It is the constant of `pairup.bounds.lower`; problems where it is 0 are left out.
    """
    asked = [spec for spec in experiment.figures if spec.limit or spec.kind == "limit"]
    shown = (posed for posed in experiment.problems if any(spec.shows(posed) for spec in asked))
    return limits_of(posed.problem for posed in shown)


def limits_of(problems: Iterable[Problem]) -> dict[str, float]:
    """Compute the limits of problems, by their names; those without one are left out."""
    constants = {problem.name: lower(problem).constant for problem in problems}
    return {name: constant for name, constant in constants.items() if constant > 0}


def divide_by_limits(frame: pl.DataFrame, limits: Mapping[str, float]) -> pl.DataFrame:
    """Divide the regret in results by the limit c ln T of its problem.

    The first round is left out (ln 1 = 0), and so are problems without a constant c, or of 0.
    """
    known = {name: constant for name, constant in limits.items() if constant > 0}  # NaN is not
    frame = frame.filter(pl.col("problem").is_in(list(known)), pl.col("round") > 1)
    unit = pl.Series([known[name] for name in frame["problem"]], dtype=pl.Float64)
    return frame.with_columns(pl.col("regret") / (unit * frame["round"].cast(pl.Float64).log()))


def compute_standings(results: Results) -> dict[str, list[Standing]]:
    """Order the policies on each problem that was played; what was measured beside may be missing.

    If the experiment has instances, a group of them counts as one problem.
    """
    frame, over = results.frame.filter(experiment=results.experiment.name), results.experiment.over
    rows, groups = results.rows, group_names(frame, over)
    relative = average_instances(divide_by_limits(final(frame), results.limits), over)
    nanoseconds = {key: each.nanoseconds for key, each in results.timings.items()}
    rounds_timed = {key: each.rounds for key, each in results.timings.items()}
    measured = {
        "times_limit": _by_policy(mean_intervals(relative)),
        "games": _by_policy(mean_intervals(final(rows), "games")),
        "bottom_tenth": _over_groups(results.bottoms, groups, fmean),
        "nanoseconds": _over_groups(nanoseconds, groups, fmean),
        "rounds_timed": _over_groups(rounds_timed, groups, sum),
    }
    tails = tail_quantiles(rows)
    names = [posed.problem.name for posed in results.experiment.problems]
    shown = dict.fromkeys(groups[name] for name in names if name in groups)
    return {name: _on(name, rows, measured, tails) for name in shown}


def _on(
    problem: str,
    frame: pl.DataFrame,
    measured: Mapping[str, Mapping[tuple[str, str], Any]],
    tails: pl.DataFrame,
) -> list[Standing]:
    rows = []
    spread = tails.filter(problem=problem).select("policy", *QUANTILES, "max").to_dicts()
    quantiles = {each.pop("policy"): each for each in spread}
    for row in ranking(frame, problem).to_dicts():
        policy = row["policy"]
        row |= {name: tuple(row[name]) for name in ("unresolved", "reasons")}
        beside: dict[str, Any] = {
            name: values.get((problem, policy)) for name, values in measured.items()
        }
        rows.append(Standing(problem=problem, **beside, **quantiles[policy], **row))
    return rows


def _over_groups(
    values: Mapping[tuple[str, str], Any],
    groups: Mapping[str, str],
    combine: Callable[[list[Any]], Any],
) -> dict[tuple[str, str], Any]:
    """Combine the values of a policy over the problems of each group."""
    members: dict[tuple[str, str], list[Any]] = {}
    for (problem, policy), value in values.items():
        members.setdefault((groups.get(problem, problem), policy), []).append(value)
    return {key: combine(some) for key, some in members.items()}


def _by_policy(means: pl.DataFrame) -> dict[tuple[str, str], float]:
    rows = means.select("problem", "policy", "estimate").iter_rows()
    return {(problem, policy): estimate for problem, policy, estimate in rows}


def ties(rows: Sequence[Standing]) -> dict[str, str]:
    """Return, for each policy, the policies below it without a shown difference from it.

    Neighbours in the order of the table are named by the first and the last of them; others with
    the reason.
    """
    places = {row.policy: place for place, row in enumerate(rows)}
    said = {}
    for place, row in enumerate(rows):
        why = {places[o]: each for o, each in zip(row.unresolved, row.reasons, strict=True)}
        after = sorted(other for other in why if other > place)
        if after:
            said[row.policy] = ", ".join(_named(run, rows, why) for run in _runs(after))
    return said


def _runs(places: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _named(run: Sequence[int], rows: Sequence[Standing], why: Mapping[int, str]) -> str:
    names = [rows[place].policy for place in run]
    if len(names) >= _MIN_RUN:
        return f"{names[0]} … {names[-1]}"
    return ", ".join(f"{name} ({why[place]})" for place, name in zip(run, names, strict=True))


def standings_html(problem: str, experiment: Experiment, rows: Sequence[Standing]) -> str:
    """Return the standings on a problem as a notebook shows them."""
    size = f"{experiment.replications} replications of {experiment.rounds:,} rounds"
    cells = [
        (row.rank, row.policy, f"{row.estimate:,.1f}", interval_text(row.low, row.high), row.note)
        for row in rows
    ]
    return html_table(
        f"{problem}\n{size}", ("rank", "policy", "mean regret", "95% interval", "note"), cells
    )


def interval_text(low: float | None, high: float | None) -> str:
    """Return an interval in a table; a dash where there is none."""
    return "–" if low is None else f"{low:,.1f} to {high:,.1f}"


def number_text(value: float | None, digits: int = 1) -> str:
    """Return a number in a table; a dash where there is none."""
    return "–" if value is None else f"{value:,.{digits}f}"
