"""Race: an experiment that is described on the command line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pairup.errors import ExperimentError, PolicyError
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.experiment_file import load_experiment
from pairup.experiments.families import PosedProblem, sweep_problems
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.toml_table import Table, parse_toml
from pairup.policies.contract import check_fit
from pairup.policies.registry import import_policy, make_policy, policy_names

_MAX_PLAYERS_WITH_LIMIT = 24  # beyond, the limit takes longer to compute than a race should
_POLICIES = ("sam", "unimodal:compare=matchings", "unimodal")
_ROUNDS = 100_000
_PROBLEM = "around:mean=0.5,pairs=4,gap=0.1"
_PLACE = re.compile(r"(?P<module>[\w.]+):(?P<path>[^\W\d][\w.]*)(?::(?P<options>.*))?")


@dataclass(frozen=True)
class Race:
    """An experiment, and why some policies cannot play it, by their labels."""

    experiment: Experiment
    left_out: Mapping[str, str]


def build_race(
    policies: Sequence[str] = (),
    problem: str = "",
    rounds: int | None = None,
    replications: int = 20,
    seed: int = 0,
    everyone: bool = False,
) -> Race:
    """Build the experiment of a race.

    Policies are written as ``name`` or ``name:option=value,...`` (by default those of the paper and
    their rival), those of your own as ``module:Class`` or ``module:Class:option=value,...``, whose
    module may be a file in the current folder; the problem as ``family:parameter=value,...``.
    `everyone` races every policy: the shipped experiment ``field``, on its problems or on
    `problem`, and for its rounds by default; on a problem of two sides ``field-two-sided``.

    Examples
    --------
    >>> race = build_race(["sam", "unimodal:index=ucb"], rounds=1_000).experiment
    >>> [entry.label for entry in race.entries], race.problems[0].problem.name
    (['sam', 'unimodal:index=ucb'], 'around(0.5, 4, 0.1)')
    >>> field = build_race(everyone=True)
    >>> [posed.problem.name for posed in field.experiment.problems], field.left_out
    (['from_zero(4, 0.1)', 'around(0.5, 4, 0.1)'], {})
    """
    if not everyone:
        experiment = _named_race(policies or _POLICIES, problem or _PROBLEM)
        experiment = dataclasses.replace(experiment, seed=seed)
        return Race(experiment.scaled(_ROUNDS if rounds is None else rounds, replications), {})
    if policies:
        raise ExperimentError(f"--all races every policy: leave it out, or {policies[0]!r}")
    posed = _one_problem(problem) if problem else None
    two_sided = posed is not None and posed.problem.sides is not None
    field = load_experiment("field-two-sided" if two_sided else "field")
    field = dataclasses.replace(field.scaled(rounds, replications), seed=seed)
    if posed is not None:
        field = _on_one_problem(field, posed)
    left_out = _left_out(field)
    able = tuple(entry for entry in field.entries if entry.label not in left_out)
    return Race(dataclasses.replace(field, entries=able), left_out)


def _named_race(policies: Sequence[str], problem: str) -> Experiment:
    posed = _one_problem(problem)
    return Experiment(
        name="race",
        title=f"Race on {posed.problem.name}",
        about="Policies named on the command line, on common random numbers.",
        rounds=_ROUNDS,
        replications=1,
        seed=0,
        problems=(posed,),
        entries=tuple(_entry(text) for text in policies),
        figures=(_curves(posed),),
    )


def _entry(text: str) -> Entry:
    name, options = parse_policy(text)
    return Entry(text, make_policy(import_policy(name, Path.cwd()), **options))


def _on_one_problem(field: Experiment, posed: PosedProblem) -> Experiment:
    figures = [_curves(posed)]
    if _has_limit(posed) and posed.problem.sides is None:  # with ties it has none to divide by
        figures.append(
            FigureSpec("limit", "limit", "Regret in multiples of the limit", y_scale="log")
        )
    return dataclasses.replace(
        field,
        title=f"The whole field on {posed.problem.name}",
        about="Every policy, on common random numbers.",
        problems=(posed,),
        figures=tuple(figures),
    )


def _one_problem(text: str) -> PosedProblem:
    family, parameters = parse_spec(text)
    posed = sweep_problems([Table(f"problem {text!r}", {"family": family} | parameters)])
    if len(posed) != 1:
        raise ExperimentError(f"a race has one problem, {text!r} lists {len(posed)} of them")
    return posed[0]


def _curves(posed: PosedProblem) -> FigureSpec:
    return FigureSpec(
        "curves", "race", "Regret over time", x_scale="log", y_scale="log", limit=_has_limit(posed)
    )


def _has_limit(posed: PosedProblem) -> bool:
    problem = posed.problem
    known = problem.has_player_rates and (problem.sides is not None or problem.graph is None)
    return known and problem.players <= _MAX_PLAYERS_WITH_LIMIT


def _left_out(experiment: Experiment) -> dict[str, str]:
    """Return why policies cannot play a problem, by label; some need few players or all couples."""
    left_out = {}
    for entry in experiment.entries:
        for posed in experiment.problems:
            try:
                check_fit(entry.policy, posed.problem)
            except PolicyError as error:
                left_out[entry.label] = str(error)
    return left_out


def rates_spec(text: str) -> str:
    """Write acceptance rates, or rows of the rates of couples, as a problem.

    Examples
    --------
    >>> rates_spec("0.9,0.8,0.3")
    'rates:rates=[0.9,0.8,0.3]'
    >>> rates_spec("0,.5; .5,0")
    'matrix:couple_rates=[[0,0.5],[0.5,0]]'
    """
    text = _readable(text)
    if ";" not in text:
        return f"rates:rates=[{text}]"
    rows = ",".join(f"[{row.strip()}]" for row in text.split(";") if row.strip())
    return f"matrix:couple_rates=[{rows}]"


def sides_spec(rows: str, columns: str) -> str:
    """Write acceptance rates of rows and columns as a problem.

    Examples
    --------
    >>> sides_spec(".3,.2", "1,.6")
    'two_sided:rows=[0.3,0.2],columns=[1,0.6]'
    """
    if not (rows and columns):
        given, missing = ("rows", "columns") if rows else ("columns", "rows")
        raise ExperimentError(f"two sides have rows and columns, got --{given}: add --{missing}")
    return f"two_sided:rows=[{_readable(rows)}],columns=[{_readable(columns)}]"


def _readable(rates: str) -> str:
    return re.sub(r"(?<![\d.])\.(?=\d)", "0.", rates)  # TOML does not read .5


def parse_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Split the text of a policy into its name, which may be ``module:Class``, and its options.

    Examples
    --------
    >>> parse_policy("mine:SortedMeans:bonus=2")
    ('mine:SortedMeans', {'bonus': 2})
    >>> parse_policy("unimodal:index=ucb")
    ('unimodal', {'index': 'ucb'})
    """
    place = _PLACE.fullmatch(text.strip())
    if place is None or place["module"] in policy_names():
        return parse_spec(text)
    _, options = parse_spec(f"policy:{place['options'] or ''}")
    return f"{place['module']}:{place['path']}", options


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:option=value,...`` into the name and the options.

    Examples
    --------
    >>> parse_spec("unimodal:compare=matchings,index=ucb")
    ('unimodal', {'compare': 'matchings', 'index': 'ucb'})
    >>> parse_spec("rates:rates=[0.9, 0.8]")
    ('rates', {'rates': [0.9, 0.8]})
    """
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in _split(rest):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise ExperimentError(
                f"{part!r} in {text!r} must be option=value: try unimodal:index=ucb"
            )
        options[key.strip()] = _value(value.strip())
    return name.strip(), options


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts = [""]
    depth = 0
    for letter in text:
        if letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _value(text: str) -> Any:
    try:
        return parse_toml(f"value = {text}")["value"]
    except ExperimentError:
        return text  # a word, like ucb, needs no quotes
