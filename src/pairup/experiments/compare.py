"""Compare: an experiment from problems and policies that are already there, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from pairup.checks import check_instance
from pairup.errors import ExperimentError
from pairup.experiments.experiment import Experiment, sweep_entries
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem, pose_problems
from pairup.experiments.results import Results
from pairup.experiments.runner import ProgressCallback, run_experiment
from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.simulate import Engine

_MAX_PLAYERS_WITH_LIMIT = 24  # beyond, the limit takes longer to compute than a race should


def compare(  # noqa: PLR0913 - all but three have defaults
    problems: Problem | Iterable[Problem] | Mapping[str, Problem],
    policies: Policy | Iterable[Policy] | Mapping[str, Policy | Sequence[Policy]],
    rounds: int,
    *,
    replications: int = 20,
    seed: int = 0,
    out: str | Path | None = None,
    executor: Executor | None = None,
    progress: bool | ProgressCallback = False,
    engine: Engine = "cpu",
) -> Results:
    """Compare what policies lose on problems, on common random numbers.

    In each replication all policies meet the same players, who accept in the same rounds, so that a
    few replications are enough to compare them. `pairup race` is this call on the command line, and
    an experiment file describes the same in TOML.

    Parameters
    ----------
    problems
        A problem, a list, or a dict from names to problems.
    policies
        A policy, a list, or a dict from labels to policies; what tables and figures call them. A
        list in a dict is a sweep: policies of one class, labelled by the options that differ, which
        are columns ``option_NAME`` of the frame, and axes of ``results.plot(x="NAME")``.
    rounds
        Number of rounds of each replication, at least 1.
    replications
        Number of times that each policy plays each problem.
    seed
        Seed of all random numbers, at least 0.
    out
        Folder to keep the results in, where an interrupted call resumes; `load_results` reads it.
        Another race into the same folder takes their place. By default nothing is written.
    executor, progress, engine
        As in `run_experiment`.

    Raises
    ------
    ExperimentError
        An argument is invalid, or two problems or policies have the same name.
    PolicyError
        A policy cannot play a problem.

    Examples
    --------
    >>> from pairup import EpsilonGreedy, Problem, Uniform, compare
    >>> problems = [Problem.around(mean, pairs=2, gap=0.1) for mean in (0.4, 0.6)]
    >>> policies = {"random": Uniform(), "greedy": EpsilonGreedy()}
    >>> results = compare(problems, policies, rounds=3_000, replications=8)
    >>> results.summary().select("problem", "rank", "policy").rows()
    [('around(0.4, 2, 0.1)', 1, 'greedy'), ('around(0.4, 2, 0.1)', 2, 'random'),
     ('around(0.6, 2, 0.1)', 1, 'greedy'), ('around(0.6, 2, 0.1)', 2, 'random')]
    """
    posed = pose_problems(
        problem.renamed(name) if name else problem
        for name, problem in _named("problems", problems, Problem, "Problem([0.9, 0.8])")
    )
    entries = [entry for label, some in _listed(policies) for entry in sweep_entries(label, some)]
    names = ", ".join(each.problem.name for each in posed)
    experiment = Experiment(
        name="race",
        title=f"Race on {names}",
        about="Policies on common random numbers.",
        rounds=rounds,
        replications=replications,
        seed=seed,
        problems=tuple(posed),
        entries=tuple(entries),
        figures=_figures(posed),
    )
    return run_experiment(experiment, out, executor, progress, engine)


def _listed(policies: Any) -> list[tuple[str, list[Policy]]]:
    """Return policies by label; a list in a dict is a sweep."""
    example = "Unimodal()"
    if not isinstance(policies, Mapping):
        found = _named("policies", policies, Policy, example)
        return [(str(policy), [policy]) for _, policy in found]
    swept = {
        str(label): given if isinstance(given, list | tuple) else [given]
        for label, given in policies.items()
    }
    return [
        (label, [each for _, each in _named(f"policies {label}", given, Policy, example)])
        for label, given in swept.items()
    ]


def _named(what: str, given: Any, kind: type, example: str) -> list[tuple[str, Any]]:
    """Return things with their names, which are empty where none were given."""
    if isinstance(given, kind | type):  # a class, for want of its parentheses
        given = [given]
    if isinstance(given, Mapping):
        named = [(str(name), thing) for name, thing in given.items()]
    elif isinstance(given, Iterable) and not isinstance(given, str):
        named = [("", thing) for thing in given]
    else:
        raise ExperimentError(f"{what} must be a list or a dict, got {given!r}: try [{example}]")
    for name, thing in named:
        tried = f"{thing.__name__}()" if isinstance(thing, type) else example
        check_instance(f"{what} {name}".strip(), thing, kind, ExperimentError, example=tried)
    return named


def _figures(posed: list[PosedProblem]) -> tuple[FigureSpec, ...]:
    """Return curves for each problem, and the bars of those that have a limit."""
    figures = [
        FigureSpec(
            "curves",
            "race" if len(posed) == 1 else f"race-{number}",
            "Regret over time",
            where={"problem": each.problem.name} if len(posed) > 1 else {},
            x_scale="log",
            y_scale="log",
            limit=_has_limit(each),
        )
        for number, each in enumerate(posed, 1)
    ]
    # Bars are multiples of the limit, which is 0 on two sides with ties.
    if any(_has_limit(each) and each.problem.sides is None for each in posed):
        title = "Regret in multiples of the limit"
        figures.append(FigureSpec("limit", "limit", title, y_scale="log"))
    return tuple(figures)


def _has_limit(posed: PosedProblem) -> bool:
    problem = posed.problem
    known = problem.has_player_rates and (problem.sides is not None or problem.graph is None)
    return known and problem.players <= _MAX_PLAYERS_WITH_LIMIT
