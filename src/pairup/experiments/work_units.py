"""Work units: an experiment split into pieces of about a second, each with a key.

A work unit is some replications of one policy on one problem. Its key is a hash of all that
determines its numbers. So a run that was killed, or that has more replications or policies than the
last one, computes only what is missing.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.kernel_cache import is_ours
from pairup.errors import ExperimentError, SimulationError
from pairup.experiments.experiment import Experiment, canonical_json
from pairup.experiments.results import SCHEMA_VERSION
from pairup.policies import Policy
from pairup.policies.plugins import code_digest, source_of
from pairup.problem import Problem
from pairup.simulation.playthrough import play_replications
from pairup.simulation.simulate import log_spaced

_UNIT_SECONDS = 1.0
_MAX_REPLICATIONS = 4096  # of a work unit, so that it stays small in memory
_MAX_UNITS = 1_000_000  # of an experiment: its manifest lists them all
_HORIZON_SHARE = 10  # a run of a tenth of the rounds shows whether the horizon matters
_HORIZON_REPLICATIONS = 2


@dataclass(frozen=True)
class WorkUnit:
    """Some replications of one policy on one problem, as they travel to a worker."""

    policy: Policy
    problem: Problem
    rounds: int
    checkpoints: tuple[int, ...]
    seed: int
    replications: range
    entry_index: int  # in the experiment, for joining the units again
    problem_index: int
    code: str  # digest of the sources that decide the numbers

    @functools.cached_property
    def key(self) -> str:
        """A hash of all that determines the numbers of the unit."""
        determined = {
            "schema": SCHEMA_VERSION,
            "code": self.code,
            "third_party": _source_digest(type(self.policy)),
            "problem": self.problem.definition(),
            "policy": {"name": self.policy.known_as} | self.policy.options,
            "rounds": self.rounds,
            "checkpoints": self.checkpoints,
            "seed": self.seed,
            "replications": [self.replications.start, self.replications.stop],
        }
        return hashlib.sha256(canonical_json(determined).encode()).hexdigest()

    @property
    def rounds_played(self) -> int:
        """Rounds of all its replications."""
        return self.rounds * len(self.replications)

    @property
    def cost(self) -> float:
        """Nominal cost in seconds."""
        return self.rounds_played * _round_cost(self.policy, self.problem)

    @property
    def record(self) -> dict[str, Any]:
        """What a manifest says of it."""
        return {
            "key": self.key,
            "policy": self.entry_index,
            "problem": self.problem_index,
            "replications": [self.replications.start, self.replications.stop],
        }


def split_into_units(experiment: Experiment) -> list[WorkUnit]:
    """Split an experiment by policy, problem and replications.

    A replication is never split, so a unit of very many rounds takes longer than a second. Only the
    last unit depends on the number of replications: raising it keeps the others.
    """
    checkpoints = log_spaced(experiment.rounds)
    units: list[WorkUnit] = []
    for entry_index, entry in enumerate(experiment.entries):
        for problem_index, posed in enumerate(experiment.problems):
            seconds = experiment.rounds * _round_cost(entry.policy, posed.problem)
            size = min(max(round(_UNIT_SECONDS / seconds), 1), _MAX_REPLICATIONS)
            if len(units) + experiment.replications // size > _MAX_UNITS:
                raise ExperimentError(
                    f"an experiment has at most {_MAX_UNITS:,} work units: lower its replications, "
                    f"{experiment.replications:,}, or its rounds"
                )
            numbers = experiment.replication_numbers(problem_index)
            for first in range(0, experiment.replications, size):
                part = numbers[first : first + size]
                units.append(_unit(experiment, entry_index, problem_index, checkpoints, part))
    return units


def split_horizon_check(experiment: Experiment) -> list[WorkUnit]:
    """Return a short run of each policy of `Experiment.horizon_check`, on the largest problem.

    Its checkpoints are the first ones of the experiment; if none of them is in the first tenth of
    the rounds, there is nothing to compare.
    """
    checkpoints = log_spaced(experiment.rounds)
    checkpoints = checkpoints[checkpoints <= experiment.rounds // _HORIZON_SHARE]
    players = [posed.problem.players for posed in experiment.problems]
    largest = players.index(max(players))
    part = experiment.replication_numbers(largest)[:_HORIZON_REPLICATIONS]
    return [
        _unit(experiment, entry_index, largest, checkpoints, part)
        for entry_index, entry in enumerate(experiment.entries)
        if entry.label in experiment.horizon_check and checkpoints.size
    ]


def _unit(
    experiment: Experiment,
    entry_index: int,
    problem_index: int,
    checkpoints: NDArray[np.int64],
    part: range,
) -> WorkUnit:
    policy = experiment.entries[entry_index].policy
    return WorkUnit(
        policy=policy,
        problem=experiment.problems[problem_index].problem,
        rounds=int(checkpoints[-1]),
        checkpoints=tuple(checkpoints.tolist()),
        seed=int(experiment.seed),
        replications=part,
        entry_index=entry_index,
        problem_index=problem_index,
        code=_unit_digest(policy),
    )


def make_manifest(
    experiment: Experiment, units: Iterable[WorkUnit], horizon_units: Iterable[WorkUnit]
) -> dict[str, Any]:
    """Describe as plain JSON values what a run computes."""
    return {
        "schema": SCHEMA_VERSION,
        "experiment": experiment.definition(),
        "units": [unit.record for unit in units],
        "horizon_units": [unit.record for unit in horizon_units],
    }


def _round_cost(policy: Policy, problem: Problem) -> float:
    return policy.nominal_cost() * problem.players * 1e-9


def _unit_digest(policy: Policy) -> str:
    """Return a digest of the sources that determine the numbers of a policy's units."""
    return code_digest(type(policy), play_replications.__module__)


def _source_digest(policy_class: type[Policy]) -> str:
    """Return a digest of the file of a third-party policy, empty for pairup's own.

    A policy without a file, such as one in a notebook, may change at any time. It gets a new digest
    each time, so that results of earlier code are never taken for its results.
    """
    if is_ours(policy_class):
        return ""
    source = source_of(policy_class)
    return secrets.token_hex(16) if source is None else hashlib.sha256(source).hexdigest()


def check_code(unit: WorkUnit) -> None:
    """Refuse a work unit of another version of pairup."""
    if unit.code != _unit_digest(unit.policy):
        raise SimulationError(
            "a worker runs another version of pairup than the one that asks: "
            "install the same version on all machines"
        )
