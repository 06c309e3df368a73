"""A race: an experiment posed on the command line, and its result in a terminal."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from pairup.errors import ExperimentError
from pairup.experiment import Entry, Experiment, FigureSpec, Posed
from pairup.families import sweep_problems
from pairup.policies.base import get_policy
from pairup.statistics import mean_intervals, ranking
from pairup.tables import Table

_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 16  # of a curve in a terminal


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
    family, parameters = parse_spec(problem)
    posed = sweep_problems(Table(f"problem {problem!r}", {"family": family} | parameters))
    if len(posed) != 1:
        raise ExperimentError(f"a race has one problem, {problem!r} lists {len(posed)} of them")
    entries = []
    for text in policies:
        name, options = parse_spec(text)
        entries.append(Entry(text, get_policy(name, **options)))
    return Experiment(
        name="race",
        title=f"Race on {posed[0][0].name}",
        about="Policies named on the command line, on common random numbers.",
        rounds=rounds,
        replications=replications,
        seed=seed,
        problems=(Posed(posed[0][0], family, posed[0][1]),),
        entries=tuple(entries),
        figures=(FigureSpec("curves", "race", "Regret over time", x_scale="log", y_scale="log"),),
    )


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


def standings(frame: pl.DataFrame, problem: str) -> list[dict[str, Any]]:
    """List the policies by final regret, each with its curve as a line of text."""
    curves = mean_intervals(frame)
    rows = ranking(frame, problem).to_dicts()
    games = {row["policy"]: row["estimate"] for row in _last(mean_intervals(frame, "games"))}
    for row in rows:
        curve = curves.filter(pl.col("policy") == row["policy"])
        row["games"] = games[row["policy"]]
        row["curve"] = _sparkline(
            curve["round"].to_numpy(), curve["estimate"].to_numpy(), curves["estimate"].max()
        )
    return rows


def _last(means: pl.DataFrame) -> list[dict[str, Any]]:
    return means.filter(pl.col("round") == means["round"].max()).to_dicts()


def _sparkline(rounds: np.ndarray, regret: np.ndarray, highest: Any) -> str:
    """Draw regret over time, both in log scale, on the same scale for all policies."""
    times = np.geomspace(1, rounds[-1], _POINTS)
    heights = np.log1p(np.interp(times, rounds, regret)) / np.log1p(max(float(highest), 1e-9))
    steps = np.clip((heights * len(_BARS)).astype(int), 0, len(_BARS) - 1)
    return "".join(_BARS[step] for step in steps)
