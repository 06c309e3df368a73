"""Slow, obvious twins of the paper's policies, in plain Python.

Written from the paper's Section "Algorithm" and from the rules below, and sharing no code with
compiled steps: every proposal recomputes everything from the outcomes seen so far. The paper
leaves these points open:

Odd numbers
    A phantom, the highest label, joins an odd number of players. Its couples have mean and index
    -1 and are never observed: the player who is coupled with it waits.
Ties between pairs, for the leader
    The larger `word(word(policy_key, 0), min << 32 | max)` wins.
Ties between neighbours
    The larger `word(word(word(policy_key, 1), round), neighbour)` wins, where round counts the
    proposals, this one included, and neighbour is 2k + swap. With the couples k and k + 1 of the
    leader written ascending, {i, i'} and {j, j'}, swap 0 makes {i, j}, {i', j'} and swap 1 makes
    {i, j'}, {i', j}. The leader itself is worth 0 and wins its ties.
Unseen couples
    Their mean is 0, their index infinite. Nothing is known to be better than an unseen couple of
    the leader, which comes about only when not everyone is available or outcomes come late.
Clock
    How often the leader has led, this time included; or the number of this proposal, from 1. When
    not everyone present is available, the proposals so far stand in for how often it has led.
"""

import math
from collections import Counter
from itertools import combinations

from tests.support.twins.indices import exploration_level, kl_index, ucb_index
from tests.support.twins.streams import word

NEAR = 1e-12  # criteria nearer than this may change places by rounding


class Unimodal:
    """The paper's algorithm, V1 ("matchings") and V2 ("players")."""

    def __init__(self, capacity, key, compare="players", index="kl", clock="leader"):
        self.compare, self.index, self.clock = compare, index, clock
        self.present = set(range(capacity))
        self.phantom = capacity
        self.pair_key, self.neighbour_key = word(key, 0), word(key, 1)
        self.tries, self.games, self.led = Counter(), Counter(), Counter()
        self.rounds = 0
        self.leading = None  # the leader of the last proposal
        self.doubts = []  # matchings that rounding might have chosen in the last proposal

    def set_present(self, present):
        """Others are present: leaders among those before do not count."""
        self.present = set(present)
        self.led.clear()

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def mean(self, couple):
        if self.phantom in couple:
            return -1.0
        return self.games[couple] / self.tries[couple] if self.tries[couple] else 0.0

    def leader(self, available=None):
        """The paper's Algorithm 2: again and again the best pair of those left."""
        left = sorted(self.present if available is None else available)
        if len(left) % 2:
            left.append(self.phantom)
        couples = []
        for couple in sorted(combinations(left, 2), key=self._rank, reverse=True):
            if set(couple) <= set(left):
                couples.append(couple)
                left = [i for i in left if i not in couple]
        return tuple(couples)

    def _rank(self, couple):
        return self.mean(couple), word(self.pair_key, couple[0] << 32 | couple[1])

    def propose(self, available=None):
        available = self.present if available is None else set(available)
        leader = self.leading = self.leader(available)
        led = self.led[leader] if available == self.present else self.rounds
        if available == self.present:
            self.led[leader] += 1
        self.rounds += 1
        self.doubts = []
        matching = leader
        if led % (2 * len(leader) - 1) != 0:
            matching = self._best(leader, self.rounds if self.clock == "round" else led + 1)
        return self._without_phantom(matching)

    def _without_phantom(self, matching):
        return sorted(couple for couple in matching if self.phantom not in couple)

    def _best(self, leader, clock):
        """The leader or its best neighbour; those that rounding might prefer become doubts."""
        options = [Option(leader, -1, [], [])]
        options += [self._option(leader, n, clock) for n in range(2 * len(leader) - 2)]
        best = max(options, key=lambda option: (option.value, self._luck(option.neighbour)))
        self.doubts = [
            self._without_phantom(option.matching)
            for option in options
            if best.value - option.value < NEAR and not option.ties_surely(best)
        ]
        return best.matching

    def _luck(self, neighbour):
        """What decides between options of equal value; the leader comes first."""
        key = word(self.neighbour_key, self.rounds)
        return math.inf if neighbour < 0 else word(key, neighbour)

    def _option(self, leader, neighbour, clock):
        k, swap = divmod(neighbour, 2)
        (i, i2), (j, j2) = leader[k : k + 2]
        new = [(i, j2), (i2, j)] if swap else [(i, j), (i2, j2)]
        new = [tuple(sorted(couple)) for couple in new]
        matching = leader[:k] + tuple(new) + leader[k + 2 :]
        q_new = [self._optimism(couple, clock) for couple in new]
        q_old = [self._optimism(couple, clock) for couple in leader[k : k + 2]]
        if self.compare == "matchings":
            return Option(matching, neighbour, q_new, q_old)
        return Option(matching, neighbour, [max(q_new)], q_old[:1])

    def _optimism(self, couple, clock):
        mean, tries = self.mean(couple), self.tries[couple]
        if self.phantom in couple:
            return -1.0
        if tries == 0:
            return math.inf
        if self.index == "ucb":
            return ucb_index(mean, tries, clock)
        return kl_index(mean, tries, exploration_level(clock))


class Option:
    """A matching to choose, with the indices that it gains and those that it gives up."""

    def __init__(self, matching, neighbour, gained, given_up):
        self.matching, self.neighbour = matching, neighbour
        self.gained, self.given_up = sorted(gained), sorted(given_up)
        unknown = math.inf in given_up
        self.value = -math.inf if unknown else sum(self.gained) - sum(self.given_up)

    def ties_surely(self, other):
        """Whether both values are equal however sums are rounded: made of the same numbers."""
        if self.value == other.value == math.inf:
            return True
        if self.gained == self.given_up:
            return other.gained == other.given_up
        return (self.gained, self.given_up) == (other.gained, other.given_up)
