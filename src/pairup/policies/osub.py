"""Optimal sampling for unimodal bandits, with matchings for arms."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import greedy_leader, leader_counts
from pairup.kernels import osub as kernel
from pairup.kernels.allocation import new_arrays
from pairup.kernels.couple_statistics import new_couple_statistics
from pairup.kernels.greedy_leader import new_leader
from pairup.kernels.state_layout import ARMS, AVAILABLE, MAX_ARMS, PRESENT, TOP, new_counters
from pairup.policies.base import Slots, StartContext
from pairup.policies.couples import CouplePolicy, couples_of
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers, require

_ALL_OF_EIGHT = 105  # matchings of eight players
_SAVED = ("tries", "games", "led", "used")  # of each arm
_MEMORY = 8  # arms kept of more players, in neighbourhoods of 2L - 1 arms


@register
@dataclass(frozen=True)
class OSUB(CouplePolicy):
    """Optimism about whole matchings around the leader (Combes and Proutiere, 2014).

    Each matching is an arm that knows its own rounds alone: how often it was played, and the mean
    share of its couples that played. The leader is the arm with the best mean. It is played every
    (2L - 1)-th time that it leads; otherwise, of the leader and its neighbours in the paper's
    graph, the arm with the best KL index. `Unimodal(compare="matchings")` is the same rule with
    what is known of each couple shared by all matchings that have it.

    Notes
    -----
    It remembers all matchings of up to eight players, and of more the 8 (2L - 1) matchings used
    last, so that its memory is O(L^2); one forgotten is an arm never tried. Only outcomes of a
    whole matching that are observed together count for it: others only tell how to order the
    couples of the leader. When players join or leave, all matchings change, and it starts from
    the greedy matching by what is known of the couples. When not everyone is available, that greedy
    matching is proposed, or now and then one of its neighbours.

    Examples
    --------
    >>> from pairup import OSUB, Problem, simulate
    >>> problem = Problem.around(0.5, 2, 0.4)
    >>> run = simulate(problem, OSUB(), rounds=2_000, replications=4)
    >>> run.mean()[-1] < 120  # of the 213 that matchings drawn at random lose
    np.True_
    """

    name: ClassVar[str] = "osub"
    nominal_ns: ClassVar[int] = 200

    def start(self, context: StartContext) -> kernel.OsubState:
        count = max(_max_arms(context.capacity), _ALL_OF_EIGHT)
        arms = kernel.Arms(
            table=leader_counts.new_counts(1 << (2 * count).bit_length()),
            key=np.zeros(count, np.uint64),
            order=np.zeros((count, context.slots + 1), np.int32),
            mean=np.zeros(count),
            **new_arrays(_SAVED, count, np.int64),
        )
        return kernel.OsubState(
            stats=new_couple_statistics(context.slots),
            greedy=new_leader(context.slots),
            front=new_leader(context.slots),
            arms=arms,
            keys=context.keys(3),
            now=new_counters({TOP: kernel.UNKNOWN}),
            present=np.zeros(context.slots, np.int64),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        # Matchings of other players are dropped.
        state.now[PRESENT] = len(present)
        state.now[MAX_ARMS] = _max_arms(len(present))
        state.now[ARMS], state.now[TOP] = 0, kernel.UNKNOWN
        leader_counts.clear(state.arms.table)
        state.present[: len(present)] = present

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        arms, count = state.arms, state.now[ARMS]
        couples = (state.now[PRESENT] + 1) // 2
        order = arms.order[:count, : 2 * couples].astype(np.int64)
        # The phantom's slot moves when the capacity grows, so it is saved as -1.
        order = np.where(order == len(state.greedy.place) - 1, -1, order)
        saved = {f"arm_{name}": getattr(arms, name)[:count] for name in _SAVED}
        return super().saved(state) | {"arms": order.ravel()} | saved

    def load(self, state: Any, arrays: Arrays) -> kernel.OsubState:
        super().load(state, arrays)
        saved = {name: numbers(arrays, f"arm_{name}") for name in _SAVED}
        tries, games = saved["tries"], saved["games"]
        count, present = len(tries), state.now[PRESENT]
        complete = all(len(array) == count for array in saved.values())
        require(complete, "its arms are incomplete")
        require(count <= state.now[MAX_ARMS], "it has more arms than it keeps")
        require(np.all(games <= tries * (present // 2)), "its arms have more games than proposals")
        arms = state.arms
        order = numbers(arrays, "arms", minimum=-1).reshape(count, -1) if count else arms.order[:0]
        order = np.where(order < 0, len(state.greedy.place) - 1, order)
        self._check_matchings(state, order)
        state.now[ARMS] = count
        arms.order[:count, : order.shape[1]] = order
        for name, array in saved.items():
            getattr(arms, name)[:count] = array
        require(kernel.enter_all(state), "two of its arms are the same")
        return state

    @staticmethod
    def _check_matchings(state: Any, order: NDArray[np.int64]) -> None:
        """Refuse arms that are not matchings of the players present, couples in ascending order."""
        players = state.present[: state.now[PRESENT]]
        if len(players) % 2:
            players = np.append(players, len(state.greedy.place) - 1)
        if len(order):
            require(order.shape[1] == len(players), "its arms are of other players")
            require(np.all(np.sort(order, axis=1) == players), "its arms are of other players")
            require(np.all(order[:, ::2] < order[:, 1::2]), "its arms have couples out of order")

    def leader(self, state: Any) -> NDArray[np.int64]:
        # For some of the players, who have no arms, the greedy one.
        if state.now[AVAILABLE] != state.now[PRESENT]:
            greedy_leader.update(state.greedy, state.stats, state.keys[0])
            return couples_of(state.greedy)
        kernel.sort_leader(state)
        return couples_of(state.front)


def _max_arms(players: int) -> int:
    return _ALL_OF_EIGHT if players <= 8 else _MEMORY * (2 * ((players + 1) // 2) - 1)
