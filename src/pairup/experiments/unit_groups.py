"""Groups of work units: what an engine plays at once, a core one unit and a GPU many."""

from __future__ import annotations

import itertools
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pairup.experiments.work_units import WorkUnit, check_code, compute_unit
from pairup.simulation.playthrough import Measurements
from pairup.simulation.simulate import Engine

MAX_AT_ONCE = 96  # groups on a GPU
_MAX_REPLICATIONS = 131_072  # of a group: what a GPU plays at once, and loses when it is stopped
_MIN_SECONDS = 10  # of all cores, for a policy: to compile it for a GPU takes half a minute, once
_THREAD_SLOWNESS = 100  # a thread of a GPU takes about so many times as long as a core for a round

Show = Callable[[float], None]  # takes the share done, in [0, 1]


@dataclass(frozen=True, eq=False)
class UnitGroup:
    """Work units that are played at once: on a GPU all of them have one policy and one problem."""

    units: tuple[WorkUnit, ...]
    engine: Engine = "cpu"
    memory_share: float = 1.0  # of a GPU, whose memory other groups use beside this one

    @property
    def on_core(self) -> bool:
        """Whether a core plays it."""
        return self.engine == "cpu"

    @property
    def cost(self) -> float:
        """Nominal cost in seconds of a core."""
        return sum(unit.cost for unit in self.units)

    @property
    def longest(self) -> float:
        """Nominal cost of its longest replication in seconds of a core."""
        return max(unit.cost / len(unit.replications) for unit in self.units)


def group_units(units: Sequence[WorkUnit], engine: Engine, share: bool) -> list[UnitGroup]:
    """Group work units for an engine, the longest first, so that none starts at the end.

    A GPU takes all replications of a policy on a problem at once, and all groups side by side. With
    `share`, the cores of this machine take policies that they finish within seconds, and then the
    longest groups, as long as the cores finish before the GPU: a core plays few replications of
    many rounds faster.
    """
    ordered = sorted(units, key=lambda unit: -unit.cost)  # stable: replications stay in order
    if engine == "cpu":
        return [UnitGroup((unit,)) for unit in ordered]
    groups = sorted(_on_gpu(ordered), key=lambda group: -group.longest)
    kept = _left_to_gpu(groups, os.cpu_count() or 1) if share else groups
    own = {id(unit) for group in kept for unit in group.units}
    return kept + [UnitGroup((unit,)) for unit in ordered if id(unit) not in own]


def _on_gpu(units: Sequence[WorkUnit]) -> list[UnitGroup]:
    together: dict[tuple[int, int, int], list[WorkUnit]] = {}
    for unit in units:
        together.setdefault((unit.entry_index, unit.problem_index, unit.rounds), []).append(unit)
    groups: list[list[WorkUnit]] = []
    for some in together.values():
        size = max(_MAX_REPLICATIONS // len(some[0].replications), 1)
        groups += [some[first : first + size] for first in range(0, len(some), size)]
    share = 1 / min(len(groups), MAX_AT_ONCE)
    return [UnitGroup(tuple(group), "cuda", share) for group in groups]


def _left_to_gpu(groups: list[UnitGroup], cores: int) -> list[UnitGroup]:
    """Return the groups that are not for the cores."""
    costs: defaultdict[int, float] = defaultdict(float)  # in seconds of all cores, by policy
    for group in groups:
        costs[group.units[0].entry_index] += group.cost / cores
    large = [group for group in groups if costs[group.units[0].entry_index] > _MIN_SECONDS]
    seconds = sum((cost for cost in costs.values() if cost <= _MIN_SECONDS), 0.0)
    for count, group in enumerate(large):
        seconds += group.cost / cores
        if seconds > _THREAD_SLOWNESS * group.longest:
            return large[count:]
    return []


def compute_group(
    group: UnitGroup, stop: threading.Event | None = None, show: Show = lambda share: None
) -> list[Measurements]:
    """Play the replications of a group; called by workers. `show` gets the share that is done."""
    if group.on_core:
        return [compute_unit(unit, stop) for unit in group.units]
    from pairup.simulation.batches.play import play_batches  # slow to import

    check_code(group.units[0])
    first = group.units[0]
    numbers = [number for unit in group.units for number in unit.replications]
    regret, games = play_batches(
        first.problem,
        first.policy,
        first.rounds,
        numbers,
        first.seed,
        first.checkpoints,
        stop,
        show,
        memory_share=group.memory_share,
    )
    ends = list(itertools.accumulate(len(unit.replications) for unit in group.units))
    return [
        (regret[start:end], games[start:end]) for start, end in zip([0, *ends], ends, strict=False)
    ]
