"""GRAB, the ranking policy from which the paper's first policy descends."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.errors import PolicyError
from pairup.kernels import grab as kernel
from pairup.kernels import leader_counts
from pairup.kernels.allocation import new_arrays
from pairup.kernels.anchored_index import INDEX, new_anchors
from pairup.kernels.assigned_leader import new_assigned_leader, rank_places
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.state_layout import HORIZON, KL, LEVEL, PERIOD, new_counters, new_figures
from pairup.policies.base import StartContext, check_integer_option
from pairup.policies.leader_counting import LeaderCountingPolicy
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers, require


@register
@dataclass(frozen=True)
class GRAB(LeaderCountingPolicy):
    """Play the best assignment or the most promising of its neighbours (Gauthier et al., 2021).

    For two sides: *items*, the longer side, are assigned to *positions*, the shorter one. The
    leader is the assignment with the greatest sum of empirical means. With its positions in the
    order of their means, its neighbours swap the items of two successive positions, or put an
    item that is not displayed into the last position. Each leader is played itself the first time
    and every `period`-th time that it leads; otherwise the neighbour with the greatest sum of
    optimistic indices is played, and the leader when none promises more than it. The paper's
    V1, ``Unimodal(compare="matchings")``, is this policy carried over to one side.

    Parameters
    ----------
    period : int, optional
        Number of times that a leader leads between two rounds in which it is played itself, at
        least 1. The number of items if not given, as in the authors' experiments.
    index : {"kl", "ucb"}
        Optimistic estimate of a couple: KL-UCB as its authors have it, or
        mean + sqrt(2 log(clock) / tries). Unseen couples are at 1 (KL) or at infinity.
    clock : {"leader", "horizon"}
        What the exploration grows with: how often this leader has led, as in the article (the KL
        level is log n + 3 log log n); or the number of rounds to come, as in the authors' code
        (the level is log T from the first round on).
    horizon : int, optional
        Number of rounds to come, at least 2, for that clock. A simulation supplies its own when
        this is not given.

    Notes
    -----
    Of several assignments that are the best, the leader stays what it was.

    Examples
    --------
    >>> from pairup import GRAB, Problem, simulate
    >>> problem = Problem.two_sided([0.9, 0.6, 0.3, 0.1], [1.0, 0.5])
    >>> run = simulate(problem, GRAB(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 200  # of the 1,150 that matchings drawn at random lose
    np.True_
    """

    period: int | None = None
    index: Literal["kl", "ucb"] = "kl"
    clock: Literal["leader", "horizon"] = "leader"
    horizon: int | None = None

    name: ClassVar[str] = "grab"
    needs_sides: ClassVar[bool] = True
    serves_pools: ClassVar[bool] = False  # the players of a pool are on one side
    nominal_ns: ClassVar[int] = 25

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period is not None:
            check_integer_option(self, "period", 1, "give a number of rounds")
        if self.horizon is not None:
            check_integer_option(self, "horizon", 2, "give the number of rounds you expect")

    def needs(self) -> tuple[str, ...]:
        return ("horizon",) if self.clock == "horizon" and self.horizon is None else ()

    def start(self, context: StartContext) -> kernel.GrabState:
        slots, level = context.slots, 0.0
        horizon = self.horizon or context.horizon if self.clock == "horizon" else 0
        if horizon is None:
            raise PolicyError(
                'grab needs to know its horizon, got none: give GRAB(clock="horizon", '
                'horizon=1_000_000), the number of rounds to come, or clock="leader"'
            )
        if horizon:
            level = math.log(max(horizon, 2))
            level = level if self.index == "kl" else math.sqrt(2 * level)
        options = {PERIOD: self.period or 0, KL: self.index == "kl", HORIZON: horizon}
        assert context.columns is not None  # check_sides() saw to it
        return kernel.GrabState(
            stats=new_couple_statistics(slots),
            leader=new_assigned_leader(slots),
            counts=leader_counts.new_counts(),
            keys=context.keys(3),
            now=new_counters(options),
            figures=new_figures({LEVEL: level}),
            is_row=np.append(~context.columns, False),
            anchors=new_anchors(*(slots, slots) if self.index == "kl" else (0, 0)),
            **new_arrays(("lower", "gain"), slots),
        )

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        if self.index == "kl":
            state.anchors[slot, :, INDEX] = state.anchors[:, slot, INDEX] = -1.0

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        # The leader stays as long as nothing is better, so that it is a part of what is known.
        return super().saved(state) | {"last_items": state.leader.last_item[:-1]}

    def load(self, state: Any, arrays: Arrays) -> kernel.GrabState:
        state = super().load(state, arrays)
        items = numbers(arrays, "last_items", minimum=-1)
        slots = len(state.is_row) - 1
        require(len(items) <= slots and np.all(items < slots), "its leader has unknown players")
        state.leader.last_item[: len(items)] = items
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        kernel.update_leader(state)
        rank_places(state.leader, state.keys[0])
        couples: NDArray[np.int64] = state.leader.order[: 2 * state.leader.couples[0]]
        return couples.reshape(-1, 2)[state.leader.ranked[: state.leader.couples[0]]]
