"""Learner: a policy that learns live, with players by name and outcomes as they come.

The public face of live learning, in one file because callers read it as a whole; the work is done
in the modules beside it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pairup.checks import check_choice, checked_list, is_number
from pairup.errors import MatchingError, ObservationError, PlayerError, PolicyError
from pairup.learning import estimates, serialization
from pairup.learning.estimates import CoupleEstimate, PlayerEstimate
from pairup.learning.exclusions import couple_the_rest, replace_forbidden
from pairup.learning.fairness import (
    Fairness,
    check_floor,
    checked_debts,
    fair_graph,
    matched_shares,
)
from pairup.learning.history import AcceptedGiven, CouplesGiven, History, PlayedGiven, read_history
from pairup.learning.learner_html import learner_html
from pairup.learning.meetings import AllowedMeetings, Meetings, Rows, Worth, as_rows, read_meetings
from pairup.learning.observation import Accepted, Played, read_observation
from pairup.learning.pending_outcomes import PendingOutcomes
from pairup.learning.roster import Couples, Roster
from pairup.learning.running_policy import RunningPolicy
from pairup.matching import Couple, Matching
from pairup.policies.contract import Policy, Slots
from pairup.policies.couple_counts import CoupleCounts
from pairup.policies.deviation import CoupleDeviation
from pairup.problem.meeting_graph import MeetingGraph, checked_rows

GivenRate: TypeAlias = float | Literal["estimated"] | None

_NOBODY: Couples = np.zeros((0, 2), np.int64)


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
    floor : float
        Share of what random pairing would give that each player gets at least, from 0 to 1; see
        `Fairness`. By default there is no floor.

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

    def __init__(
        self, policy: Policy, players: Iterable[Hashable], seed: int = 0, *, floor: float = 0.0
    ) -> None:
        self._fairness = Fairness(floor)  # by slot
        check_floor(policy, self._fairness.floor)
        self._roster = Roster(players)
        self._pending = PendingOutcomes()
        self.wanted = None
        self._running = RunningPolicy(policy, seed, capacity=len(self._roster))
        self._running.set_present(self._roster.slots)

    @classmethod
    def _of(
        cls, roster: Roster, pending: PendingOutcomes, running: RunningPolicy, fairness: Fairness
    ) -> Learner:
        learner = cls.__new__(cls)
        learner.wanted = None
        learner._roster, learner._pending, learner._running = roster, pending, running
        learner._fairness = fairness
        return learner

    @property
    def policy(self) -> Policy:
        """The rule it follows."""
        return self._running.policy

    @property
    def players(self) -> tuple[Hashable, ...]:
        """The players present, in the order of their slots."""
        return self._roster.players

    @property
    def kept(self) -> tuple[Hashable, ...]:
        """The players who left and are kept, in the order of their slots; see `leave`."""
        return self._roster.kept

    @property
    def floor(self) -> float:
        """Share of what random pairing would give that each player gets at least; 0: no floor."""
        return self._fairness.floor

    @property
    def debts(self) -> dict[Hashable, float]:
        """What players are owed below the floor, of those who are present or kept."""
        return {self._roster.names[slot]: debt for slot, debt in self._fairness.debts.items()}

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
            The couples who may meet, by default all: a list of couples; or, by the players' places
            in `available`, a NumPy array of integers of shape (couples, 2), a tuple of two such
            arrays, one for each player, or a symmetric array of Booleans.
        worth
            What a game of each couple is worth, 1 by default: a mapping from couples, 1 for those
            not in it; a symmetric matrix in the order of `available`; or, where `allowed` has
            places in its rows, an array with a number for each row. The policy aims at the most
            worth, and lets players wait where that is worth more.

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
        meetings = self._meetings(available, apart, allowed, worth)
        matching, couples = self._suggest(meetings, self._debts(meetings))
        self._record(matching, couples, meetings)
        return matching

    def suggest(
        self,
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
        *,
        allowed: AllowedMeetings = None,
        worth: Worth = None,
        debts: NDArray[np.float64] | None = None,
    ) -> Matching:
        """Ask the policy for a matching that is not proposed yet; see `propose` and `record`.

        No outcome of it is pending. The policy's random draws advance nevertheless.

        Parameters
        ----------
        available, apart, allowed, worth
            As for `propose`.
        debts
            What each player is owed, in the order of `available`, by a `Fairness` that is kept
            elsewhere; by default, what the learner's own floor says.

        Examples
        --------
        >>> from pairup import Uniform
        >>> learner = Uniform().learner(["ann", "bob", "cyd"])
        >>> matching = learner.suggest()
        >>> learner.pending
        {}
        """
        meetings = self._meetings(available, apart, allowed, worth)
        owed = self._debts(meetings) if debts is None else checked_debts(debts, meetings.order)
        return self._suggest(meetings, owed)[0]

    @contextmanager
    def redrawing(self, stream: int) -> Iterator[None]:
        """Make `suggest` draw from another stream while the block runs; nothing of that stays.

        Before a proposal, with the streams 1, 2, ..., it shows what else might be proposed.

        Examples
        --------
        >>> from pairup import Uniform
        >>> learner = Uniform().learner(range(6), seed=1)
        >>> with learner.redrawing(stream=1):
        ...     other = learner.suggest()
        >>> other, learner.propose()
        (Matching(1-3, 0-2, 4-5), Matching(0-4, 1-3, 2-5))
        """
        wanted = self.wanted
        with self._running.redrawing(stream):
            yield
        self.wanted = wanted

    @property
    def redraws_quickly(self) -> bool:
        """Whether the players known are few enough for `redrawing` to take little time."""
        return self._running.redraws_quickly

    @property
    def draws_next(self) -> bool:
        """Whether the next proposal depends on a draw."""
        return self._running.draws_next

    def _meetings(
        self,
        available: Iterable[Hashable] | None,
        apart: Iterable[Iterable[Hashable]],
        allowed: AllowedMeetings,
        worth: Worth,
    ) -> Meetings:
        order, capacity = self._slots_in_order(available), self._running.capacity
        return read_meetings(
            self._roster, order, capacity, apart=apart, allowed=allowed, worth=worth
        )

    def _debts(self, meetings: Meetings) -> NDArray[np.float64] | None:
        """Return what the players available are owed, None without a floor."""
        if self.floor == 0.0:
            return None
        return self._fairness.debts_of(meetings.order.tolist())

    def _suggest(
        self, meetings: Meetings, debts: NDArray[np.float64] | None
    ) -> tuple[Matching, Couples]:
        """Ask the policy for a matching, and return its couples by their slots too."""
        slots, graph, standing = meetings.slots, meetings.graph, None
        if debts is not None and debts.any():
            graph, standing = fair_graph(self._running, meetings, debts)
        if len(slots) < 2:
            return self._matching(_NOBODY, slots), _NOBODY
        if graph is not None:
            couples = wanted = self._running.propose_on_graph(slots, graph, standing)
            if meetings.graph is None:  # all may meet, but some are not in the graph
                couples = couple_the_rest(couples, slots, meetings.apart)
        else:
            wanted = self._running.propose(slots)
            couples = self._without(meetings.apart, wanted, slots)
        matching = self._matching(couples, slots)
        self.wanted = matching if couples is wanted else self._matching(wanted, slots)
        return matching, couples

    def record(self, matching: Matching) -> None:
        """Note that a matching was proposed, whoever made it; its outcomes are pending.

        A learner that records the proposals of another one, and observes what became of them,
        knows the same, although its policy was never asked; see `evidence`. With a floor the
        players are taken for those who could have met each other.

        Examples
        --------
        >>> from pairup import Matching, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.record(Matching([("ann", "cyd")], waiting=["bob"]))
        >>> learner.pending
        {('ann', 'cyd'): 1}
        """
        couples = self._roster.couples("a matching", matching)
        waiting = self._roster.slots_of(matching.waiting)  # refuses players who are not present
        order = np.concatenate([couples.ravel(), waiting])
        self._record(matching, couples, Meetings(order, _NOBODY, None))

    def _record(self, matching: Matching, couples: Couples, meetings: Meetings) -> None:
        self._pending.add(couples)
        if self.floor > 0.0:
            shares = matched_shares(self._running, meetings, couples)
            if shares is not None:
                self._fairness.note(meetings.order.tolist(), shares)
        if 2 * len(couples) + len(matching.waiting) > 1:
            self._running.record_round()

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
        meetings = self._meetings(available, apart, allowed, worth)
        slots = meetings.slots
        if meetings.graph is not None:
            return self._leader_on_graph(meetings.graph, slots)
        couples = self._running.leader(slots)
        if couples is None:
            return None
        return self._matching(self._without(meetings.apart, couples, slots), slots)

    def _leader_on_graph(self, graph: MeetingGraph, slots: Slots) -> Matching | None:
        chances = estimates.play_probabilities(self._running, graph.low, graph.high)
        if chances is None:
            return None
        best = graph.best_matching(chances)
        return self._matching(np.array(best.couples, np.int64).reshape(-1, 2), slots)

    @property
    def pending(self) -> dict[Couple, int]:
        """The couples proposed whose outcomes are not known yet, and how many are to come."""
        names = self._roster.names
        return {(names[i], names[j]): count for (i, j), count in self._pending.counts.items()}

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
        self._settle(self._roster.couples("a matching", matching))

    def _settle(self, couples: Couples) -> None:
        """Strike off couples whose outcomes are known or withdrawn, all of them or none."""
        missing = self._pending.first_missing(couples)
        if missing is not None:
            raise ObservationError(
                f"no outcome of {self._roster.describe(missing)} is pending: observe a couple once "
                "for each time it was proposed, or `learn` what was never proposed"
            )
        self._pending.settle(couples)

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
        self._settle(observed.couples)
        self._running.observe(observed)

    def learn(
        self,
        couples: CouplesGiven,
        played: PlayedGiven = None,
        *,
        accepted: AcceptedGiven = None,
        unknown: Literal["refuse", "join", "keep"] = "refuse",
    ) -> int:
        """Learn outcomes that were never proposed here, in bulk: a history of games.

        What is learnt is the same as if each couple had been proposed and its outcome observed, but
        no round is counted.

        Parameters
        ----------
        couples
            Two players per row: pairs of names, an array of shape (rows, 2), or a tuple of two
            arrays or Series, one for each player. A couple may have any number of rows.
        played
            For each row whether the couple played; None where that is not known.
        accepted
            For each row whether each of the two accepted, in the order of `couples` and in the same
            forms; None where that is not known. Rows from which it does not follow whether the
            couple played are left out.
        unknown
            What becomes of players who are neither present nor kept: the history is refused, or
            they join, or their record is kept until they `join`.

        Returns
        -------
        int
            Number of rows that were learnt.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> history = [("ann", "bob"), ("ann", "bob"), ("bob", "cyd")]
        >>> learner.learn(history, [True, False, False], unknown="keep")
        3
        >>> learner.players, learner.kept
        (('ann', 'bob'), ('cyd',))
        >>> learner.estimates()
        [CoupleEstimate(couple=('ann', 'bob'), proposed=2, played=1)]
        """
        check_choice("unknown", unknown, ("refuse", "join", "keep"), PlayerError)
        history = read_history(couples, played, accepted)
        with self._admitted(history, unknown):
            observed = history.observed(self._roster)
            self._running.learn(observed)
        return len(observed.couples)

    @contextmanager
    def _admitted(self, history: History, unknown: str) -> Iterator[None]:
        """Admit, or keep, the unknown players of a history, unless an error follows."""
        new = [name for name in history.players if not self._roster.knows(name)]
        if new and unknown == "refuse":
            raise PlayerError(
                f"{len(new)} of the players are not known, {new[0]!r} first: let them join with "
                "unknown='join', or keep what is learnt of them with unknown='keep'"
            )
        roster = self._roster.copy() if new else self._roster
        with self._running.unless_error():
            slots = [roster.join(name) if unknown == "join" else roster.keep(name) for name in new]
            self.policy.check_players(len(roster))
            # Room for all comes first: the state that grows then knows the players of before.
            self._running.provide_for(max(slots, default=-1))
            for slot in slots if unknown == "join" else ():
                self._running.enter(slot)
            self._roster, before = roster, self._roster
            try:
                yield
            except BaseException:
                self._roster = before
                raise

    def join(self, player: Hashable) -> None:
        """Admit a player; one who left and was kept finds its record again.

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
        was_kept = self._roster.is_kept(player)
        slot = self._roster.join(player)
        try:
            self._running.enter(slot)
        except BaseException:
            self._roster.leave(player, keep=was_kept)
            raise

    def leave(
        self, player: Hashable, *, forget: bool = True, rate: GivenRate = "estimated"
    ) -> None:
        """Remove a player; outcomes pending for the player lapse.

        Parameters
        ----------
        player
            Name of a player who is present.
        forget
            Whether the player's own record is erased, and what it is owed below a floor; otherwise
            both are kept until the player joins again, or `forget` erases them.
        rate
            Acceptance rate of the player who is forgotten, against which partners keep what they
            learnt in common games: by default what the policy estimates now. With None, or if the
            policy estimates no rates, those games are forgotten too.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.leave("bob")
        >>> learner.leave("cyd", forget=False)
        >>> learner.players, learner.kept
        (('ann',), ('cyd',))
        """
        slot = self._roster.slot(player)
        if forget:
            self._running.forget(slot, self._rate(slot, rate))
            self._fairness.forget(slot)
        self._roster.leave(player, keep=not forget)
        self._pending.drop(slot)
        self._running.leave(slot)

    def forget(self, player: Hashable, *, rate: GivenRate = "estimated") -> None:
        """Erase the record of a player who left and was kept.

        Parameters
        ----------
        player
            Name of a player in `kept`.
        rate
            As for `leave`.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.leave("bob", forget=False)
        >>> learner.forget("bob")
        >>> learner.kept
        ()
        """
        slot = self._roster.kept_slot(player)
        self._running.forget(slot, self._rate(slot, rate))
        self._fairness.forget(slot)
        self._roster.drop(player)

    def _rate(self, slot: int, rate: GivenRate) -> float | None:
        """Return the rate of a player who is forgotten, as given or estimated."""
        if isinstance(rate, str) and rate == "estimated":
            estimated = self._running.player_rates(np.array([slot]))
            return None if estimated is None else float(estimated[0][0])
        if rate is None or (is_number(rate) and 0 <= rate <= 1):
            return rate
        raise PlayerError(
            f"the rate of a player is a number from 0 to 1, got {rate!r}: leave it out to take "
            "what the policy estimates"
        )

    def rename(self, names: Mapping[Hashable, Hashable]) -> None:
        """Rename players, all or none; what is known of them stays.

        Parameters
        ----------
        names
            New names by old ones, of players who are present or kept; others keep theirs. Two
            players may swap names.

        Raises
        ------
        PlayerError
            A player is not known, or two players would have the same name.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), [True])
        >>> learner.rename({"ann": 17})
        >>> learner.players, learner.estimates()
        ((17, 'bob'), [CoupleEstimate(couple=(17, 'bob'), proposed=1, played=1)])
        """
        self._roster.rename(names)
        self.wanted = None  # it has the names of before, of players who are gone too

    def fade(self, half_lives: float) -> None:
        """Fade what was observed: it weighs half as much after each half-life.

        For policies that can, such as `RankOneThompson`; others refuse it.

        Parameters
        ----------
        half_lives
            Number of half-lives that have passed, at least 0.
        """
        if not is_number(half_lives) or not 0 <= half_lives < np.inf:
            raise PolicyError(
                f"half_lives must be a number of at least 0, got {half_lives!r}: give the time "
                "that has passed, divided by the half-life"
            )
        self._running.fade(float(half_lives))

    def estimates(self, limit: int | None = None) -> list[CoupleEstimate]:
        """List what is known of each couple with a known outcome, the best rate first.

        Parameters
        ----------
        limit
            Number of couples to list at most, those proposed most often; all by default.
        """
        counts = self._present_counts()
        if counts is None:
            return []
        return estimates.couple_estimates(counts, self._roster.names, limit)

    def _present_counts(self) -> CoupleCounts | None:
        """Return the counts of couples whose players are both present."""
        counts = self._running.statistics
        if counts is None or not len(self._roster.kept_slots):
            return counts
        return counts.among(self._running.present)

    @property
    def observed_couple_count(self) -> int:
        """Number of couples with a known outcome, whose players are both present."""
        counts = self._present_counts()
        return 0 if counts is None else len(counts.tries)

    def outcome_counts(
        self, players: Iterable[Hashable] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count the games of each player with a known outcome, and those of them that were played.

        Games with players who are not present are not counted.

        Parameters
        ----------
        players
            Players who are present or kept; all who are present by default.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob", "cyd"])
        >>> learner.learn([("ann", "bob"), ("bob", "cyd")], [True, False])
        2
        >>> [counts.tolist() for counts in learner.outcome_counts(["ann", "bob", "cyd"])]
        [[1, 2, 1], [1, 1, 0]]
        """
        slots, counts = self._known_slots(players), self._present_counts()
        found = np.zeros((2, self._running.capacity), np.int64)
        if counts is not None:
            for side in (counts.low, counts.high):
                np.add.at(found[0], side, counts.tries)
                np.add.at(found[1], side, counts.games)
        return found[0, slots], found[1, slots]

    def rates(self, players: Iterable[Hashable] | None = None) -> list[PlayerEstimate]:
        """List each player's estimated rate, the best first; empty if only couples have one.

        Parameters
        ----------
        players
            Players who are present or kept; all who are present by default.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), accepted={"ann": True, "bob": False})
        >>> [rate.player for rate in learner.rates()]
        ['ann', 'bob']
        """
        slots = self._known_slots(players)
        return estimates.player_estimates(self._running, slots, self._roster.names)

    def _known_slots(self, players: Iterable[Hashable] | None) -> Slots:
        """Return the slots of players who are present or kept, by default of all present."""
        if players is None:
            return self._running.present
        return self._roster.known_slots(
            checked_list("players", players, PlayerError, items="players")
        )

    def rate_array(
        self, players: Iterable[Hashable] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the estimated rates of players and their deviations; None if only couples have.

        As `rates`, in the order of the players, and in a fraction of the time where they are many.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), accepted={"ann": True, "bob": False})
        >>> rates, deviations = learner.rate_array(["bob", "ann"])
        >>> rates.round(2)
        array([0.33, 0.67])
        """
        return self._running.player_rates(self._known_slots(players))

    def couple_deviation(self, players: Iterable[Hashable] | None = None) -> CoupleDeviation | None:
        """Estimate how far couples deviate from the products of their players' rates.

        The estimate is a root mean square over all couples of some players. None if the policy does
        not learn it; `HierarchicalThompson` does.

        Parameters
        ----------
        players
            Players who are present or kept, at least two; all who are present by default.

        Examples
        --------
        >>> from pairup import HierarchicalThompson
        >>> learner = HierarchicalThompson().learner("abcd")
        >>> games = [("a", "b"), ("c", "d")] * 50 + [("a", "c"), ("b", "d")] * 50
        >>> learner.learn(games, [True] * 100 + [False] * 100)
        200
        >>> print(learner.couple_deviation())
        couples follow the players' rates to within 35.5 points (95% interval 24.5 to 43.6)
        """
        return estimates.couple_deviation(self._running, self._known_slots(players))

    def play_probabilities(
        self,
        couples: Rows | Iterable[Iterable[Hashable]],
        players: Iterable[Hashable] | None = None,
    ) -> NDArray[np.float64] | None:
        """Estimate how likely each couple is to play.

        The product of its players' rates if the policy estimates those. Otherwise, from p proposals
        of which g were played, (g + 1) / (p + 2), the mean under a uniform prior.

        Parameters
        ----------
        couples
            Names of two players per row; or places in `players`, as an array of integers of shape
            (couples, 2) or a tuple of two arrays.
        players
            Players who are present or kept; all who are present by default.

        Returns
        -------
        array or None
            A probability for each couple; None if the policy counts nothing.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd"])
        >>> learner.observe(learner.propose(["ann", "bob"]), [True])
        >>> learner.play_probabilities([("bob", "ann"), ("ann", "cyd")]).round(2)
        array([0.67, 0.5 ])
        >>> learner.play_probabilities(np.array([[0, 1], [2, 0]])).round(2)
        array([0.67, 0.5 ])
        """
        rows = as_rows(couples)
        if rows is None:
            one, other = self._roster.couples("couples", couples).T
        else:
            slots = self._known_slots(players)
            places = checked_rows("couples", len(slots), rows, MatchingError)
            one, other = (slots[each] for each in places)
        return estimates.play_probabilities(self._running, one, other)

    def shares(
        self,
        matching: Iterable[Iterable[Hashable]],
        available: Iterable[Hashable] | None = None,
        apart: Iterable[Iterable[Hashable]] = (),
        *,
        allowed: AllowedMeetings = None,
    ) -> NDArray[np.float64] | None:
        """Estimate the share of random pairing's chance of a game that each player gets.

        A share is the player's chance of a game in `matching`, divided by its chance if those who
        may meet were paired at random. See `Fairness`, which turns shares into debts.

        Parameters
        ----------
        matching
            Couples of players who are available.
        available, apart, allowed
            As for `propose`, which was asked for the matching.

        Returns
        -------
        array or None
            A share for each player, in the order of `available`: 0 for players who wait, NaN for
            those who could not have had a game. None if the policy estimates nothing.

        Examples
        --------
        >>> from pairup import RankOneThompson
        >>> learner = RankOneThompson().learner(["ann", "bob", "cyd", "dan"])
        >>> learner.shares([("ann", "bob")])
        array([1., 1., 0., 0.])
        """
        meetings = self._meetings(available, apart, allowed, None)
        couples = self._roster.couples("a matching", matching)
        return matched_shares(self._running, meetings, couples)

    def with_policy(self, policy: Policy, seed: int = 0) -> Learner:
        """Continue under another policy, which learns how often couples were proposed and played.

        Pending outcomes stay pending, and a floor with its debts stays. Answers are not passed on:
        they are not counted by couple.

        Examples
        --------
        >>> from pairup import EpsilonGreedy, Unimodal
        >>> learner = Unimodal().learner(["ann", "bob"])
        >>> learner.observe(learner.propose(), [True])
        >>> learner.with_policy(EpsilonGreedy()).estimates()[0].rate
        1.0
        """
        check_floor(policy, self.floor)
        running = RunningPolicy(policy, seed, self._running.capacity)
        running.set_present(self._roster.slots)
        counts = self._running.statistics
        if counts is not None:
            running.observe_counts(counts)
        return self._of(self._roster.copy(), self._pending.copy(), running, self._fairness.copy())

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
        return serialization.save(self._roster, self._pending, self._running, self._fairness)

    @classmethod
    def from_bytes(cls, data: bytes) -> Learner:
        """Load a saved learner, which continues as if it had never stopped.

        Raises
        ------
        SavingError
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
        return serialization.save_evidence(
            self._roster, self._pending, self._running, self._fairness
        )

    def cache(self) -> bytes:
        """Save what `evidence` leaves out; see `from_evidence`."""
        return serialization.save_cache(self._running, self._fairness)

    @classmethod
    def from_evidence(cls, evidence: bytes, cache: bytes | None = None) -> Learner:
        """Make a learner from its evidence: it knows the same, and continues in its own way.

        Parameters
        ----------
        evidence
            What `evidence` returned.
        cache
            What `cache` returned at the same moment, under the same version of the policy: then
            it continues as if it had never stopped.

        Raises
        ------
        SavingError
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

    def _without(self, apart: Couples, couples: Couples, slots: Slots) -> Couples:
        """Replace couples that are apart; returns the same couples if there are none."""
        if not len(apart):
            return couples
        proposed, excluded = ([(i, j) for i, j in each.tolist()] for each in (couples, apart))
        repaired = replace_forbidden(proposed, slots.tolist(), set(excluded), self._chances)
        return np.array(repaired, np.int64).reshape(-1, 2)

    def _chances(self, slots: Slots) -> NDArray[np.float64]:
        """Return how likely each couple among `slots` is to play, 0 if that is not known."""
        estimated = estimates.play_probabilities(self._running, slots[:, None], slots[None, :])
        return np.zeros((len(slots),) * 2) if estimated is None else estimated

    def _matching(self, couples: Couples, slots: Slots) -> Matching:
        """Name the players of `couples`; the other players of `slots` wait."""
        low, high = (self._roster.named(each) for each in couples.T)
        waiting = slots[:0]
        if 2 * len(couples) < len(slots):
            waiting = np.setdiff1d(slots, couples, assume_unique=True)
        return Matching.of_distinct(zip(low, high, strict=True), self._roster.named(waiting))

    def _counts(self) -> str:
        pending = self._pending.total
        counts = f"{len(self._roster)} players, {pending} outcomes pending"
        known = self._running.statistics
        return counts if known is None else f"{counts}, {known.tries.sum()} learnt"

    def __repr__(self) -> str:
        return f"Learner({self.policy}, {self._counts()})"

    def _repr_html_(self) -> str:
        return learner_html(self, self._counts())
