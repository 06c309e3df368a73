"""Experiment: problems to sweep, policies to race on them, and the figures to draw.

Experiments are TOML files; those of the paper are shipped. `docs/reference/experiment-file.md`
lists every key.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pairup.checks import checked_integer, checked_seed
from pairup.errors import ExperimentError, did_you_mean
from pairup.experiments.families import PosedProblem, sweep_problems
from pairup.experiments.figure_spec import FILE_NAME, FigureSpec, check_figure, read_figure
from pairup.experiments.toml_table import Table, fail_at
from pairup.policies import Policy, get_policy
from pairup.problem import Problem


@dataclass(frozen=True)
class Entry:
    """A policy of an experiment, and what tables and figures call it."""

    label: str
    policy: Policy

    @property
    def options(self) -> str:
        """The policy's name and options as canonical JSON, as in the results."""
        return canonical_json({"name": self.policy.name} | self.policy.options)


@dataclass(frozen=True)
class Experiment:
    """Every policy plays every problem, on common random numbers.

    Examples
    --------
    >>> from pairup import load_experiment
    >>> experiment = load_experiment("experiment-2")
    >>> [posed.problem.name for posed in experiment.problems][:2]
    ['around(0.5, 4, 0.1)', 'around(0.6, 4, 0.1)']
    >>> experiment.scaled(replications=2).replications
    2
    """

    name: str
    title: str
    about: str
    rounds: int
    replications: int
    seed: int
    problems: tuple[PosedProblem, ...]
    entries: tuple[Entry, ...]
    figures: tuple[FigureSpec, ...] = ()

    def __post_init__(self) -> None:
        for key in ("rounds", "replications"):
            value = getattr(self, key)
            checked_integer(f"{key}:", value, ExperimentError, minimum=1, advice="try 100")
        checked_seed(self.seed, ExperimentError, what="seed:")
        if not FILE_NAME.fullmatch(self.name):
            fail_at(
                "name", f"must be letters, digits, dashes, dots, got {self.name!r}: try my-race"
            )
        if not self.entries or not self.problems:
            fail_at("policy", "an experiment needs at least one problem and one policy")
        _check_distinct("label of a policy", (entry.label for entry in self.entries))
        _check_distinct("name of a problem", (posed.problem.name for posed in self.problems))
        _check_distinct("name of a figure", (figure.name for figure in self.figures))
        labels = [entry.label for entry in self.entries]
        for figure in self.figures:
            check_figure(figure, labels, self.problems)

    def scaled(self, rounds: int | None = None, replications: int | None = None) -> Experiment:
        """Return the same experiment with other numbers of rounds or replications."""
        return dataclasses.replace(
            self,
            rounds=self.rounds if rounds is None else rounds,
            replications=self.replications if replications is None else replications,
        )

    def definition(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; `from_definition` turns them back."""
        return {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "rounds": int(self.rounds),
            "replications": int(self.replications),
            "seed": int(self.seed),
            "problems": [
                {
                    "name": posed.problem.name,
                    "family": posed.family,
                    "parameters": dict(posed.parameters),
                    "rates": posed.problem.rates.tolist(),
                }
                for posed in self.problems
            ],
            "policies": [
                {"label": entry.label} | json.loads(entry.options) for entry in self.entries
            ],
            "figures": [
                dataclasses.asdict(figure) | {"policies": list(figure.policies)}
                for figure in self.figures
            ],
        }

    @classmethod
    def from_definition(cls, definition: Mapping[str, Any]) -> Experiment:
        """Make an experiment from what `definition` returned."""
        given = dict(definition)
        problems = tuple(
            PosedProblem(
                Problem(posed["rates"], posed["name"]), posed["family"], posed["parameters"]
            )
            for posed in given.pop("problems")
        )
        entries = tuple(
            Entry(label, get_policy(**options))
            for policy in given.pop("policies")
            for label, options in [
                (policy["label"], {k: policy[k] for k in policy if k != "label"})
            ]
        )
        figures = tuple(
            FigureSpec(**(figure | {"policies": tuple(figure["policies"])}))
            for figure in given.pop("figures")
        )
        return cls(problems=problems, entries=entries, figures=figures, **given)


def canonical_json(value: Any) -> str:
    """Write plain values as JSON, the same text for equal values."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_plain
    )


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"an option cannot be {value!r}: give numbers, strings or lists of them")


def shipped_experiments() -> tuple[str, ...]:
    """Return the names of the experiments that come with pairup.

    Examples
    --------
    >>> from pairup import shipped_experiments
    >>> shipped_experiments()
    ('experiment-1', 'experiment-2', 'field')
    """
    files = resources.files("pairup.experiments").joinpath("shipped").iterdir()
    return tuple(sorted(file.name[:-5] for file in files if file.name.endswith(".toml")))


def load_experiment(source: str | Path) -> Experiment:
    """Read an experiment.

    Parameters
    ----------
    source
        Name of a shipped experiment, or path of a TOML file.

    Raises
    ------
    ExperimentError
        There is no such file, or a key or value in it is wrong. The message gives the file, the
        key, the rule and the nearest valid name.

    Examples
    --------
    >>> from pairup import load_experiment
    >>> load_experiment("experiment-1").rounds
    1000000
    """
    name, text = _text(source)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ExperimentError(f"{name}: not valid TOML: {error}") from None
    try:
        return _experiment(Table("", raw))
    except ExperimentError as error:
        raise ExperimentError(f"{name}: {error}") from None


def _text(source: str | Path) -> tuple[str, str]:
    if source in shipped_experiments():
        file = resources.files("pairup.experiments").joinpath("shipped", f"{source}.toml")
        return file.name, file.read_text("utf-8")
    try:
        return str(source), Path(source).read_text("utf-8")
    except FileNotFoundError:
        near = did_you_mean(str(source), shipped_experiments())
        raise ExperimentError(
            f"no file and no shipped experiment is called {source}{near}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExperimentError(f"{source}: cannot be read: {error}") from None


def _experiment(table: Table) -> Experiment:
    counts = ("rounds", "replications")
    table.check_keys(
        ("name", "title", "about", *counts, "seed", "problem", "policy", "figure"),
        ("name", *counts, "problem", "policy"),
    )
    return Experiment(
        name=table.text("name"),
        title=table.text("title", table.text("name")),
        about=table.text("about").strip(),
        rounds=table.values["rounds"],
        replications=table.values["replications"],
        seed=table.values.get("seed", 0),
        problems=tuple(sweep_problems(_problem_tables(table))),
        entries=tuple(_entry(each) for each in table.tables("policy")),
        figures=tuple(read_figure(each) for each in table.tables("figure")),
    )


def _problem_tables(table: Table) -> list[Table]:
    """Return the one table [problem], or all of [[problem]]."""
    given = table.values["problem"]
    if isinstance(given, dict):
        return [Table("[problem]", given)]
    return table.tables("problem")


def _entry(table: Table) -> Entry:
    options = dict(table.values)
    for key in ("label", "name"):
        if key not in options:
            table.fail(key, "is missing")
        table.text(key)
        options.pop(key)
    try:
        return Entry(table.text("label"), get_policy(table.text("name"), **options))
    except (TypeError, ValueError) as error:  # a policy may meet a value of any kind
        table.fail(f'("{table.text("label")}")', str(error))


def _check_distinct(what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if not value or value in seen:
            fail_at(what, f"must be given and be distinct, got {value!r}")
        seen.add(value)
