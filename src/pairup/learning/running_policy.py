"""RunningPolicy: a policy with its state, and the compiled steps that work on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.checks import checked_seed
from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.matchings.graph_matcher import NOBODY, GraphMatcher, new_graph_matcher
from pairup.compiled.proposal_check import explain_broken_rule
from pairup.compiled.randomness import POLICY, stream_key
from pairup.compiled.steps import (
    observe_answers_step,
    observe_step,
    propose_step,
    set_available_step,
)
from pairup.compiled.third_party import for_state
from pairup.errors import PolicyError
from pairup.learning.feedback import ObservedCouples
from pairup.learning.roster import Couples
from pairup.policies.contract import Interruptions, Policy, Slots, StartContext
from pairup.policies.couple_counts import CoupleCounts, Integers, observe_counts
from pairup.policies.deviation import ConcentrationChances
from pairup.problem.meeting_graph import MeetingGraph

_MIN_CAPACITY = 4


class RunningPolicy:
    """A policy at work on the players in some slots. It knows slots, not names.

    `capacity`, the number of slots there is room for, grows with the players known.
    """

    def __init__(self, policy: Policy, seed: int, capacity: int) -> None:
        policy.check_sides(None)  # live players are on one side
        self.policy = policy
        self.seed = checked_seed(seed)
        self.capacity = capacity
        self._state = self._started(capacity)
        self._is_present = np.zeros(capacity, np.bool_)  # by slot
        self._count = 0  # players present
        self._present: Slots | None = None  # their slots, None if those changed
        self._is_told_present = True  # whether the state knows them
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

    @property
    def present(self) -> Slots:
        """The slots of the players present, ascending."""
        if self._present is None:
            self._present = np.flatnonzero(self._is_present)
        return self._present

    def enter(self, slot: int) -> None:
        """Admit the player in a slot; an error leaves everything as it was.

        The policy learns of it when its state is used next, once for all who joined and left.
        """
        self.policy.check_players(self._count + 1)
        self.provide_for(slot)
        self._is_present[slot] = True
        self._note_present(self._count + 1)

    def leave(self, slot: int) -> None:
        """Remove the player in a slot, who may come back; see `forget`."""
        self._is_present[slot] = False
        self._note_present(self._count - 1)

    def forget(self, slot: int, rate: float | None = None) -> None:
        """Erase what was learnt of the player in a slot, before it goes; a policy may refuse."""
        if rate is None:
            self.policy.forget(self._state, slot)
        else:
            self.policy.forget(self._state, slot, rate)
        self._available = None

    def set_present(self, present: Slots) -> None:
        """Admit all players in some slots, and remove all others."""
        self.policy.check_players(len(present))
        self.provide_for(int(present.max(initial=-1)))
        self._is_present[:] = False
        self._is_present[present] = True
        self._note_present(len(present))

    def provide_for(self, slot: int) -> None:
        """Make room for a slot: capacity doubles, so that growth costs little per player."""
        capacity = self.capacity
        while slot >= capacity:
            capacity = max(2 * capacity, _MIN_CAPACITY)
        if capacity > self.capacity:
            larger = self._started(capacity)
            self.policy.set_present(larger, self.present)
            self.state = self.policy.load(larger, self.policy.saved(self.state))
            self._is_present = np.pad(self._is_present, (0, capacity - self.capacity))
            self.capacity, self._available = capacity, None

    @contextmanager
    def unless_error(self) -> Iterator[None]:
        """Take back who came, and the room that was made for them, if an error comes."""
        before = vars(self) | {"_is_present": self._is_present.copy()}
        try:
            yield
        except BaseException:
            is_told_of_others = self._is_told_present and self._count != before["_count"]
            vars(self).update(before)
            # Nobody else came or went: to say so would let policies begin their exploration again.
            if is_told_of_others:
                self._note_present(self._count)
            raise

    def _note_present(self, count: int) -> None:
        self._count, self._present, self._available = count, None, None
        # Most policies do not ask.
        self._is_told_present = type(self.policy).set_present is Policy.set_present

    @contextmanager
    def redrawing(self, stream: int) -> Iterator[None]:
        """Propose from another stream of draws while the block runs; nothing of that stays."""
        self._catch_up()
        state, context = self.state, self._context(self.capacity, stream)
        before = dict(vars(self))
        self.state = self.policy.redrawn(state, self.present, context)
        self._available = None
        try:
            yield
        finally:
            vars(self).update(before)

    @property
    def redraws_quickly(self) -> bool:
        """Whether the players known are few enough for `redrawing` to take little time."""
        return self.capacity <= self.policy.max_redrawn

    @property
    def draws_next(self) -> bool:
        """Whether the next proposal depends on a draw."""
        self._catch_up()
        return self.policy.draws_next(self.state)

    def propose(self, available: Slots) -> Couples:
        """Couple the players in the slots `available`, at least two, but for an odd one out.

        Whether the matching is proposed, which counts as a round, is for the caller to decide.
        """
        self._catch_up()
        self._set_available(available)
        couples = np.zeros((len(available) // 2, 2), np.int64)
        step, interruptions = for_state(propose_step, self.state), Interruptions(self.policy)
        while interruptions.is_one(status := step(self.state, couples)):
            self.state = interruptions.resolved(self.state, status, 0)
        if not is_ours(type(self.policy)):
            self._check(status, couples, available)
        self.rounds_seen = self.rounds + 1
        return couples

    def propose_on_graph(
        self, available: Slots, graph: MeetingGraph, standing: NDArray[np.float64] | None = None
    ) -> Couples:
        """Couple players in the slots `available` who may meet; others wait.

        `standing` has a number for each slot, if the weights of couples are near products of two:
        the search for the best matching then starts near its end. It finds the same one.
        """
        self.policy.check_graph()
        self._catch_up()
        context = self._context(self.capacity)
        matcher = new_graph_matcher(*graph.compiled())
        if standing is not None:
            _start_near(matcher, standing[available] * np.sqrt(_scale(matcher, graph)), available)
        state = self.policy.on_graph(self.state, matcher, context)
        self._available = None  # the policy may note it in its own state too
        set_available_step(state, available)
        couples = np.full((len(available) // 2, 2), NOBODY, np.int64)
        propose_step(state, couples)
        self.rounds_seen = self.rounds + 1
        return couples[couples[:, 0] != NOBODY]

    def _check(self, status: int, couples: NDArray[np.int64], available: Slots) -> None:
        """Refuse a proposal that is not a matching of the players available."""
        broken = explain_broken_rule(status, couples, available)
        if broken:
            raise PolicyError(f"{self.policy.name} broke a rule: {broken}")

    def leader(self, available: Slots) -> Couples | None:
        """List the couples that look best among the slots `available`, best first, if known."""
        self._catch_up()
        self._set_available(available)
        couples = self.policy.leader(self.state)
        if couples is None:
            return None
        return couples[couples[:, 1] < self.capacity]  # not the phantom's

    def observe(self, observed: ObservedCouples) -> None:
        """Learn from feedback: from answers if the policy can, else from outcomes."""
        if len(observed.couples):
            self.state = self._observed(self.state, observed)

    def learn(self, observed: ObservedCouples) -> None:
        """Learn a history, which may be more than all that was known."""
        if len(observed.couples):
            self.observe(observed)
            self._warm_up(len(observed.couples))

    def _observed(self, state: Any, observed: ObservedCouples) -> Any:
        couples, told = observed.couples, observed.told
        state = self.policy.reserve(state, couples)
        if not self.policy.learns_from_answers or not told.any():
            for_state(observe_step, state)(state, couples, observed.played)
            return state
        if not told.all():
            for_state(observe_step, state)(state, couples[~told], observed.played[~told])
        answers = observed.answers[told].astype(np.int64)
        for_state(observe_answers_step, state)(state, couples[told], answers)
        return state

    def observe_counts(self, counts: CoupleCounts) -> None:
        """Learn outcomes that were counted elsewhere, couple by couple, games first."""
        self.state = self.policy.reserve(self.state, counts.couples)
        observe_counts(self.state, counts)
        self._warm_up(int(counts.tries.sum()))

    def _warm_up(self, outcomes: int) -> None:
        self.policy.warm_up(self.state, outcomes)
        self._available = None  # the policy may have looked at others

    def record_round(self) -> None:
        """Note that a matching was proposed: where evidence fades, it does so by a round."""
        self.rounds += 1
        if self.policy.half_lives_per_round:
            self.fade(self.policy.half_lives_per_round)

    def fade(self, half_lives: float) -> None:
        """Fade what was observed; a policy may refuse."""
        self.policy.fade(self.state, half_lives)
        # Players of whom nothing is left become equals, whatever their order was.
        self._available = None

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

    def concentrations(self) -> ConcentrationChances | None:
        """How closely couples follow the rates of their players, if that is learned."""
        return self.policy.concentrations(self.state)

    def _started(self, capacity: int) -> Any:
        return self.policy.start(self._context(capacity))

    def _context(self, capacity: int, stream: int = 0) -> StartContext:
        return StartContext(capacity, np.uint64(stream_key(self.seed, stream, POLICY)))

    def _catch_up(self) -> None:
        if self.rounds_seen < self.rounds:
            self.state = self.policy.catch_up(self.state, self.rounds)
            self.rounds_seen, self._available = self.rounds, None

    def _set_available(self, available: Slots) -> None:
        if self._available is None or not np.array_equal(available, self._available):
            self._available = available
            for_state(set_available_step, self.state)(self.state, available)


def _start_near(matcher: GraphMatcher, standing: NDArray[np.float64], slots: Slots) -> None:
    """Start the search from neighbours in the order of their standing, and half its square.

    These duals fit: a product is at most half the sum of the squares.
    """
    order = slots[np.argsort(-standing, kind="stable")]
    even = len(order) // 2 * 2
    one, other = order[:even:2], order[1:even:2]
    matcher.workspace.mate[one], matcher.workspace.mate[other] = other, one
    matcher.workspace.dual[slots] = 0.5 * standing**2


def _scale(matcher: GraphMatcher, graph: MeetingGraph) -> float:
    """Return by how much the worth of games is scaled."""
    greatest = graph.worth.max(initial=0.0)
    return float(matcher.worth.max(initial=0.0) / greatest) if greatest > 0.0 else 1.0
