"""RunningPolicy: a policy with its state, and the compiled steps that work on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.checks import checked_seed
from pairup.errors import PolicyError
from pairup.kernels.graph_matcher import NOBODY, new_graph_matcher
from pairup.kernels.runtime.compilation import is_ours
from pairup.kernels.runtime.dispatch import (
    FULL,
    observe_answers_step,
    observe_step,
    propose_step,
    set_available_step,
)
from pairup.kernels.runtime.foreign_steps import for_state
from pairup.kernels.runtime.proposal_check import explain_broken_rule
from pairup.kernels.runtime.randomness import POLICY, stream_key
from pairup.learning.observation import ObservedCouples
from pairup.learning.roster import SlotCouple
from pairup.meeting_graph import MeetingGraph
from pairup.policies.base import Policy, Slots, StartContext
from pairup.policies.couple_counts import CoupleCounts, Integers, observe_counts
from pairup.policies.growth import Growth

_MIN_CAPACITY = 4
_ANSWER_CODES = {True: 1, False: 0, None: -1}  # of the compiled steps


class RunningPolicy:
    """A policy at work on the players in some slots. It knows slots, not names.

    `capacity`, the number of slots there is room for, grows with the players present.
    """

    def __init__(self, policy: Policy, seed: int, capacity: int) -> None:
        self.policy = policy
        self.seed = checked_seed(seed)
        self.capacity = capacity
        self._state = self._started(capacity)
        self.present: Slots = np.zeros(0, np.int64)
        self._is_told_present = True  # of who is present now
        self.rounds = 0  # matchings proposed so far, by this policy or by others
        self.rounds_seen = 0  # ... that are in the state
        self._available: Slots | None = None

    @property
    def state(self) -> Any:
        """The policy's state, which knows the players present."""
        if not self._is_told_present:
            self.policy.set_present(self._state, self.present)
            self._is_told_present = True
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        self._state = state

    def set_present(self, present: Slots) -> None:
        """Note which slots have a player, ascending; an error leaves everything as it was.

        The policy is told when its state is used next, once for all who came and went.
        """
        self.policy.check_players(len(present))
        if len(present) and present[-1] >= self.capacity:
            self._enlarge()
        self.present, self._available = present, None
        # Most policies do not ask.
        self._is_told_present = type(self.policy).set_present is Policy.set_present

    def propose(self, available: Slots) -> list[SlotCouple]:
        """Couple the players in the slots `available`, at least two, but for an odd one out.

        Whether the matching is proposed, which counts as a round, is for the caller to decide.
        """
        self._catch_up()
        self._set_available(available)
        couples = np.zeros((len(available) // 2, 2), np.int64)
        step, growth = for_state(propose_step, self.state), Growth(self.policy)
        while (status := step(self.state, couples)) == FULL:
            self.state = growth.grown(self.state, 0)
        if not is_ours(type(self.policy)):
            self._check(status, couples, available)
        self.rounds_seen = self.rounds + 1
        return [(i, j) for i, j in couples.tolist()]

    def propose_on_graph(self, available: Slots, graph: MeetingGraph) -> list[SlotCouple]:
        """Couple players in the slots `available` who may meet; others wait."""
        self.policy.check_graph()
        self._catch_up()
        context = self._context(self.capacity)
        matcher = new_graph_matcher(*graph.compiled())
        state = self.policy.on_graph(self.state, matcher, context)
        set_available_step(state, available)
        couples = np.full((len(available) // 2, 2), NOBODY, np.int64)
        propose_step(state, couples)
        self.rounds_seen = self.rounds + 1
        return [(i, j) for i, j in couples.tolist() if i != NOBODY]

    def _check(self, status: int, couples: NDArray[np.int64], available: Slots) -> None:
        """Refuse a proposal that is not a matching of the players available."""
        broken = explain_broken_rule(status, couples, available)
        if broken:
            raise PolicyError(f"{self.policy.name} broke a rule: {broken}")

    def leader(self, available: Slots) -> list[SlotCouple] | None:
        """List the couples that look best among the slots `available`, best first, if known."""
        self._catch_up()
        self._set_available(available)
        couples = self.policy.leader(self.state)
        if couples is None:
            return None
        return [(i, j) for i, j in couples.tolist() if j < self.capacity]  # not the phantom's

    def observe(self, observed: ObservedCouples) -> None:
        """Learn from feedback: from answers if the policy can, else from outcomes."""
        by_answers = ObservedCouples()
        by_outcome = ObservedCouples()
        for couple, feedback in observed:
            answered = self.policy.learns_from_answers and feedback.accepted != (None, None)
            (by_answers if answered else by_outcome).append((couple, feedback))
        if by_outcome:
            couples = np.array([couple for couple, _ in by_outcome], np.int64)
            played = np.array([feedback.decision for _, feedback in by_outcome], np.bool_)
            self.state = self.policy.reserve(self.state, couples)
            for_state(observe_step, self.state)(self.state, couples, played)
        if by_answers:
            couples = np.array([couple for couple, _ in by_answers], np.int64)
            answers = [feedback.completed.accepted for _, feedback in by_answers]
            codes = [[_ANSWER_CODES[one], _ANSWER_CODES[other]] for one, other in answers]
            self.state = self.policy.reserve(self.state, couples)
            step = for_state(observe_answers_step, self.state)
            step(self.state, couples, np.array(codes, np.int64))

    def observe_counts(self, counts: CoupleCounts) -> None:
        """Learn outcomes that were counted elsewhere, couple by couple, games first."""
        self.state = self.policy.reserve(self.state, counts.couples)
        observe_counts(self.state, counts)

    def forget(self, slot: int) -> None:
        """Erase what was learnt of the player in a slot; a policy may refuse."""
        self.policy.forget(self._state, slot)

    @property
    def statistics(self) -> CoupleCounts | None:
        """How often each couple that has met was proposed and played, if counted."""
        return self.policy.statistics(self.state)

    def couple_counts(self, one: Integers, other: Integers) -> tuple[Integers, Integers] | None:
        """How often some couples were proposed and played, if counted."""
        return self.policy.couple_counts(self.state, one, other)

    def player_rates(self, slots: Slots) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Estimated rates of the players in some slots and their deviations, if there are any."""
        self._catch_up()
        return self.policy.player_rates(self.state, slots)

    def _started(self, capacity: int) -> Any:
        return self.policy.start(self._context(capacity))

    def _context(self, capacity: int) -> StartContext:
        return StartContext(capacity, np.uint64(stream_key(self.seed, 0, POLICY)))

    def _catch_up(self) -> None:
        if self.rounds_seen < self.rounds:
            self.state = self.policy.catch_up(self.state, self.rounds)
            self.rounds_seen, self._available = self.rounds, None

    def _set_available(self, available: Slots) -> None:
        if self._available is None or not np.array_equal(available, self._available):
            self._available = available
            for_state(set_available_step, self.state)(self.state, available)

    def _enlarge(self) -> None:
        """Double the capacity, so that growth costs little per player who joins."""
        capacity = max(2 * self.capacity, _MIN_CAPACITY)
        larger = self._started(capacity)
        self.policy.set_present(larger, self.present)
        self.state = self.policy.load(larger, self.policy.saved(self.state))
        self.capacity = capacity
