"""Learner: a policy that learns live, with players by name and outcomes as they come.

The public face of live learning, in one file because callers read it as a whole; the work is done
in the modules beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np
from numpy.typing import NDArray

from pairup.errors import ObservationError
from pairup.learning import estimates, serialization
from pairup.learning.estimates import Estimate, Rate
from pairup.learning.exclusions import replace_forbidden
from pairup.learning.learner_html import learner_html
from pairup.learning.meetings import AllowedMeetings, Worth, in_slots, read_meetings
from pairup.learning.observation import Accepted, Played, read_observation
from pairup.learning.roster import Roster, SlotCouple
from pairup.learning.running_policy import RunningPolicy
from pairup.matching import Couple, Matching
from pairup.meeting_graph import MeetingGraph
from pairup.policies.base import Policy, Slots


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
    >>> learner
    Learner(Unimodal(), 5 players, 0 outcomes pending, 1 learnt)
    >>> copy = type(learner).from_bytes(learner.to_bytes())
    >>> copy.propose() == learner.propose()
    True
    """

    wanted: Matching | None  # what the policy last proposed, before couples apart were replaced

    def __init__(self, policy: Policy, players: Iterable[Hashable], seed: int = 0) -> None:
        self._roster = Roster(players)
        self._pending = Counter[SlotCouple]()
        self.wanted = None
        self._running = RunningPolicy(policy, seed, capacity=len(self._roster.players))
        self._running.set_present(self._roster.slots)

    @classmethod
    def _of(cls, roster: Roster, pending: Counter[SlotCouple], running: RunningPolicy) -> Learner:
        learner = cls.__new__(cls)
        learner.wanted = None
        learner._roster, learner._pending, learner._running = roster, pending, running
        return learner

    @property
    def policy(self) -> Policy:
        """The rule it follows."""
        return self._running.policy

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players present, in the order of their slots."""
        return self._roster.players

    def propose(
        self,
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
        *,
        allowed: AllowedMeetings = None,
        worth: Worth = None,
    ) -> Matching:
        """Propose a matching of the players available now, by default of all players present.

        An odd one out stays waiting, and so do players who may meet nobody who is free.

        Parameters
        ----------
        available
            Some of the players present.
        apart
            Couples that must not meet now. Without `allowed` and `worth` they are replaced in what
            the policy proposes, `wanted`: other couples are kept as far as possible.
        allowed
            The couples who may meet, as a list or as a symmetric NumPy array of Booleans with a row
            and a column for each player in the order of `available`; all by default.
        worth
            What a game of each couple is worth, as a mapping from couples, 1 for those not in it,
            or as a symmetric matrix in the order of `available`; 1 by default. The policy aims at
            the most worth, and lets players wait where that is worth more.

        Raises
        ------
        PolicyError
            The policy is for complete graphs on which all games are worth the same, but not all
            couples are allowed, or worth differs.

        Examples
        --------
        >>> from pairup import RankOneThompson, Uniform
        >>> learner = Uniform().learner(["ann", "bob", "cyd", "dan"])
        >>> learner.propose(apart=[("ann", "bob"), ("ann", "cyd")])
        Matching(ann-dan, bob-cyd)
        >>> learner = RankOneThompson().learner(["ann", "bob", "cyd", "dan"])
        >>> learner.propose(allowed=[("ann", "bob"), ("bob", "cyd"), ("cyd", "dan")])
        Matching(ann-bob, cyd-dan)
        """
        matching = self.suggest(available, apart, allowed=allowed, worth=worth)
        self.record(matching)
        return matching

    def suggest(
        self,
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
        *,
        allowed: AllowedMeetings = None,
        worth: Worth = None,
    ) -> Matching:
        """Ask the policy for a matching that is not proposed yet; see `propose` and `record`.

        No outcome of it is pending. The policy's random draws go on all the same.

        Examples
        --------
        >>> from pairup import Uniform
        >>> learner = Uniform().learner(["ann", "bob", "cyd"])
        >>> matching = learner.suggest()
        >>> learner.pending
        {}
        """
        order = self._slots_in_order(available)
        slots = np.sort(order)
        excluded = set(self._roster.slot_couples("apart", apart))
        graph = self._graph(order, excluded, allowed, worth)
        if len(slots) < 2:
            return self._matching([], slots)
        if graph is not None:
            couples = wanted = self._running.propose_on_graph(slots, graph)
        else:
            couples = wanted = self._running.propose(slots)
            if excluded:
                couples = replace_forbidden(couples, slots.tolist(), excluded, self._worth)
        self.wanted = self._matching(wanted, slots)
        return self._matching(couples, slots)

    def record(self, matching: Matching) -> None:
        """Note that a matching was proposed, whoever made it; its outcomes are pending.

        A learner that is told of the proposals of another one, and observes what became of them,
        knows the same, although its policy was never asked; see `evidence`.

        Examples
        --------
        >>> from pairup import Matching, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.record(Matching([("ann", "cyd")], waiting=["bob"]))
        >>> learner.pending
        {('ann', 'cyd'): 1}
        """
        couples = self._roster.slot_couples("a matching", matching)
        self._roster.slots_of(matching.waiting)  # refuses players who are not present
        self._pending.update(couples)
        self._running.rounds += len(matching.players) > 1

    def _graph(
        self, order: Slots, excluded: set[SlotCouple], allowed: AllowedMeetings, worth: Worth
    ) -> MeetingGraph | None:
        """Read the rules of a proposal; None if all couples may meet for the same worth."""
        if allowed is None and worth is None:
            return None
        graph = read_meetings(self._roster, order, allowed, worth)
        if graph.is_complete:
            return None
        return in_slots(graph, order, self._running.capacity, excluded)

    @property
    def leader(self) -> Matching | None:
        """The matching of all players present that looks best now, None if the policy has none."""
        return self.leader_among()

    def leader_among(
        self,
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
        *,
        allowed: AllowedMeetings = None,
        worth: Worth = None,
    ) -> Matching | None:
        """Return the matching of some of the players that looks best now, best couple first.

        Parameters
        ----------
        available
            Some of the players present; all of them by default.
        apart, allowed, worth
            As for `propose`.

        Returns
        -------
        Matching or None
            None if the policy has no leader.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd", "dan"])
        >>> learner.leader_among(["bob", "dan"])
        Matching(bob-dan)
        """
        order = self._slots_in_order(available)
        slots = np.sort(order)
        excluded = set(self._roster.slot_couples("apart", apart))
        graph = self._graph(order, excluded, allowed, worth)
        if graph is not None:
            return self._leader_on_graph(graph, slots)
        couples = self._running.leader(slots)
        if couples is not None and excluded:
            couples = replace_forbidden(couples, slots.tolist(), excluded, self._worth)
        return None if couples is None else self._matching(couples, slots)

    def _leader_on_graph(self, graph: MeetingGraph, slots: Slots) -> Matching | None:
        chances = estimates.play_probabilities(self._running, graph.low, graph.high)
        if chances is None:
            return None
        best = graph.best_matching(chances)
        return self._matching([(int(i), int(j)) for i, j in best], slots)

    @property
    def pending(self) -> dict[Couple, int]:
        """The couples proposed whose outcomes are not known yet, and how many are to come."""
        names = self._roster.names
        return {(names[i], names[j]): count for (i, j), count in self._pending.items()}

    def withdraw(self, matching: Iterable[Iterable[Hashable]]) -> None:
        """Take back couples that were proposed: nothing is learnt, no outcome stays pending.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.withdraw(learner.propose())
        >>> learner.pending
        {}
        """
        self._settle(self._roster.slot_couples("a matching", matching))

    def _settle(self, couples: Iterable[SlotCouple]) -> None:
        """Strike off couples whose outcomes are known or withdrawn, all of them or none."""
        settled = Counter(couples)
        for couple, times in settled.items():
            if self._pending[couple] < times:
                raise ObservationError(
                    f"no outcome of {self._roster.describe(couple)} is pending: observe a couple "
                    "once for each time it was proposed"
                )
        for couple, times in settled.items():
            self._pending[couple] -= times
            if not self._pending[couple]:
                del self._pending[couple]

    def observe(
        self,
        matching: Iterable[Iterable[Hashable]],
        played: Played = None,
        *,
        accepted: Accepted = None,
    ) -> None:
        """Learn which couples played, or which players accepted.

        Parameters
        ----------
        matching
            Couples that were proposed, all of a matching or some of it.
        played
            For each couple whether it played: booleans in the order of the couples, or a mapping
            from couples (in either order), in which couples not known yet may be missing.
        accepted
            Whether each player accepted; a player who is missing is not known to have declined. A
            couple played if both accepted, and did not if one declined; for others `played` must
            tell, or they stay pending. Policies that know couples only learn which of them played.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), accepted={"ann": True, "bob": False})
        >>> learner.estimates()[0].rate
        0.0
        """
        observed = read_observation(self._roster, matching, played, accepted)
        self._settle(couple for couple, _ in observed)
        self._running.observe(observed)

    def join(self, player: Hashable) -> None:
        """Let a player in.

        Parameters
        ----------
        player
            Name of a player who is not present.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.join("cyd")
        >>> learner.players
        ('ann', 'bob', 'cyd')
        """
        self._roster.join(player)
        try:
            self._running.set_present(self._roster.slots)
        except BaseException:
            self._roster.leave(player)
            raise

    def leave(self, player: Hashable) -> None:
        """Let a player go: what was learnt about the player is forgotten, pending outcomes lapse.

        Parameters
        ----------
        player
            Name of a player who is present.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.leave("bob")
        >>> learner.players
        ('ann', 'cyd')
        """
        slot = self._roster.slot(player)
        self._running.forget(slot)
        self._roster.leave(player)
        for couple in [couple for couple in self._pending if slot in couple]:
            del self._pending[couple]
        self._running.set_present(self._roster.slots)

    def estimates(self, limit: int | None = None) -> list[Estimate]:
        """List what is known of each couple with a known outcome, the best rate first.

        Parameters
        ----------
        limit
            Number of couples to list at most, those proposed most often; all by default.
        """
        counts = self._running.statistics
        return (
            [] if counts is None else estimates.couple_estimates(counts, self._roster.names, limit)
        )

    @property
    def observed_couple_count(self) -> int:
        """Number of couples with a known outcome."""
        counts = self._running.statistics
        return 0 if counts is None else len(counts.tries)

    def rates(self) -> list[Rate]:
        """List each player's estimated rate, the best first; empty if only couples have one.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), accepted={"ann": True, "bob": False})
        >>> [rate.player for rate in learner.rates()]
        ['ann', 'bob']
        """
        return estimates.player_estimates(self._running, self._roster.names)

    def play_probabilities(self, couples: Iterable[Iterable[Hashable]]) -> list[float | None]:
        """Estimate how likely each couple is to play.

        The product of its players' rates if the policy estimates those. Otherwise, from p proposals
        of which g were played, (g + 1) / (p + 2), the mean under a uniform prior; None if the
        policy counts nothing.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.observe(learner.propose(["ann", "bob"]), [True])
        >>> learner.play_probabilities([("bob", "ann"), ("ann", "cyd")])
        [0.6666666666666666, 0.5]
        """
        slots = np.array(self._roster.slot_couples("couples", couples), np.int64).reshape(-1, 2)
        estimated = estimates.play_probabilities(self._running, slots[:, 0], slots[:, 1])
        return [None] * len(slots) if estimated is None else estimated.tolist()

    def with_policy(self, policy: Policy, seed: int = 0) -> Learner:
        """Go on under another policy, which is told how often each couple was proposed and played.

        Pending outcomes stay pending. Answers are not passed on: they are not counted by couple.

        Examples
        --------
        >>> from pairup import EpsilonGreedy, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), [True])
        >>> learner.with_policy(EpsilonGreedy()).estimates()[0].rate
        1.0
        """
        running = RunningPolicy(policy, seed, self._running.capacity)
        running.set_present(self._roster.slots)
        counts = self._running.statistics
        if counts is not None:
            running.observe_counts(counts)
        return self._of(self._roster.copy(), self._pending.copy(), running)

    def to_bytes(self) -> bytes:
        """Save the learner in a portable, versioned form; see `from_bytes`.

        Players' names must be strings, integers or tuples of those.

        Examples
        --------
        >>> from pairup import Learner, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd", "dan"])
        >>> Learner.from_bytes(learner.to_bytes()).players
        ('ann', 'bob', 'cyd', 'dan')
        """
        return serialization.save(self._roster, self._pending, self._running)

    @classmethod
    def from_bytes(cls, data: bytes) -> Learner:
        """Load a saved learner, which goes on as if it had never stopped.

        Raises
        ------
        ArchiveError
            The bytes are not a saved learner, are damaged, or of another version.
        """
        return cls._of(*serialization.load(data))

    def evidence(self) -> bytes:
        """Save what was observed, and of whom: the same bytes for the same facts.

        They follow from the players who joined and left, the matchings proposed and what became of
        them, under every version of the policy, and do not depend on who made the matchings.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> asked, told = (Unimodal().learner(["ann", "bob", "cyd"]) for _ in range(2))
        >>> matching = asked.propose()
        >>> told.record(matching)
        >>> for learner in (asked, told):
        ...     learner.observe(matching, [True])
        >>> told.evidence() == asked.evidence()
        True
        """
        return serialization.save_evidence(self._roster, self._pending, self._running)

    def cache(self) -> bytes:
        """Save what `evidence` leaves out; see `from_evidence`."""
        return serialization.save_cache(self._running)

    @classmethod
    def from_evidence(cls, evidence: bytes, cache: bytes | None = None) -> Learner:
        """Make a learner from its evidence: it knows the same, and goes on in its own way.

        Parameters
        ----------
        evidence
            What `evidence` returned.
        cache
            What `cache` returned at the same moment, under the same version of the policy: then
            it goes on as if it had never stopped.

        Raises
        ------
        ArchiveError
            The bytes are not evidence, or are damaged.

        Examples
        --------
        >>> from pairup import Learner, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), [True])
        >>> Learner.from_evidence(learner.evidence()).estimates() == learner.estimates()
        True
        """
        return cls._of(*serialization.load_evidence(evidence, cache))

    def _slots_in_order(self, available: Iterable[Hashable] | None) -> Slots:
        return self._running.present if available is None else self._roster.slots_of(available)

    def _worth(self, slots: Slots) -> NDArray[np.float64]:
        """Return how likely each couple among `slots` is to play, 0 if that is not known."""
        estimated = estimates.play_probabilities(self._running, slots[:, None], slots[None, :])
        return np.zeros((len(slots),) * 2) if estimated is None else estimated

    def _matching(self, couples: list[SlotCouple], slots: Slots) -> Matching:
        """Name the players of `couples`; the other players of `slots` wait."""
        names = self._roster.names
        coupled = {slot for couple in couples for slot in couple}
        waiting = [names[slot] for slot in slots.tolist() if slot not in coupled]
        return Matching([(names[i], names[j]) for i, j in couples], waiting)

    def _counts(self) -> str:
        counts = f"{len(self.players)} players, {self._pending.total()} outcomes pending"
        known = self._running.statistics
        return counts if known is None else f"{counts}, {known.tries.sum()} learnt"

    def __repr__(self) -> str:
        return f"Learner({self.policy}, {self._counts()})"

    def _repr_html_(self) -> str:
        return learner_html(self, self._counts())
