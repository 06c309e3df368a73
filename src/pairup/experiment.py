"""Experiment: problems to sweep, policies to race on them, and the figures to draw.

Experiments are TOML files; those of the paper are shipped. `docs/experiments.md` has every key.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pairup.errors import ExperimentError, PairupError, did_you_mean
from pairup.families import sweep_problems
from pairup.policies import Policy, get_policy
from pairup.policies.base import check_seed
from pairup.problem import Problem
from pairup.tables import Table, fail_at

_FIGURE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CHOICES: dict[str, tuple[str, ...]] = {
    "kind": ("final", "curves", "limit"),
    "normalise": ("none", "gap2"),
    "x_scale": ("linear", "log"),
    "y_scale": ("linear", "log"),
}


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
class Posed:
    """A problem of an experiment, and the values of the swept parameters that pose it."""

    problem: Problem
    family: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class FigureSpec:
    """A figure of an experiment.

    Attributes
    ----------
    kind
        "final": regret after the last round against the parameter `x`. "curves": regret against
        the round, on one problem. "limit": regret after the last round in multiples of the limit
        (`pairup.bounds.lower`), a group of bars for each value of `x`.
    name
        Stem of the picture's file.
    title
        Above the picture.
    x
        For "final" and "limit": a parameter of the problem family.
    where
        Values of parameters: only those problems are drawn.
    policies
        Labels of those to draw; none means all.
    normalise
        "gap2" draws the regret times the square of the gap.
    x_scale, y_scale
        "linear" or "log".
    limit
        For "curves": whether to draw the limit, the least regret of any policy good on every
        problem.
    """

    kind: Literal["final", "curves", "limit"]
    name: str
    title: str = ""
    x: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[str, ...] = ()
    normalise: Literal["none", "gap2"] = "none"
    x_scale: Literal["linear", "log"] = "linear"
    y_scale: Literal["linear", "log"] = "linear"
    limit: bool = False

    def shows(self, posed: Posed) -> bool:
        """Whether the figure draws this problem."""
        return all(posed.parameters.get(key) == value for key, value in self.where.items())


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
    problems: tuple[Posed, ...]
    entries: tuple[Entry, ...]
    figures: tuple[FigureSpec, ...] = ()

    def __post_init__(self) -> None:
        for key in ("rounds", "replications"):
            _check_count(key, getattr(self, key))
        try:
            check_seed(self.seed)
        except PairupError as error:
            raise ExperimentError(f"seed: {error}") from None
        if not _FIGURE_NAME.fullmatch(self.name):
            fail_at(
                "name", f"must be letters, digits, dashes, dots, got {self.name!r}: try my-race"
            )
        if not self.entries or not self.problems:
            fail_at("policy", "an experiment needs at least one problem and one policy")
        _check_distinct("label of a policy", (entry.label for entry in self.entries))
        _check_distinct("name of a problem", (posed.problem.name for posed in self.problems))
        _check_distinct("name of a figure", (figure.name for figure in self.figures))
        for figure in self.figures:
            _check_figure(figure, self)

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
            Posed(Problem(posed["rates"], posed["name"]), posed["family"], posed["parameters"])
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
    ('experiment-1', 'experiment-2')
    """
    files = resources.files("pairup").joinpath("experiments").iterdir()
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
        file = resources.files("pairup").joinpath("experiments", f"{source}.toml")
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
    if not isinstance(table.values["problem"], dict):
        table.fail("problem", "must be a table: write [problem] above its keys")
    return Experiment(
        name=table.text("name"),
        title=table.text("title", table.text("name")),
        about=table.text("about").strip(),
        rounds=table.values["rounds"],
        replications=table.values["replications"],
        seed=table.values.get("seed", 0),
        problems=tuple(
            Posed(problem, table.values["problem"]["family"], parameters)
            for problem, parameters in sweep_problems(Table("[problem]", table.values["problem"]))
        ),
        entries=tuple(_entry(each) for each in table.tables("policy")),
        figures=tuple(_figure(each) for each in table.tables("figure")),
    )


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


def _figure(table: Table) -> FigureSpec:
    known = [each.name for each in dataclasses.fields(FigureSpec)]
    table.check_keys(known, ("kind", "name"))
    given = dict(table.values)
    for key, choices in _CHOICES.items():
        if key in given:
            table.choice(key, choices)
    for key in ("name", "title", "x"):
        if key in given:
            table.text(key)
    if not isinstance(given.get("where", {}), dict):
        table.fail("where", f"must be a table, got {given['where']!r}: try {{ pairs = 4 }}")
    if not isinstance(given.get("limit", False), bool):
        table.fail("limit", f"must be true or false, got {given['limit']!r}")
    policies = given.pop("policies", [])
    if not isinstance(policies, list) or not all(isinstance(each, str) for each in policies):
        table.fail("policies", f"must be a list of labels, got {policies!r}")
    return FigureSpec(policies=tuple(policies), **given)


def _check_figure(figure: FigureSpec, experiment: Experiment) -> None:
    table = Table(f"figure {figure.name!r}", {})
    if not _FIGURE_NAME.fullmatch(figure.name):
        table.fail("name", "names a file: use letters, digits, dashes and dots")
    labels = [entry.label for entry in experiment.entries]
    for label in figure.policies:
        if label not in labels:
            table.fail("policies", f"no policy is labelled {label!r}{did_you_mean(label, labels)}")
    parameters = list(experiment.problems[0].parameters)
    for key, value in figure.where.items():
        if key not in parameters:
            table.fail("where", f"no parameter is called {key!r}{did_you_mean(key, parameters)}")
        known = _distinct(posed.parameters[key] for posed in experiment.problems)
        if value not in known:
            table.fail("where", f"{key} is never {value!r}{did_you_mean(value, known)}")
    if figure.normalise == "gap2" and "gap" not in parameters:
        table.fail("normalise", "gap2 needs a problem family with a gap")
    _check_axis(table, figure, [posed for posed in experiment.problems if figure.shows(posed)])


def _check_axis(table: Table, figure: FigureSpec, shown: list[Posed]) -> None:
    """Refuse a figure with several problems for one of its points, or for its curves."""
    parameters = list(shown[0].parameters) if shown else []
    if figure.kind != "curves" and figure.x not in parameters:
        table.fail(
            "x", f"must be a parameter, got {figure.x!r}{did_you_mean(figure.x, parameters)}"
        )
    if figure.kind == "curves" and figure.x is not None:
        table.fail("x", "curves are drawn against the round: leave it out")
    if figure.kind != "curves" and figure.limit:
        table.fail("limit", 'is a line among curves: leave it out, or take kind = "curves"')
    for key in parameters:
        values = _distinct(posed.parameters[key] for posed in shown)
        if key != figure.x and len(values) > 1:
            table.fail("where", f"{key} has several values: choose one, {{ {key} = {values[0]} }}")


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once; a set would not take lists."""
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def _check_count(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        fail_at(key, f"must be an integer of at least 1, got {value!r}: try 100")


def _check_distinct(what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if not value or value in seen:
            fail_at(what, f"must be given and be distinct, got {value!r}")
        seen.add(value)
