"""Results: the rows of an experiment, one for each policy, problem, replication and checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pairup.checks import is_integer, is_number
from pairup.errors import ResultsError
from pairup.experiments.experiment import Experiment, canonical_json
from pairup.problem import Problem

if TYPE_CHECKING:
    import polars as pl  # imported late here and below: it is a third of pairup's import time

    from pairup.simulation.playthrough import Measurements

SCHEMA_VERSION = 2
_PARAMETER = "param_"  # begins the columns of the problems' parameters
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
    """An experiment with its rows, as `pairup.load_results` returns them.

    There is a horizon check for each policy that the experiment lists in `horizon_check`, unless
    the run has too few rounds.
    """

    experiment: Experiment
    frame: pl.DataFrame
    horizon_checks: tuple[HorizonCheck, ...] = ()


def schema(problems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns of the results on some problems with their polars types, in order.

    Problems are as in `Experiment.definition`: each parameter that one of them has is a column.
    """
    import polars as pl

    # In an order of their own, as JSON keeps none; sizes first, for the sake of names.
    keys = sorted(
        {key for posed in problems for key in posed["parameters"]},
        key=lambda key: (key not in ("players", "pairs"), key),
    )
    return (
        dict.fromkeys(("experiment", "policy", "options", "problem", "family"), pl.String)
        | dict.fromkeys(("players", "pairs"), pl.Int64)
        | {parameter_column(key): _parameter_type(key, problems) for key in keys}
        | dict.fromkeys(("seed", "replication", "round"), pl.Int64)
        | {"regret": pl.Float64, "games": pl.Int64}
    )


def parameter_column(parameter: str) -> str:
    """Return the name of the column that holds a parameter of the problems."""
    return f"{_PARAMETER}{parameter}"


def parameters_of(frame: pl.DataFrame) -> list[str]:
    """List the parameters of the problems, as an experiment file calls them."""
    return [name.removeprefix(_PARAMETER) for name in frame.columns if name.startswith(_PARAMETER)]


def _parameter_type(key: str, problems: Sequence[Mapping[str, Any]]) -> Any:
    import polars as pl

    values = [posed["parameters"][key] for posed in problems if key in posed["parameters"]]
    if all(map(is_integer, values)):
        return pl.Int64
    return pl.Float64 if all(map(is_number, values)) else pl.String


def _parameter_value(value: Any, kind: Any) -> Any:
    """Return a parameter as it stands in its column: a list as text, [2, 5]."""
    import polars as pl

    return value if value is None or kind != pl.String else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.0f}" if is_number(value) and float(value).is_integer() else str(value)


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
    columns = schema(manifest["experiment"]["problems"])
    frames = [
        rows.with_columns(
            pl.lit(value, columns[name]).alias(name)
            for name, value in _labels(manifest["experiment"], unit, columns).items()
        ).select(list(columns))
        for unit, rows in found
    ]
    return pl.concat([pl.DataFrame(schema=columns), *frames], rechunk=True)


def _labels(
    experiment: Mapping[str, Any], unit: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns that are the same in all rows of a work unit."""
    policy = experiment["policies"][unit["policy"]]
    posed = experiment["problems"][unit["problem"]]
    problem = Problem.from_definition(posed)
    return {
        "experiment": experiment["name"],
        "policy": policy["label"],
        "options": canonical_json({key: policy[key] for key in policy if key != "label"}),
        "problem": posed["name"],
        "family": posed["family"],
        "players": problem.players,
        "pairs": problem.pairs,
        "seed": experiment["seed"],
    } | {
        name: _parameter_value(posed["parameters"].get(name.removeprefix(_PARAMETER)), kind)
        for name, kind in columns.items()
        if name.startswith(_PARAMETER)
    }


def _check_horizon(
    experiment: Mapping[str, Any], unit: Mapping[str, Any], short: pl.DataFrame, frame: pl.DataFrame
) -> HorizonCheck:
    import polars as pl

    policy = experiment["policies"][unit["policy"]]["label"]
    problem, last = experiment["problems"][unit["problem"]]["name"], int(max(short["round"]))
    long = frame.filter(
        pl.col("policy") == policy,
        pl.col("problem") == problem,
        pl.col("round") <= last,
        pl.col("replication").is_in(short["replication"].unique().implode()),
    )
    same = long.select(MEASURED).equals(short.select(MEASURED))
    return HorizonCheck(policy, problem, last, same)
