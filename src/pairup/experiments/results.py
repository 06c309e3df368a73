"""Results: the rows of an experiment, and the tables and figures that are made from them.

There is a row for each policy, problem, replication and checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from pairup.checks import is_integer, is_number
from pairup.errors import ResultsError
from pairup.experiments.experiment import Experiment

if TYPE_CHECKING:
    import polars as pl  # imported late here and below: it is a third of pairup's import time
    from matplotlib.axes import Axes

    from pairup.analysis.standings import Standing
    from pairup.experiments.timings import Timings

SCHEMA_VERSION = 2
_PARAMETER = "param_"  # begins the columns of the problems' parameters
_OPTION = "option_"  # begins the columns of swept options
MEASURED = ("replication", "round", "regret", "games")  # the columns of a work unit

Bottoms = Mapping[tuple[str, str], float]  # shares, by the problem's name and the policy's label
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


@dataclass(frozen=True)
class RunSummary:
    """What a run did: some work units were computed by it, others were reused; rounds played."""

    units: int
    computed: int
    reused: int
    seconds: float
    rounds: int


@dataclass(frozen=True, eq=False)
class Results:
    """An experiment and what was measured: `compare` and `load_results` return it.

    In a notebook it is shown as a table for each problem.

    Attributes
    ----------
    experiment : Experiment
        What was run.
    frame : polars.DataFrame
        A row for each policy, problem, replication and checkpoint, sorted in this order; policies
        and problems come as the experiment lists them. ``frame.to_pandas()`` needs pandas and
        pyarrow. See `docs/reference/results.md` for the columns.
    horizon_checks : tuple of HorizonCheck
        One for each policy that the experiment lists in `horizon_check`, unless the run has too few
        rounds.
    timings : mapping
        The time of a round by problem and policy, where it was measured.
    bottoms : mapping
        What is left to the bottom tenth of the players, likewise.
    run : RunSummary or None
        What the run did that returned these results; None for results that were loaded.

    Examples
    --------
    >>> from pairup import Oracle, Problem, Uniform, compare
    >>> problem = Problem([0.9, 0.8, 0.3, 0.1], "mine")
    >>> results = compare(problem, [Uniform(), Oracle()], rounds=300, replications=5)
    >>> results.summary().select("rank", "policy").rows()
    [(1, 'Oracle()'), (2, 'Uniform()')]
    """

    experiment: Experiment
    frame: pl.DataFrame
    horizon_checks: tuple[HorizonCheck, ...] = ()
    timings: Timings = field(default_factory=dict)
    bottoms: Bottoms = field(default_factory=dict)
    run: RunSummary | None = None

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows, averaged over the instances of the experiment where it has some."""
        from pairup.analysis.instances import average_instances

        return average_instances(self._own_rows, self.experiment.over)

    @cached_property
    def limits(self) -> Mapping[str, float]:
        """The limit of each problem for which a figure of the experiment asks for it."""
        from pairup.analysis.standings import compute_limits

        return compute_limits(self.experiment)

    @cached_property
    def mean_limits(self) -> Mapping[str, float]:
        """The limits by the names in the standings: means over the instances of a group."""
        from pairup.analysis.instances import average_values, group_names

        return average_values(self.limits, group_names(self._own_rows, self.experiment.over))

    @cached_property
    def standings(self) -> Mapping[str, list[Standing]]:
        """By the names of the problems, or of groups of instances: the policies in order."""
        from pairup.analysis.standings import compute_standings

        return compute_standings(self)

    @property
    def _own_rows(self) -> pl.DataFrame:
        return self.frame.filter(experiment=self.experiment.name)

    def summary(self) -> pl.DataFrame:
        """Return the regret of each policy on each problem after the last round, the best first.

        Returns
        -------
        polars.DataFrame
            The columns of `pairup.analysis.Standing`: among them ``rank``, ``estimate`` (the mean),
            its 95% interval ``low`` and ``high``, and the mean ``difference`` from the best policy,
            paired by replication, with its interval and ``adjusted``, the p-value by Holm's method
            for all pairs of policies on this problem. `pairup.analysis.paired_differences` returns
            all pairs.
        """
        from pairup.analysis.standings import standings_frame

        return standings_frame(row for table in self.standings.values() for row in table)

    def plot(
        self,
        kind: Literal["regret", "tail", "ratio"] = "regret",
        problem: str | None = None,
        x: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the results, with bands of 95%.

        Parameters
        ----------
        kind
            "regret": on one problem, mean regret against the round; on several, regret after the
            last round against `x`, or as bars where they do not differ in one number. "tail": the
            share of replications that lost at least x against x, on one problem. "ratio": regret
            after the last round in multiples of the limit (`pairup.bounds.lower`), on all problems
            that have one.
        problem
            Name of the problem to draw; all by default.
        x
            Parameter along the axis, for example "mean", "players" or "pairs", or an option that is
            swept; by default the parameter in which the problems differ.
        ax
            Axes to draw on; by default those of a new figure. In a notebook it is shown as the last
            value of a cell.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, to add to; those of a new figure can be saved:
            ``results.plot().savefig("regret.png")``.

        Raises
        ------
        ResultsError
            There is no such problem or parameter, or several problems have one value of it.
        """
        from pairup.reporting.result_plots import plot_results

        return plot_results(self, kind, problem, x, ax)

    def __repr__(self) -> str:
        size = f"{self.experiment.replications} x {self.experiment.rounds:,} rounds"
        policies = ", ".join(entry.label for entry in self.experiment.entries)
        problems = ", ".join(posed.problem.name for posed in self.experiment.problems)
        return f"Results({policies} on {problems}: {size})"

    def _repr_html_(self) -> str:
        from pairup.analysis.standings import standings_html

        return "\n".join(
            standings_html(name, self.experiment, rows) for name, rows in self.standings.items()
        )


def schema(experiment: Experiment) -> dict[str, Any]:
    """Return the columns of the results of an experiment with their polars types, in order.

    Each parameter that one of its problems has is a column, and so is each option that is swept.
    """
    import polars as pl

    parameters: dict[str, list[Any]] = {}
    for posed in experiment.problems:
        for key, value in posed.parameters.items():
            parameters.setdefault(key, []).append(value)
    # In an order of their own, as JSON keeps none; sizes first, for the sake of names.
    keys = sorted(parameters, key=lambda key: (key not in ("players", "pairs"), key))
    return (
        dict.fromkeys(("experiment", "policy", "options"), pl.String)
        | {option_column(key): _column_type(each) for key, each in experiment.swept.items()}
        | dict.fromkeys(("problem", "family"), pl.String)
        | dict.fromkeys(("players", "pairs"), pl.Int64)
        | {parameter_column(key): _column_type(parameters[key]) for key in keys}
        | dict.fromkeys(("seed", "replication", "round"), pl.Int64)
        | {"regret": pl.Float64, "games": pl.Int64}
    )


def parameter_column(parameter: str) -> str:
    """Return the name of the column that holds a parameter of the problems."""
    return f"{_PARAMETER}{parameter}"


def parameters_of(frame: pl.DataFrame) -> list[str]:
    """List the parameters of the problems, as an experiment file calls them."""
    return [name.removeprefix(_PARAMETER) for name in frame.columns if name.startswith(_PARAMETER)]


def option_column(option: str) -> str:
    """Return the name of the column that holds an option that is swept."""
    return f"{_OPTION}{option}"


def options_of(frame: pl.DataFrame) -> list[str]:
    """List the options that are swept, as an experiment file calls them."""
    return [name.removeprefix(_OPTION) for name in frame.columns if name.startswith(_OPTION)]


def _column_type(values: Sequence[Any]) -> Any:
    import polars as pl

    if all(map(is_integer, values)):
        return pl.Int64
    return pl.Float64 if all(map(is_number, values)) else pl.String


def _column_value(value: Any, kind: Any) -> Any:
    """Return a parameter or an option as it stands in its column: a list as text, [2, 5]."""
    import polars as pl

    return value if value is None or kind != pl.String else _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.0f}" if is_number(value) and float(value).is_integer() else str(value)


def join_results(
    experiment: Experiment,
    manifest: Mapping[str, Any],
    read_unit: ReadUnit,
    partial: bool = False,
) -> Results:
    """Join the work units that a manifest lists, in its order; `partial` leaves out missing ones.

    The manifest is that of the experiment: `pairup.experiments.work_units.make_manifest`.
    """
    import polars as pl

    read = [(unit, read_unit(unit["key"])) for unit in manifest["units"]]
    found = [(unit, rows) for unit, rows in read if rows is not None]
    if len(found) < len(read) and not partial:
        raise ResultsError(
            f"{len(found)} of {len(read)} work units are finished: run the experiment again, it "
            "continues where it stopped, or load what is there with partial=True"
        )
    columns = schema(experiment)
    frames = [
        rows.with_columns(
            pl.lit(value, columns[name]).alias(name)
            for name, value in _labels(experiment, unit, columns).items()
        ).select(list(columns))
        for unit, rows in found
    ]
    frame = pl.concat([pl.DataFrame(schema=columns), *frames], rechunk=True)
    checks = (
        _check_horizon(experiment, unit, rows, frame)
        for unit in manifest["horizon_units"]
        if (rows := read_unit(unit["key"])) is not None
    )
    return Results(experiment, frame, tuple(checks))


def _labels(
    experiment: Experiment, unit: Mapping[str, Any], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the columns that are the same in all rows of a work unit."""
    entry, posed = experiment.entries[unit["policy"]], experiment.problems[unit["problem"]]
    varied = {parameter_column(key): value for key, value in posed.parameters.items()}
    varied |= {option_column(key): value for key, value in entry.swept_options.items()}
    return {
        "experiment": experiment.name,
        "policy": entry.label,
        "options": entry.options,
        "problem": posed.problem.name,
        "family": posed.family,
        "players": posed.problem.players,
        "pairs": posed.problem.pairs,
        "seed": experiment.seed,
    } | {
        name: _column_value(varied.get(name), kind)
        for name, kind in columns.items()
        if name.startswith((_PARAMETER, _OPTION))
    }


def _check_horizon(
    experiment: Experiment, unit: Mapping[str, Any], short: pl.DataFrame, frame: pl.DataFrame
) -> HorizonCheck:
    import polars as pl

    policy = experiment.entries[unit["policy"]].label
    problem, last = experiment.problems[unit["problem"]].problem.name, int(max(short["round"]))
    long = frame.filter(
        pl.col("policy") == policy,
        pl.col("problem") == problem,
        pl.col("round") <= last,
        pl.col("replication").is_in(short["replication"].unique().implode()),
    )
    same = long.select(MEASURED).equals(short.select(MEASURED))
    return HorizonCheck(policy, problem, last, same)
