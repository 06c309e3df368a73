"""Policies that keep statistics of couples: what those of one kind share."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples import greedy_leader, leader_counts, neighbours
from pairup.compiled.couples.greedy_leader import Leader
from pairup.compiled.matchings.max_matching import new_matching_workspace, reset, solve
from pairup.compiled.state_layout import MEMBERS, PRESENT, ROUND
from pairup.policies.contract import Policy, Slots
from pairup.policies.couple_counts import CoupleCounts, Integers, checked_counts, pick_counts
from pairup.saved_arrays import Arrays, numbers, require


class CouplePolicy(Policy):
    """A policy whose state has `stats`, the statistics of couples, and its `counters`.

    Saved are the couples seen with their counts, and the counters that `saved_counters` names.
    """

    saved_counters: ClassVar[Mapping[str, int]] = {"round": ROUND}

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        for table in state.stats:  # the phantom's entries stay
            table[slot, :-1] = 0
            table[:-1, slot] = 0

    def statistics(self, state: Any) -> CoupleCounts:
        return pick_counts(state.stats.tries, state.stats.games)

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers]:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return state.stats.tries[low, high], state.stats.games[low, high]

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        counters = {name: state.counters[[place]] for name, place in self.saved_counters.items()}
        return self.evidence(state) | counters

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = self.load_evidence(state, arrays)
        for name, place in self.saved_counters.items():
            (state.counters[place],) = numbers(arrays, name)
        return state

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        stats = state.stats
        low, high, tries, games = checked_counts(arrays, len(stats.tries) - 1)
        stats.tries[low, high] = tries
        stats.games[low, high] = games
        stats.mean[low, high] = stats.mean[high, low] = games / tries
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
        if ROUND in self.saved_counters.values():
            state.counters[ROUND] = max(state.counters[ROUND], rounds)
        return state


class GreedyLeaderPolicy(CouplePolicy):
    """A policy whose state has `stats`, their greedy `leader`, and `keys`, the first for ties."""

    def _update_leader(self, state: Any) -> None:
        """Update the leader by the statistics, in place."""
        greedy_leader.update(state.leader, state.stats, state.keys[0])

    def leader(self, state: Any) -> NDArray[np.int64]:
        self._update_leader(state)
        return couples_of(state.leader)


class LeaderCountingPolicy(CouplePolicy):
    """A policy whose state also has `counts`: how often each leader has led."""

    def set_present(self, state: Any, present: Slots) -> None:
        # Leaders of other players no longer count.
        state.counters[PRESENT] = len(present)
        leader_counts.clear(state.counts)

    def grow(self, state: Any) -> Any:
        return state._replace(counts=leader_counts.grown(state.counts))

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        counts = {"leaders": state.counts.keys, "leader_counts": state.counts.counts}
        return super().saved(state) | counts

    def load(self, state: Any, arrays: Arrays) -> Any:
        super().load(state, arrays)
        leaders, counts = arrays["leaders"], numbers(arrays, "leader_counts")
        used = np.count_nonzero(leaders)
        require(leaders.dtype == np.uint64, "its leaders are not fingerprints")
        require(leaders.shape == counts.shape, "its leaders have no counts")
        require(np.all(counts < 2**62), "some of its leaders have led too often")
        sized = len(leaders).bit_count() == 1 and 2 * used <= len(leaders)
        require(sized, "its table of leaders has a wrong size")
        table = leader_counts.LeaderCounts(leaders.copy(), counts.copy(), np.array([used]))
        return state._replace(counts=table)


class GreedyNeighbourPolicy(LeaderCountingPolicy, GreedyLeaderPolicy):
    """A policy that looks around its greedy leader; see `compiled.couples.neighbours`."""

    def _update_leader(self, state: Any) -> None:
        neighbours.update_leader(state)


class ExactMatchingPolicy(CouplePolicy):
    """A policy whose state also has `players`, those available, and the `workspace` of a matching.

    The next matching starts from the last, which decides between equals, so that it is saved too.
    """

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        reset(state.workspace)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        kept = {"duals": state.workspace.kept_dual, "mates": state.workspace.kept_mate}
        return super().saved(state) | kept

    def load(self, state: Any, arrays: Arrays) -> Any:
        duals = arrays["duals"]
        mates = numbers(arrays, "mates", minimum=-1)
        slots = len(mates)
        workspace = state.workspace
        phantom = len(workspace.kept_mate) - 1
        complete = duals.dtype == np.float64 and duals.shape == mates.shape
        require(complete, "its duals are incomplete")
        require(np.all(np.isfinite(duals)), "some of its duals are not finite")
        require(1 <= slots <= phantom + 1 and np.all(mates < slots), "it has mates out of range")
        require(np.all(mates != np.arange(slots)), "a player is its own mate")
        mates = np.where(mates == slots - 1, phantom, mates)
        workspace.kept_mate[: slots - 1] = mates[:-1]
        workspace.kept_mate[phantom] = mates[-1]
        workspace.kept_dual[: slots - 1] = duals[:-1]
        workspace.kept_dual[phantom] = duals[-1]
        return super().load(state, arrays)

    def leader(self, state: Any) -> NDArray[np.int64]:
        # Found from the statistics alone, so that a look at it changes nothing.
        mean = state.stats.mean
        players = state.players[: state.counters[MEMBERS]]
        workspace = new_matching_workspace(len(mean))
        solve(workspace, mean, players)
        mate = workspace.kept_mate
        couples = np.array([(i, mate[i]) for i in players if i < mate[i]], np.int64).reshape(-1, 2)
        return couples[np.argsort(-mean[couples[:, 0], couples[:, 1]], kind="stable")]


def couples_of(leader: Leader) -> NDArray[np.int64]:
    """Return the leader's couples in their order, the phantom's included."""
    return leader.order[: 2 * leader.couples[0]].astype(np.int64).reshape(-1, 2)


def couples_in_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the couples of successive players; an odd one is left out."""
    return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)
