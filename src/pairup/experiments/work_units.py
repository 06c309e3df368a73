"""Work units: an experiment cut into pieces of about a second, each with a key."""

from __future__ import annotations

import functools
import hashlib
import inspect
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pairup.errors import SimulationError
from pairup.experiments.spec import Experiment, canonical_json
from pairup.experiments.storage import SCHEMA_VERSION, Numbers
from pairup.kernels.runtime.source_digest import computation_digest
from pairup.policies import Policy
from pairup.problem import Problem
from pairup.simulation.playthrough import play_replications
from pairup.simulation.simulate import log_spaced

_BLOCK_SECONDS = 1.0
_MOST_REPLICATIONS = 4096  # in a block, so that it stays small in memory
_SOURCES = (  # of all that determines the numbers
    "kernels/**/*.py",
    "policies/*.py",
    "states/*.py",
    "problem.py",
    "simulation/playthrough.py",
    "simulation/replication.py",
)


@dataclass(frozen=True)
class WorkUnit:
    """Some replications of one policy on one problem, as they travel to a worker."""

    policy: Policy
    problem: Problem
    rounds: int
    marks: tuple[int, ...]
    seed: int
    replications: range
    entry: int  # of the experiment, for who joins the blocks again
    posed: int
    code: str  # digest of the sources that decide the numbers

    @functools.cached_property
    def key(self) -> str:
        """A hash of all that determines the numbers of the block."""
        determined = {
            "schema": SCHEMA_VERSION,
            "code": self.code,
            "foreign": _foreign_digest(type(self.policy)),
            "rates": self.problem.rates.tolist(),
            "policy": {"name": self.policy.name} | self.policy.options,
            "rounds": self.rounds,
            "checkpoints": self.marks,
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
        """Seconds that it takes, by the cost model."""
        return self.rounds_played * _round_cost(self.policy, self.problem)


def split_into_units(experiment: Experiment) -> list[WorkUnit]:
    """Cut an experiment into blocks of about a second, by policy, problem and replications.

    A replication is never cut, so that a block of very many rounds takes longer. The cut does not
    depend on the number of replications but for the last block: raising it keeps the others.
    """
    marks = tuple(log_spaced(experiment.rounds).tolist())
    rounds, seed, code = int(experiment.rounds), int(experiment.seed), code_digest()
    blocks = []
    for e, entry in enumerate(experiment.entries):
        for p, posed in enumerate(experiment.problems):
            size = _replications_a_block(entry.policy, posed.problem, rounds)
            for first in range(0, experiment.replications, size):
                part = range(first, min(first + size, experiment.replications))
                blocks.append(
                    WorkUnit(entry.policy, posed.problem, rounds, marks, seed, part, e, p, code)
                )
    return blocks


def _replications_a_block(policy: Policy, problem: Problem, rounds: int) -> int:
    size = round(_BLOCK_SECONDS / (rounds * _round_cost(policy, problem)))
    return min(max(size, 1), _MOST_REPLICATIONS)


def _round_cost(policy: Policy, problem: Problem) -> float:
    return policy.nominal_cost() * problem.players * 1e-9


@functools.cache
def code_digest() -> str:
    """Return a digest of what the sources compute that determine the numbers."""
    root = Path(__file__).parents[1]
    return computation_digest(root, [path for each in _SOURCES for path in root.glob(each)])


@functools.cache
def _foreign_digest(policy_class: type[Policy]) -> str:
    """Return a digest of the file of a policy from elsewhere, empty for pairup's own."""
    if policy_class.__module__.startswith("pairup."):
        return ""
    with suppress(OSError, TypeError):
        source = inspect.getsourcefile(policy_class)
        return hashlib.sha256(Path(source or "").read_bytes()).hexdigest()
    return "unknown"


def compute_unit(block: WorkUnit, stop: threading.Event | None = None) -> Numbers:
    """Play a block; called by workers."""
    if block.code != code_digest():
        raise SimulationError(
            "a worker runs another version of pairup than the one that asks: "
            "install the same version on all machines"
        )
    return play_replications(
        block.problem,
        block.policy,
        block.rounds,
        block.replications,
        block.seed,
        block.marks,
        stop,
    )
