"""Learner: a policy on duty, with players by name and outcomes as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from pairup.checks import checked_seed
from pairup.errors import ObservationError, PolicyError
from pairup.kernels.runtime.compilation import for_state
from pairup.kernels.runtime.dispatch import (
    FULL,
    observe_answers_step,
    observe_step,
    propose_step,
    set_available_step,
)
from pairup.kernels.runtime.randomness import POLICY, stream_key
from pairup.learning import serialization
from pairup.learning.estimates import Couple, Estimate, Rate, known_couples
from pairup.learning.exclusions import kept_apart
from pairup.learning.observation import Accepted, Observation, Observed, Played, read_observation
from pairup.learning.roster import Roster, SlotCouple
from pairup.matching import Matching
from pairup.policies.base import Policy, StartContext, get_policy
from pairup.states.saved_arrays import Arrays, reading, require

_LEAST_ROOM = 4
_CODES = {True: 1, False: 0, None: -1}  # of an answer, to the compiled steps


class Learner:
    """A policy that learns live.

    Made by `Policy.learner`. Outcomes may come late, in any order, and for some couples only;
    players may join and leave. An error leaves the learner as it was.

    Parameters
    ----------
    policy : Policy
        The rule to follow.
    players : iterable of hashable
        Names of the players present, in any number.
    seed : int
        Seed of the policy's own random draws, at least 0.

    Examples
    --------
    >>> from pairup import Unimodal
    >>> learner = Unimodal().learner(["ann", "bob", "cyd", "dan", "eve"], seed=1)
    >>> matching = learner.propose(available=["ann", "bob", "cyd"])
    >>> len(matching), len(matching.waiting)
    (1, 1)
    >>> learner.observe(matching, [True])
    >>> learner.estimates()[0].rate
    1.0
    >>> copy = type(learner).from_bytes(learner.to_bytes())
    >>> copy.propose() == learner.propose()
    True
    """

    def __init__(self, policy: Policy, players: Iterable[Hashable], seed: int = 0) -> None:
        self._policy = policy
        self._seed = checked_seed(seed)
        self._roster = Roster(players)
        self._capacity = len(self._roster.players)
        self._awaited: dict[SlotCouple, int] = {}
        self._state = policy.start(self._context(self._capacity))
        self._set_present()

    @property
    def policy(self) -> Policy:
        """The rule it follows."""
        return self._policy

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players present, in the order of their slots."""
        return self._roster.players

    @property
    def leader(self) -> Matching | None:
        """The matching of all players present that looks best now, best couple first.

        None when the policy has no such opinion.
        """
        return self.leader_among()

    def leader_among(self, available: Iterable[Hashable] | None = None) -> Matching | None:
        """Return the matching of some of the players that looks best now, by default of all.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> len(Unimodal().learner("abcd").leader_among(["b", "d"]))
        1
        """
        slots = self._present
        if available is not None:
            slots = self._roster.slots_of(available)
        self._seat(slots)
        couples = self._policy.leader(self._state)
        return None if couples is None else self._matching(couples, slots)

    @property
    def pending(self) -> dict[Couple, int]:
        """The couples proposed whose outcomes are not known yet, and how many are due."""
        name = self._roster.name
        return {(name(i), name(j)): due for (i, j), due in self._awaited.items()}

    def propose(
        self,
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
    ) -> Matching:
        """Propose a matching of the players available now, by default all who are present.

        An odd one out stays waiting.

        Parameters
        ----------
        available
            Some of the players present.
        apart
            Couples that must not meet now. What the policy proposes is mended: other couples are
            kept as far as possible, and who finds no partner stays waiting.

        Examples
        --------
        >>> from pairup import Uniform
        >>> learner = Uniform().learner(["ann", "bob", "cyd", "dan"])
        >>> learner.propose(apart=[("ann", "bob"), ("ann", "cyd")])
        Matching(ann-dan, bob-cyd)
        """
        slots = self._present if available is None else self._roster.slots_of(available)
        forbidden = set(self._roster.slot_couples("apart", apart))
        if len(slots) < 2:
            return Matching((), [self._roster.name(slot) for slot in slots.tolist()])
        self._seat(slots)
        couples = np.zeros((len(slots) // 2, 2), np.int64)
        propose = for_state(propose_step, self._state)
        while propose(self._state, couples) == FULL:
            self._state = self._policy.grow(self._state)
        rows: list[SlotCouple] = [(i, j) for i, j in couples.tolist()]
        if forbidden:
            rows = kept_apart(rows, slots.tolist(), forbidden, self._worth)
        for row in rows:
            self._awaited[row] = self._awaited.get(row, 0) + 1
        return self._matching(np.array(rows, np.int64).reshape(-1, 2), slots)

    def withdraw(self, matching: Matching | Iterable[Iterable[Hashable]]) -> None:
        """Take back couples that were proposed: nothing is learnt, no outcome is awaited.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.withdraw(learner.propose())
        >>> learner.pending
        {}
        """
        rows = self._roster.slot_couples("a matching", matching)
        self._settle(Counter(rows))

    def observe(
        self,
        matching: Matching | Iterable[Iterable[Hashable]],
        played: Played = None,
        *,
        accepted: Accepted = None,
    ) -> None:
        """Learn which couples played, or who accepted.

        Parameters
        ----------
        matching
            Couples that were proposed, all of a matching or some of it.
        played
            For each couple whether it played: booleans in the order of the couples, or a mapping
            from couples (in either order), in which couples not known yet may be missing.
        accepted
            Whether each player accepted; who is missing is not known to have declined. A couple
            played if both accepted, and did not if one declined; of others `played` must tell, or
            they remain awaited. Policies that know no players learn just which couples played.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), accepted={"ann": True, "bob": False})
        >>> learner.estimates()[0].rate
        0.0
        """
        observed = read_observation(self._roster, matching, played, accepted)
        self._settle(Counter(couple for couple, _ in observed))
        self._learn(observed)

    def _learn(self, observed: Observation) -> None:
        """Hand feedback to the policy: the answers if it learns from them, else the outcomes."""
        by_answers, by_outcome = list[Observed](), list[Observed]()
        for each in observed:
            answered = each[1].accepted != (None, None)
            (by_answers if answered and self._policy.learns_from_answers else by_outcome).append(
                each
            )
        if by_outcome:
            games = np.array([feedback.decision for _, feedback in by_outcome], np.bool_)
            for_state(observe_step, self._state)(self._state, _slots(by_outcome), games)
        if by_answers:
            answers = [
                [_CODES[answer] for answer in feedback.completed.accepted]
                for _, feedback in by_answers
            ]
            step = for_state(observe_answers_step, self._state)
            step(self._state, _slots(by_answers), np.array(answers, np.int64))

    def join(self, player: Hashable) -> None:
        """Let a player in."""
        slot = self._roster.join(player)
        before = self._state, self._capacity
        try:
            if slot >= self._capacity:
                self._enlarge()
            self._set_present()
        except (MemoryError, PolicyError):  # no room, or a policy for fewer players
            self._roster.leave(player)
            self._state, self._capacity = before
            raise

    def leave(self, player: Hashable) -> None:
        """Let a player go; what was learnt about it is forgotten, and outcomes still due lapse."""
        slot = self._roster.leave(player)
        self._awaited = {row: due for row, due in self._awaited.items() if slot not in row}
        self._policy.forget(self._state, slot)
        self._set_present()

    def estimates(self, limit: int | None = None) -> list[Estimate]:
        """List what is known of each couple with a known outcome, the best rate first.

        Parameters
        ----------
        limit
            Only so many couples, those proposed most often.
        """
        statistics = self._policy.statistics(self._state)
        if statistics is None:
            return []
        return known_couples(*statistics, self._roster.name, limit)

    @property
    def couples_known(self) -> int:
        """Number of couples with a known outcome."""
        statistics = self._policy.statistics(self._state)
        return 0 if statistics is None else int(np.count_nonzero(statistics[0]))

    def rates(self) -> list[Rate]:
        """List each player's estimated acceptance rate, the best first.

        Empty when the policy estimates couples only.
        """
        estimated = self._policy.player_rates(self._state)
        if estimated is None:
            return []
        rates, deviations = estimated
        name = self._roster.name
        known = [Rate(name(i), float(rates[i]), float(deviations[i])) for i in self._present]
        return sorted(known, key=lambda rate: rate.rate, reverse=True)

    def play_probabilities(self, couples: Iterable[Iterable[Hashable]]) -> list[float | None]:
        """Estimate how likely each couple is to play.

        The product of its players' rates if the policy estimates those. Otherwise, from p proposals
        of which g were played, (g + 1) / (p + 2), the mean under a uniform prior; None where a
        policy counts nothing.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.observe(learner.propose(["ann", "bob"]), [True])
        >>> learner.play_probabilities([("bob", "ann"), ("ann", "cyd")])
        [0.6666666666666666, 0.5]
        """
        rows = self._roster.slot_couples("couples", couples)
        estimated = self._policy.player_rates(self._state)
        if estimated is not None:
            rates, _ = estimated
            return [float(rates[i]) * float(rates[j]) for i, j in rows]
        statistics = self._policy.statistics(self._state)
        if statistics is None:
            return [None] * len(rows)
        tries, games = statistics
        return [(int(games[row]) + 1) / (int(tries[row]) + 2) for row in rows]

    def with_policy(self, policy: Policy, seed: int = 0) -> Learner:
        """Go on under another policy, which is told how often each couple was proposed and played.

        Outcomes that are awaited remain so. Who accepted is not told: it is not counted by couple.

        Examples
        --------
        >>> from pairup import EpsilonGreedy, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), [True])
        >>> learner.with_policy(EpsilonGreedy()).estimates()[0].rate
        1.0
        """
        other = Learner.__new__(Learner)
        other._policy, other._seed, other._capacity = policy, checked_seed(seed), self._capacity
        other._roster = Roster.unpacked(self._roster.packed(), self._capacity)
        other._awaited = dict(self._awaited)
        other._state = policy.start(other._context(other._capacity))
        other._set_present()
        other._adopt(*(self._policy.statistics(self._state) or (np.zeros((0, 0), np.int64),) * 2))
        return other

    def _adopt(self, tries: np.ndarray, games: np.ndarray) -> None:
        """Learn outcomes counted elsewhere, couple by couple, those played first."""
        couples = np.argwhere(tries)
        times, played = tries[tuple(couples.T)], games[tuple(couples.T)]
        rows = np.repeat(couples, times, axis=0).astype(np.int64)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        if len(rows):
            step = for_state(observe_step, self._state)
            step(self._state, rows, within < np.repeat(played, times))

    def to_bytes(self) -> bytes:
        """Save the learner in a portable, versioned form; see `from_bytes`.

        Players' names must be strings, integers or tuples of those.
        """
        header = {
            "policy": self._policy.name,
            "options": self._policy.options,
            "seed": self._seed,
            "capacity": self._capacity,
            "players": self._roster.packed(),
            "awaited": [[*row, due] for row, due in sorted(self._awaited.items())],
        }
        return serialization.pack(header, self._policy.saved(self._state))

    @classmethod
    def from_bytes(cls, data: bytes) -> Learner:
        """Load a saved learner, which goes on as if it had never stopped.

        Raises
        ------
        ArchiveError
            The bytes are no saved learner, are damaged, or of another version.
        """
        header, arrays = serialization.unpack(data)
        learner = cls.__new__(cls)
        with reading():
            learner._restore(header, arrays)
        return learner

    def _restore(self, header: dict[str, Any], arrays: Arrays) -> None:
        self._policy = get_policy(header["policy"], **header["options"])
        self._seed, self._capacity = checked_seed(header["seed"]), header["capacity"]
        self._roster = Roster.unpacked(header["players"], self._capacity)
        self._awaited = {(i, j): due for i, j, due in header["awaited"]}
        self._state = self._policy.start(self._context(self._capacity))
        self._set_present()
        self._state = self._policy.load(self._state, arrays)
        present = set(self._present.tolist())
        for (i, j), due in self._awaited.items():
            couple = i < j and {i, j} <= present and due > 0
            require(couple, f"it awaits {due} outcomes of slots {i} and {j}")
        tries, _ = self._policy.statistics(self._state) or (np.zeros((0, 0)),) * 2
        known = set(np.flatnonzero(tries.any(axis=0) | tries.any(axis=1)).tolist())
        require(known <= present, "it knows players who are not present")

    def _context(self, capacity: int) -> StartContext:
        return StartContext(capacity, np.uint64(stream_key(self._seed, 0, POLICY)))

    def _set_present(self) -> None:
        """Tell the policy who is present; nobody is seated until the next proposal."""
        present = self._roster.slots
        self._policy.check_players(len(present))
        self._policy.set_present(self._state, present)
        self._present = present
        self._seated: np.ndarray | None = None

    def _seat(self, slots: np.ndarray) -> None:
        """Seat the players in `slots`, unless just they are seated already."""
        if self._seated is None or not np.array_equal(slots, self._seated):
            self._seated = slots
            for_state(set_available_step, self._state)(self._state, slots)

    def _enlarge(self) -> None:
        """Double the room, so that n players who join cost n^2 in all."""
        capacity = max(2 * self._capacity, _LEAST_ROOM)
        larger = self._policy.start(self._context(capacity))
        self._policy.set_present(larger, self._present)
        self._state = self._policy.load(larger, self._policy.saved(self._state))
        self._capacity = capacity

    def _worth(self, slots: np.ndarray) -> np.ndarray:
        """Say how good each couple among `slots` looks: its chance to play, 0 if unknown."""
        square = np.ix_(slots, slots)
        estimated = self._policy.player_rates(self._state)
        if estimated is not None:
            return np.outer(estimated[0][slots], estimated[0][slots])
        statistics = self._policy.statistics(self._state)
        if statistics is None:
            return np.zeros((len(slots), len(slots)))
        tries, games = (each[square] for each in statistics)
        return (games + games.T + 1) / (tries + tries.T + 2)

    def _settle(self, known: Counter[SlotCouple]) -> None:
        """Strike couples off those awaited, all or none."""
        for row, times in known.items():
            if self._awaited.get(row, 0) < times:
                raise ObservationError(
                    f"no outcome of {self._roster.describe(row)} is awaited: observe a couple once "
                    "for each time it was proposed"
                )
        for row, times in known.items():
            self._awaited[row] -= times
            if not self._awaited[row]:
                del self._awaited[row]

    def _matching(self, couples: np.ndarray, slots: np.ndarray) -> Matching:
        """Name the players of `couples`; who of `slots` is in none, or with the phantom, waits."""
        name = self._roster.name
        rows = [(i, j) for i, j in couples.tolist() if j < self._capacity]
        coupled = {slot for row in rows for slot in row}
        return Matching(
            [(name(i), name(j)) for i, j in rows],
            [name(slot) for slot in slots.tolist() if slot not in coupled],
        )


def _slots(observed: Observation) -> np.ndarray:
    return np.array([couple for couple, _ in observed], np.int64)
