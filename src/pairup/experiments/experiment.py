"""Experiment: problems to sweep, policies to race on them, and the figures to draw."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pairup.checks import checked_integer, checked_seed
from pairup.errors import ExperimentError, did_you_mean
from pairup.experiments.figure_spec import FILE_NAME, FigureSpec, check_figure
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.toml_table import fail_at
from pairup.policies import Policy
from pairup.policies.registry import find_or_stand_in
from pairup.problem import Problem

_STRIDE = 1_000_000  # from the first replication of an instance to that of the next
_MAX_BITS = 40  # of rounds, and of replications: more would not end


@dataclass(frozen=True)
class Entry:
    """A policy of an experiment, and what tables and figures call it."""

    label: str
    policy: Policy
    series: str = ""  # label of the sweep that it belongs to
    swept: tuple[str, ...] = ()  # options that the sweep varies

    @property
    def swept_options(self) -> dict[str, Any]:
        """The options that are swept, with the values that this entry has."""
        return {name: self.policy.options[name] for name in self.swept}

    @property
    def options(self) -> str:
        """The policy's name and options as canonical JSON, as in the results."""
        return canonical_json({"name": self.policy.known_as} | self.policy.options)

    def line_along(self, option: str) -> str:
        """Return what a figure with a swept option along its axis calls the policy's line."""
        if option not in self.swept:
            return self.label
        others = [name for name in self.swept if name != option]
        return _sweep_label(self.series, self.policy, others)


def sweep_entries(label: str, policies: Sequence[Policy]) -> list[Entry]:
    """Return the entries of a sweep: policies of one class, labelled by the options that differ.

    Examples
    --------
    >>> from pairup import EpsilonGreedy
    >>> policies = [EpsilonGreedy(epsilon=each) for each in (5, 30)]
    >>> [entry.label for entry in sweep_entries("greedy", policies)]
    ['greedy epsilon=5', 'greedy epsilon=30']
    """
    kinds = dict.fromkeys(policy.known_as for policy in policies)
    if len(kinds) != 1:
        some = ", ".join(kinds) or "none"
        fail_at(f"policy {label!r}", f"a sweep varies the options of one policy, got {some}")
    given = [policy.options for policy in policies]
    swept = tuple(name for name in given[0] if any(each[name] != given[0][name] for each in given))
    if len(policies) == 1:
        return [Entry(label, policies[0])]
    return [Entry(_sweep_label(label, each, swept), each, label, swept) for each in policies]


def _sweep_label(series: str, policy: Policy, swept: Iterable[str]) -> str:
    values = ((name, policy.options[name]) for name in swept)
    shown = (f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in values)
    return " ".join([series, *shown])


