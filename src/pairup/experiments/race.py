"""A race: an experiment posed on the command line."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Sequence
from typing import Any

from pairup.errors import ExperimentError, PolicyError
from pairup.experiments.families import PosedProblem, sweep_problems
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.spec import Entry, Experiment, load_experiment
from pairup.experiments.toml_table import Table
from pairup.policies.base import get_policy

_MOST_FOR_LIMIT = 24  # players: beyond, the limit takes longer to compute than a race should


def race_of(
    policies: Sequence[str], problem: str, rounds: int, replications: int, seed: int
) -> Experiment:
    """Make an experiment of policies and a problem written as ``name:option=value,...``.

    Examples
    --------
    >>> race = race_of(["sam", "unimodal:index=ucb"], "around:mean=0.5,pairs=4,gap=0.1", 1000, 5, 0)
    >>> [entry.label for entry in race.entries]
    ['sam', 'unimodal:index=ucb']
    >>> race.problems[0].problem.name
    'around(0.5, 4, 0.1)'
    """
    posed = _one_problem(problem)
    entries = []
    for text in policies:
        name, options = parse_spec(text)
        entries.append(Entry(text, get_policy(name, **options)))
    return Experiment(
        name="race",
        title=f"Race on {posed.problem.name}",
        about="Policies named on the command line, on common random numbers.",
        rounds=rounds,
        replications=replications,
        seed=seed,
        problems=(posed,),
        entries=tuple(entries),
        figures=(_curves(posed),),
    )


def field_race(
    problem: str, rounds: int | None, replications: int, seed: int
) -> tuple[Experiment, dict[str, str]]:
    """Make the race of the shipped experiment ``field``, on its problems or on another.

    Parameters
    ----------
    problem
        Written as in `race_of`; empty for those of the file.
    rounds
        None for those of the file.
    replications, seed
        As in an experiment.

    Returns
    -------
    Experiment
        Of the policies that can play.
    dict of str to str
        Why not, by the labels of the others.

    Examples
    --------
    >>> field, left_out = field_race("", rounds=1_000, replications=2, seed=0)
    >>> [posed.problem.name for posed in field.problems], left_out
    (['from_zero(4, 0.1)', 'around(0.5, 4, 0.1)'], {})
    """
    field = load_experiment("field").scaled(rounds, replications)
    field = dataclasses.replace(field, seed=seed)
    if problem:
        posed = _one_problem(problem)
        bars = FigureSpec("limit", "limit", "Regret in multiples of the limit", y_scale="log")
        field = dataclasses.replace(
            field,
            title=f"The whole field on {posed.problem.name}",
            about="Every policy, on common random numbers.",
            problems=(posed,),
            figures=(_curves(posed), bars)[: 1 + _has_limit(posed)],
        )
    left_out = _left_out(field)
    able = tuple(entry for entry in field.entries if entry.label not in left_out)
    return dataclasses.replace(field, entries=able), left_out


def _one_problem(text: str) -> PosedProblem:
    family, parameters = parse_spec(text)
    posed = sweep_problems([Table(f"problem {text!r}", {"family": family} | parameters)])
    if len(posed) != 1:
        raise ExperimentError(f"a race has one problem, {text!r} lists {len(posed)} of them")
    return posed[0]


def _curves(posed: PosedProblem) -> FigureSpec:
    return FigureSpec(
        "curves",
        "race",
        "Regret over time",
        x_scale="log",
        y_scale="log",
        limit=_has_limit(posed),
    )


def _has_limit(posed: PosedProblem) -> bool:
    return posed.problem.players <= _MOST_FOR_LIMIT


def _left_out(experiment: Experiment) -> dict[str, str]:
    """Ask each policy whether it can match all players; one may be made for few only."""
    left_out = {}
    for entry in experiment.entries:
        for posed in experiment.problems:
            try:
                entry.policy.check_players(posed.problem.players)
            except PolicyError as error:
                left_out[entry.label] = str(error)
    return left_out


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
    """Split at commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in parts if part.strip()]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text  # a word, like ucb, needs no quotes
