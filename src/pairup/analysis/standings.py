"""Standings: who loses least on each problem, how far from the limit, and how fast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import polars as pl

from pairup.analysis.comparisons import ranking
from pairup.analysis.instances import average_instances, group_names
from pairup.analysis.limits import divide_by_limits
from pairup.analysis.means import final, mean_intervals
from pairup.analysis.tails import QUANTILES, tail_quantiles
from pairup.experiments.results import Results
from pairup.experiments.timings import Timing, Timings

TIMING_NOTE = (
    "ns per round: one replication on one thread, after a warm-up, on the machine that ran the "
    "race; from its first round on, for at most about 0.3 s per policy, so that a slow policy is "
    "timed over its early rounds alone, which may take longer than later ones."
)
_MIN_RUN = 3  # neighbours in a table that are named by the first and the last of them


@dataclass(frozen=True)
class Standing:
    """A policy on a problem, or over its instances: rank, mean regret, games, time per round.

    The rank is 1 plus the number of policies shown to be better. `estimate` is the mean regret
    after the last round, `low` and `high` the ends of its 95% interval (None for one replication),
    `times_limit` the same in multiples of the limit c ln T; `q50` to `max` are those of
    `tail_quantiles`. What was not asked for or not measured is None. `unresolved` are the policies
    from which no difference is shown, in words in `note`.
    """

    problem: str
    policy: str
    rank: int
    estimate: float
    low: float | None
    high: float | None
    times_limit: float | None
    nanoseconds: float | None
    rounds_timed: int | None
    games: float
    q50: float
    q90: float
    q95: float
    q99: float
    q999: float
    max: float
    unresolved: tuple[str, ...]
    note: str


def compute_standings(
    results: Results, limits: Mapping[str, float], timings: Timings
) -> dict[str, list[Standing]]:
    """Order the policies on each problem that was played; limits and timings may be empty.

    If the experiment has instances, a group of them counts as one problem.
    """
    frame, over = results.frame.filter(experiment=results.experiment.name), results.experiment.over
    rows, groups = average_instances(frame, over), group_names(frame, over)
    relative = average_instances(divide_by_limits(final(frame), limits), over)
    times = _by_policy(mean_intervals(relative))
    games = _by_policy(mean_intervals(final(rows), "games"))
    tails = tail_quantiles(rows)
    timings = _average_timings(timings, groups)
    names = [posed.problem.name for posed in results.experiment.problems]
    shown = dict.fromkeys(groups[name] for name in names if name in groups)
    return {name: _on(name, rows, times, games, tails, timings) for name in shown}


def _on(
    problem: str,
    frame: pl.DataFrame,
    times: dict[tuple[str, str], float],
    games: dict[tuple[str, str], float],
    tails: pl.DataFrame,
    timings: Timings,
) -> list[Standing]:
    rows = []
    spread = tails.filter(problem=problem).select("policy", *QUANTILES, "max").to_dicts()
    quantiles = {each.pop("policy"): each for each in spread}
    for row in ranking(frame, problem).to_dicts():
        key = problem, row["policy"]
        timing = timings.get(key)
        row["unresolved"] = tuple(row["unresolved"])
        rows.append(
            Standing(
                problem=problem,
                times_limit=times.get(key),
                nanoseconds=None if timing is None else timing.nanoseconds,
                rounds_timed=None if timing is None else timing.rounds,
                games=games[key],
                **quantiles[row["policy"]],
                **row,
            )
        )
    return rows


def _average_timings(timings: Timings, groups: Mapping[str, str]) -> Timings:
    """Average timings over the problems of each group."""
    members: dict[tuple[str, str], list[Timing]] = {}
    for (problem, policy), timing in timings.items():
        members.setdefault((groups.get(problem, problem), policy), []).append(timing)
    return {
        key: Timing(fmean(each.nanoseconds for each in some), sum(each.rounds for each in some))
        for key, some in members.items()
    }


def _by_policy(means: pl.DataFrame) -> dict[tuple[str, str], float]:
    rows = means.select("problem", "policy", "estimate").iter_rows()
    return {(problem, policy): estimate for problem, policy, estimate in rows}


def ties(rows: Sequence[Standing]) -> dict[str, str]:
    """Return, for each policy, the policies below it without a shown difference from it.

    Neighbours in the order of the table are named by the first and the last of them.
    """
    places = {row.policy: place for place, row in enumerate(rows)}
    said = {}
    for place, row in enumerate(rows):
        after = sorted(places[other] for other in row.unresolved if places[other] > place)
        if after:
            said[row.policy] = ", ".join(_named(run, rows) for run in _runs(after))
    return said


def _runs(places: Iterable[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def _named(run: Sequence[int], rows: Sequence[Standing]) -> str:
    names = [rows[place].policy for place in run]
    return f"{names[0]} … {names[-1]}" if len(names) >= _MIN_RUN else ", ".join(names)