@dataclass(frozen=True)
class Experiment:
    """Every policy plays every problem, on common random numbers.

    The policies whose labels are in `horizon_check` also play the largest problem under a horizon
    ten times shorter: one that does not know the horizon plays the same first rounds under both.

    Problems that differ only in the parameter `over` are instances of one another: tables show
    means over them, and so do those figures that leave several of them for a point.

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
    horizon_check: tuple[str, ...] = ()
    over: str | None = None

    def __post_init__(self) -> None:
        for key in ("rounds", "replications"):
            value = getattr(self, key)
            checked_integer(
                f"{key}:", value, ExperimentError, minimum=1, max_bits=_MAX_BITS, advice="try 100"
            )
        checked_seed(self.seed, ExperimentError, what="seed:")
        if not FILE_NAME.fullmatch(self.name):
            fail_at(
                "name", f"must be letters, digits, dashes, dots, got {self.name!r}: try my-race"
            )
        if not self.entries or not self.problems:
            fail_at("experiment", "needs at least one problem and one policy")
        _check_distinct("label of a policy", (entry.label for entry in self.entries))
        _check_distinct("name of a problem", (posed.problem.name for posed in self.problems))
        _check_distinct("name of a figure", (figure.name for figure in self.figures))
        labels = [entry.label for entry in self.entries]
        for label in self.horizon_check:
            if label not in labels:
                near = did_you_mean(label, labels)
                fail_at("horizon_check", f"no policy is labelled {label!r}{near}")
        parameters = dict.fromkeys(key for posed in self.problems for key in posed.parameters)
        if self.over is not None and self.over not in parameters:
            near = did_you_mean(self.over, parameters)
            fail_at("over", f"must be a parameter of the problems, got {self.over!r}{near}")
        if self.over is not None and self.replications > _STRIDE:
            fail_at("replications", f"an instance has at most {_STRIDE:,}, got {self.replications}")
        figures = tuple(figure.averaged_over(self.over, self.problems) for figure in self.figures)
        object.__setattr__(self, "figures", figures)
        for figure in self.figures:
            check_figure(figure, labels, self.problems, self.swept)

    @property
    def swept(self) -> dict[str, list[Any]]:
        """The options that are swept, each with its values in the order of the policies."""
        found: dict[str, list[Any]] = {}
        for entry in self.entries:
            for name, value in entry.swept_options.items():
                known = found.setdefault(name, [])
                known += [] if value in known else [value]
        return found

    def scaled(self, rounds: int | None = None, replications: int | None = None) -> Experiment:
        """Return the same experiment with other numbers of rounds or replications."""
        rounds = self.rounds if rounds is None else rounds
        replications = self.replications if replications is None else replications
        return dataclasses.replace(self, rounds=rounds, replications=replications)

    def replication_numbers(self, problem_index: int) -> range:
        """Return the numbers of the replications of a problem.

        They begin at 0. Different instances have different numbers, because replications with the
        same number share their random numbers and instances must be independent.
        """
        first = _STRIDE * self._instance_numbers[problem_index]
        return range(first, first + self.replications)

    @cached_property
    def _instance_numbers(self) -> list[int]:
        """The place, from 0, of each problem's value of `over` among all such values."""
        over = self.over or ""
        values = [canonical_json(posed.parameters.get(over)) for posed in self.problems]
        places = {value: place for place, value in enumerate(dict.fromkeys(values))}
        return [places[value] for value in values]

    def definition(self) -> dict[str, Any]:
        """Return all of it as plain JSON values; `from_definition` turns them back."""
        sweeps = {
            entry.label: {"series": entry.series, "swept": list(entry.swept)}
            for entry in self.entries
            if entry.swept
        }
        return ({"sweeps": sweeps} if sweeps else {}) | {
            "name": self.name,
            "title": self.title,
            "about": self.about,
            "rounds": int(self.rounds),
            "replications": int(self.replications),
            "seed": int(self.seed),
            "horizon_check": list(self.horizon_check),
            "over": self.over,
            "problems": [
                {
                    "name": posed.problem.name,
                    "family": posed.family,
                    "parameters": dict(posed.parameters),
                }
                | posed.problem.definition()
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
        sweeps = given.pop("sweeps", {})
        problems = tuple(
            PosedProblem(
                Problem.from_definition(posed, posed["name"]), posed["family"], posed["parameters"]
            )
            for posed in given.pop("problems")
        )
        entries = tuple(
            _entry(policy, **sweeps.get(policy["label"], {})) for policy in given.pop("policies")
        )
        figures = tuple(
            FigureSpec(**(figure | {"policies": tuple(figure["policies"])}))
            for figure in given.pop("figures")
        )
        given["horizon_check"] = tuple(given.get("horizon_check", ()))
        return cls(problems=problems, entries=entries, figures=figures, **given)


def _entry(policy: Mapping[str, Any], series: str = "", swept: Sequence[str] = ()) -> Entry:
    options = {key: policy[key] for key in policy if key not in ("label", "name")}
    found = find_or_stand_in(policy["name"], options)
    return Entry(policy["label"], found, series, tuple(swept))


def canonical_json(value: Any) -> str:
    """Write plain values as JSON, the same text for equal values."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_as_plain
    )


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"an option cannot be {value!r}: give numbers, strings or lists of them")


def _check_distinct(what: str, values: Iterable[str]) -> None:
    seen: set[str] = set()
    for value in values:
        if not value or value in seen:
            got = f"{value!r} twice" if value else repr(value)
            fail_at(what, f"must be given and be distinct, got {got}: name each of them")
        seen.add(value)
