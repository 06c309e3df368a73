"""Specs: policies and problems as texts of the command line, ``name:option=value,...``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pairup.errors import ExperimentError
from pairup.experiments.posed_problems import sweep_problems
from pairup.experiments.toml_table import Table, parse_toml
from pairup.policies import Policy
from pairup.policies.registry import import_policy, make_policy, policy_names
from pairup.problem import Problem

_PLACE = re.compile(r"(?P<module>[\w.]+):(?P<path>[^\W\d][\w.]*)(?::(?P<options>.*))?")


def read_policies(texts: Iterable[str]) -> dict[str, Policy]:
    """Make policies from texts, which are their labels.

    A policy is written as ``name`` or ``name:option=value,...``, one of your own as
    ``module:Class`` or ``module:Class:option=value,...``, whose module may be a file in the current
    folder.

    Examples
    --------
    >>> read_policies(["sam", "unimodal:index=ucb"])["unimodal:index=ucb"].index
    'ucb'
    """
    policies: dict[str, Policy] = {}
    for text in texts:
        if text in policies:
            raise ExperimentError(f"the policy {text!r} is named twice: leave one out")
        name, options = parse_policy(text)
        policies[text] = make_policy(import_policy(name, Path.cwd()), **options)
    return policies


def read_problem(text: str) -> Problem:
    """Make the problem of a text ``family:parameter=value,...``.

    Examples
    --------
    >>> read_problem("around:mean=0.5,pairs=4,gap=0.1").name
    'around(0.5, 4, 0.1)'
    """
    family, parameters = parse_spec(text)
    posed = sweep_problems([Table(f"problem {text!r}", {"family": family} | parameters)])
    if len(posed) != 1:
        raise ExperimentError(f"a race has one problem, {text!r} lists {len(posed)} of them")
    return posed[0].problem


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
