"""UniRank, which learns a ranking from comparisons of items."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import leader_counts
from pairup.kernels import unirank as kernel
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.state_layout import POSITIONS, new_counters, new_figures
from pairup.policies.base import StartContext
from pairup.policies.leader_counting import LeaderCountingPolicy
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers, require


@register
@dataclass(frozen=True)
class UniRank(LeaderCountingPolicy):
    """Rank the rows by comparing those that may be in the wrong order (Gauthier et al., 2022).

    For two sides: rows are *items*, columns *positions* whose order by rate is known. The leader
    puts the items into blocks, best first. It is displayed with successive blocks merged wherever
    an item of the lower block may still be better than one of the upper block; the items of a block
    are shuffled. Items are compared when they share a block and just one of them plays.

    Notes
    -----
    Where the article and its authors' code differ, this is the code, which plays better:

    - the leader's blocks are the items that lose against none of those left, again and again, where
      i loses against j when the mean of c_i - c_j is below -sqrt(log log(t + 3) / n) (the article
      takes the smallest set that beats all others, by the sign of the mean);
    - all successive blocks that may be wrong are merged at once, from the top, each at most once,
      and one hidden item joins the last block displayed (the article merges one couple of blocks);
    - a comparison never made, or a leader that has led less than three times, is in doubt (in the
      article a comparison never made promises nothing).

    As in the article, two blocks are compared by all their couples; the code takes the first item
    of one with the first of the other, and so on. Only outcomes of a whole matching, observed
    before the next one is proposed, tell of blocks; others are counted but not compared.

    Examples
    --------
    >>> from pairup import Problem, UniRank, simulate
    >>> problem = Problem.two_sided([0.9, 0.6, 0.3, 0.1], [1.0, 0.5])
    >>> run = simulate(problem, UniRank(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 200  # of the 1,150 that matchings drawn at random lose
    np.True_
    """

    name: ClassVar[str] = "unirank"
    needs_sides: ClassVar[bool] = True
    is_told_column_order: ClassVar[bool] = True
    serves_pools: ClassVar[bool] = False  # the players of a pool are on one side
    nominal_ns: ClassVar[int] = 40

    def start(self, context: StartContext) -> kernel.UniRankState:
        assert context.columns is not None  # check_sides() saw to it
        assert context.column_order is not None  # is_told_column_order
        slots = context.slots
        square = (slots, slots)
        places = ("items", "positions", "ranking", "start", "listed", "block")
        return kernel.UniRankState(
            stats=new_couple_statistics(slots),
            wins=np.zeros(square, np.int64),
            doubt=np.zeros(square),
            loses=np.zeros(square, np.bool_),
            counts=leader_counts.new_counts(),
            keys=context.keys(2),
            now=new_counters(),
            figures=new_figures(),
            is_row=np.append(~context.columns, False),
            column_order=np.array(context.column_order, np.int64),
            **{name: np.zeros(slots + 1, np.int64) for name in places},
            marked=np.zeros(slots, np.bool_),
        )

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        state.wins[slot, :] = state.wins[:, slot] = 0

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        winners, losers = compared = np.nonzero(state.wins)
        comparisons = {"winners": winners, "losers": losers, "wins": state.wins[compared]}
        return super().saved(state) | comparisons

    def load(self, state: Any, arrays: Arrays) -> kernel.UniRankState:
        state = super().load(state, arrays)
        winners, losers = numbers(arrays, "winners"), numbers(arrays, "losers")
        wins, slots = numbers(arrays, "wins"), len(state.is_row) - 1
        require(len(winners) == len(losers) == len(wins), "its comparisons are incomplete")
        known = np.all((winners < slots) & (losers < slots))
        require(known, "it has comparisons of unknown players")
        state.wins[winners, losers] = wins
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        kernel.find_leader(state)
        shown = state.now[POSITIONS]
        couples = np.stack([state.ranking[:shown], state.positions[:shown]], axis=1)
        return np.sort(couples, axis=1)
