"""Standings: who loses least on each problem, how far from the limit, and at what cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from pairup.analysis.limits import in_limits, limits
from pairup.analysis.statistics import final, mean_intervals, ranking
from pairup.experiments.spec import Experiment
from pairup.experiments.timing import Timings

TIMING_NOTE = (
    "ns a round: one replication on one thread, after a warm-up, on the machine that ran the race; "
    "from its first round on for at most about 0.3 s a policy, so that a slow policy is timed "
    "over its early rounds alone, which may cost more than later ones."
)
_RUN = 3  # neighbours in a table that are named by the first and the last of them


@dataclass(frozen=True)
class Standing:
    """A policy on a problem.

    Attributes
    ----------
    problem, policy
        Their names.
    rank
        1 plus the number of policies shown to be better.
    estimate, low, high
        Regret after the last round and the ends of its 95% interval, None for one replication.
    times_limit
        The same in multiples of the limit c ln T; None where there is none or none was asked for.
    nanoseconds, rounds_timed
        What a round takes, and on how many it was measured; None where it was not.
    games
        Played, on average.
    unresolved
        The policies from which no difference is shown.
    note
        The same in words.
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
    unresolved: tuple[str, ...]
    note: str


def standings(
    experiment: Experiment, frame: pl.DataFrame, costs: Timings | None = None
) -> dict[str, list[Standing]]:
    """Order the policies on each problem that was played, the least regret first.

    Parameters
    ----------
    experiment
        What was run. The limit counts where one of its figures shows it.
    frame
        Its results.
    costs
        As `pairup.experiments.timing.measure_timings` gives them.
    """
    frame = frame.filter(experiment=experiment.name)
    last = final(frame)
    times = _by_policy(in_limits(mean_intervals(last), limits(experiment)))
    games = _by_policy(mean_intervals(last, "games"))
    played = set(last["problem"])
    names = [posed.problem.name for posed in experiment.problems if posed.problem.name in played]
    return {name: _on(name, frame, times, games, costs or {}) for name in names}


def _on(
    problem: str,
    frame: pl.DataFrame,
    times: dict[tuple[str, str], float],
    games: dict[tuple[str, str], float],
    costs: Timings,
) -> list[Standing]:
    rows = []
    for row in ranking(frame, problem).to_dicts():
        key = problem, row["policy"]
        cost = costs.get(key)
        row["unresolved"] = tuple(row["unresolved"])
        rows.append(
            Standing(
                problem=problem,
                times_limit=times.get(key),
                nanoseconds=None if cost is None else cost.nanoseconds,
                rounds_timed=None if cost is None else cost.rounds,
                games=games[key],
                **row,
            )
        )
    return rows


def _by_policy(means: pl.DataFrame) -> dict[tuple[str, str], float]:
    rows = means.select("problem", "policy", "estimate").iter_rows()
    return {(problem, policy): estimate for problem, policy, estimate in rows}


def ties(rows: Sequence[Standing]) -> dict[str, str]:
    """Name each pair without a shown difference once: by policy, those that come after it.

    Neighbours in the order of the table are named by the first and the last of them.

    Parameters
    ----------
    rows
        Of one problem, in order.
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
    return f"{names[0]} … {names[-1]}" if len(names) >= _RUN else ", ".join(names)
