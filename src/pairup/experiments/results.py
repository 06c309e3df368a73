"""Results: the rows of an experiment, one for each policy, problem, replication and checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairup.errors import ResultsError
from pairup.experiments.experiment import Experiment, canonical_json
from pairup.problem import Problem

if TYPE_CHECKING:
    import polars as pl  # imported late here and below: it is a third of pairup's import time

    from pairup.simulation.playthrough import Measurements

SCHEMA_VERSION = 2
MEASURED = ("replication", "round", "regret", "games")  # the columns of a work unit

ReadUnit = Callable[[str], "pl.DataFrame | None"]  # gives rows by a key, None where missing


@dataclass(frozen=True)
class HorizonCheck:
    """Whether the first rounds of a long run equal, bit for bit, a run that ends with them.

    They do where a policy does not know the horizon.
    """

    policy: str
    problem: str
    rounds: int
    same: bool


@dataclass(frozen=True, eq=False)
class Results:
    """An experiment with what came out of it: its rows, as `pairup.load_results` gives them.

    There is a horizon check for each policy that the experiment lists in `horizon_check`, but none
    for a run of few rounds.
    """

    experiment: Experiment
    frame: pl.DataFrame
    horizon_checks: tuple[HorizonCheck, ...] = ()


def schema() -> dict[str, Any]:
    """Return the columns of the results with their polars types, in order."""
    import polars as pl

    return (
        dict.fromkeys(("experiment", "policy", "options", "problem", "family"), pl.String)
        | dict.fromkeys(("players", "pairs"), pl.Int64)
        | dict.fromkeys(("gap", "mean"), pl.Float64)
        | dict.fromkeys(("seed", "replication", "round"), pl.Int64)
        | {"regret": pl.Float64, "games": pl.Int64}
    )


def unit_rows(
    replications: range, checkpoints: Iterable[int], measured: Measurements
) -> pl.DataFrame:
    """Arrange the measurements of a work unit, each of shape (replications, checkpoints)."""
    import polars as pl

    regret, games = measured
    rounds = np.fromiter(checkpoints, np.int64)
    return pl.DataFrame(
        {
            "replication": np.repeat(np.array(replications, np.int64), len(rounds)),
            "round": np.tile(rounds, len(replications)),
            "regret": regret.ravel(),
            "games": games.ravel(),
        }
    )


def join_results(
    experiment: Experiment, manifest: Mapping[str, Any], read_unit: ReadUnit
) -> Results:
    """Join all work units of a finished experiment, as its manifest lists them."""
    frame = join_units(manifest, read_unit)
    checks = (
        _check_horizon(manifest["experiment"], unit, rows, frame)
        for unit in manifest["horizon_units"]
        if (rows := read_unit(unit["key"])) is not None
    )
    return Results(experiment, frame, tuple(checks))


def join_units(
    manifest: Mapping[str, Any], read_unit: ReadUnit, partial: bool = False
) -> pl.DataFrame:
    """Join the units that a manifest lists, in its order; `partial` leaves out missing ones."""
    import polars as pl

    read = [(unit, read_unit(unit["key"])) for unit in manifest["units"]]
    found = [(unit, rows) for unit, rows in read if rows is not None]
    if len(found) < len(read) and not partial:
        raise ResultsError(
            f"{len(found)} of {len(read)} work units are finished: run the experiment again, it "
            "continues where it stopped, or load what is there with partial=True"
        )
    columns = schema()
    frames = [
        rows.with_columns(
            pl.lit(value, columns[name]).alias(name)
            for name, value in _labels(manifest["experiment"], unit).items()
        ).select(list(columns))
        for unit, rows in found
    ]
    return pl.concat([pl.DataFrame(schema=columns), *frames], rechunk=True)


def _labels(experiment: Mapping[str, Any], unit: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that are the same in all rows of a work unit."""
    policy = experiment["policies"][unit["policy"]]
    posed = experiment["problems"][unit["problem"]]
    players = Problem.from_definition(posed).players
    return {
        "experiment": experiment["name"],
        "policy": policy["label"],
        "options": canonical_json({key: policy[key] for key in policy if key != "label"}),
        "problem": posed["name"],
        "family": posed["family"],
        "players": players,
        "pairs": players // 2,
        "gap": posed["parameters"].get("gap"),
        "mean": posed["parameters"].get("mean"),
        "seed": experiment["seed"],
    }


def _check_horizon(
    experiment: Mapping[str, Any], unit: Mapping[str, Any], short: pl.DataFrame, frame: pl.DataFrame
) -> HorizonCheck:
    import polars as pl

    labels = _labels(experiment, unit)
    policy, problem, last = labels["policy"], labels["problem"], int(max(short["round"]))
    long = frame.filter(
        pl.col("policy") == policy,
        pl.col("problem") == problem,
        pl.col("round") <= last,
        pl.col("replication").is_in(short["replication"].unique().implode()),
    )
    same = long.select(MEASURED).equals(short.select(MEASURED))
    return HorizonCheck(policy, problem, last, same)
