"""Policies that keep statistics of couples: what those of one kind share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples import greedy_leader, leader_counts, neighbours
from pairup.compiled.couples.greedy_leader import Leader
from pairup.compiled.matchings.max_matching import new_matching_workspace, reset, solve
from pairup.compiled.state_fields import MAX_COUNT, MEMBERS, PRESENT, ROUND
from pairup.compiled.steps import observe_step
from pairup.compiled.third_party import for_state
from pairup.policies.contract import Policy, Slots
from pairup.policies.couple_counts import CoupleCounts, Integers, checked_counts, pick_counts
from pairup.saved_arrays import Arrays, forget_slot, numbers, require


class CouplePolicy(Policy):
    """A policy whose state has `stats`, the statistics of couples, and its `counters`.

    Saved are the couples seen with their counts, the number of rounds, and what the other fields of
    the state declare as saved.
    """

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        forget_slot(state, slot)

    def statistics(self, state: Any) -> CoupleCounts:
        return pick_counts(state.stats.tries, state.stats.games)

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers]:
        low, high = np.minimum(one, other), np.maximum(one, other)
        return state.stats.tries[low, high], state.stats.games[low, high]

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        return super().saved(state) | {"round": state.counters[[ROUND]]}

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = super().load(state, arrays)
        (round,) = numbers(arrays, "round")
        require(round < MAX_COUNT, "it has more rounds than anyone could play")
        state.counters[ROUND] = round
        return state

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        # All outcomes but the last of each couple are counted, and that is observed: whatever the
        # policy derives from the counts follows.
        low, high, tries, games = counts = checked_counts(arrays, len(state.stats.tries) - 1)
        played = games > 0
        state.stats.tries[low, high] = tries - 1
        state.stats.games[low, high] = games - played
        if len(tries):
            for_state(observe_step, state)(state, counts.couples, played)
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
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

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = super().load(state, arrays)
        keys, counts, used = state.counts
        used[0] = np.count_nonzero(keys)
        require(keys.shape == counts.shape, "its leaders have no counts")
        sized = len(keys).bit_count() == 1 and 2 * used[0] <= len(keys)
        require(sized, "its table of leaders has a wrong size")
        return state


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

    def load(self, state: Any, arrays: Arrays) -> Any:
        state = super().load(state, arrays)
        mates = state.workspace.kept_mate
        require(np.all(mates != np.arange(len(mates))), "a player is its own mate")
        return state

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
    return leader.order[: 2 * leader.couple_count[0]].astype(np.int64).reshape(-1, 2)


def couples_in_order(order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the couples of successive players; an odd one is left out."""
    return np.sort(order[: len(order) // 2 * 2].reshape(-1, 2), axis=1)
