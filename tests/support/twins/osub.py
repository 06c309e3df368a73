"""A slow, obvious twin of OSUB on matchings, in plain Python.

Arms are whole matchings of all players present. Neither the paper nor the twin of `Unimodal` says:

Arms
    A matching is entered when it is proposed to all who are present; one who joins or leaves
    makes other matchings, so that all are struck out. An arm has a count and games: of the calls of
    `observe` that bring just its couples, all of them and no other. Its mean is games / (count *
    couples), -1 before the first such call. Of more than eight players no more than 8 (2L - 1)
    are kept (L couples, the phantom's included): the one that was neither played nor leader for
    longest is struck out.
Leader
    The entered arm with the best mean; of equals the one with the larger `word(word(policy_key, 2),
    fingerprint)`. A fingerprint is the sum of `word(0, i << 32 | j)` over the couples (mod 2**64).
    Without an arm it is the greedy matching of the twin of `Unimodal`.
Neighbours
    Of the leader with its couples in the order of their own means (all outcomes counted, ties as
    for `Unimodal`). An arm that was not tried yet has index 1. Ties between neighbours as there:
    the leader wins its own.
Some of the players
    When not everyone is available, the greedy matching of the twin of `Unimodal`, or, when the
    number of this proposal is a multiple of 2L - 1 (L couples, the phantom's included), its
    neighbour number `below(word(word(policy_key, 1), round), 2L - 2)`.
"""

from collections import Counter

from tests.support.twins import indices as naive_indices
from tests.support.twins import streams
from tests.support.twins import unimodal as naive_unimodal


class OSUB(naive_unimodal.Unimodal):
    """Combes and Proutiere (2014) with matchings for arms."""

    def __init__(self, capacity, key):
        super().__init__(capacity, key)
        self.arm_key = streams.word(key, 2)
        self.arms, self.arm_tries, self.arm_games = [], Counter(), Counter()

    def set_present(self, present):
        super().set_present(present)
        self.arms.clear(), self.arm_tries.clear(), self.arm_games.clear()

    def observe(self, couples, played):
        super().observe(couples, played)
        arm = frozenset(couples)
        if arm in self.arms and len(couples) == len(arm):
            self.arm_tries[arm] += 1
            self.arm_games[arm] += sum(played)

    def propose(self, available=None):
        available = self.present if available is None else set(available)
        self.leading = self.leader_arm(available)
        self.rounds += 1
        period = 2 * len(self.leading) - 1
        if available != self.present:
            matching = self.leading
            if self.rounds % period == 0 and period > 1:
                drawn = streams.word(self.neighbour_key, self.rounds) >> 32
                matching = self._neighbours(self.leading)[drawn * (period - 1) >> 32]
            return self._without_phantom(matching)
        arm = frozenset(self._without_phantom(self.leading))
        led, self.led[arm] = self.led[arm], self.led[arm] + 1
        matching = self.leading
        if led % period != 0:
            matching = self._most_promising(self.leading, led + 1)
        self._use(self.leading)
        self._use(matching)
        return self._without_phantom(matching)

    def _use(self, matching):
        """Enter an arm, or move it to the end of the arms; the first is forgotten if need be."""
        arm = frozenset(self._without_phantom(matching))
        if arm in self.arms:
            self.arms.remove(arm)
        elif len(matching) > 4 and len(self.arms) == 8 * (2 * len(matching) - 1):
            gone = self.arms.pop(0)
            del self.arm_tries[gone], self.arm_games[gone], self.led[gone]
        self.arms.append(arm)

    def leader_arm(self, available=None):
        """The leader, its couples in the order of their means."""
        available = self.present if available is None else set(available)
        if available != self.present or not self.arms:
            return self.leader(available)
        arm = max(self.arms, key=lambda arm: (self._arm_mean(arm), self._arm_luck(arm)))
        couples = list(arm)
        couples += [(i, self.phantom) for i in available - {i for couple in arm for i in couple}]
        return tuple(sorted(couples, key=self._rank, reverse=True))

    def _arm_mean(self, arm):
        tries = self.arm_tries[arm]
        return self.arm_games[arm] / (tries * len(arm)) if tries else -1.0

    def _arm_luck(self, arm):
        fingerprint = sum(streams.word(0, i << 32 | j) for i, j in arm) % 2**64
        return streams.word(self.arm_key, fingerprint)

    def _neighbours(self, leader):
        found = []
        for k in range(len(leader) - 1):
            (i, i2), (j, j2) = leader[k : k + 2]
            for new in ([(i, j), (i2, j2)], [(i, j2), (i2, j)]):
                new = [tuple(sorted(couple)) for couple in new]
                found.append(leader[:k] + tuple(new) + leader[k + 2 :])
        return found

    def _most_promising(self, leader, clock):
        level = naive_indices.exploration_level(clock)
        options = [(leader, -1)]
        options += [(matching, n) for n, matching in enumerate(self._neighbours(leader))]
        values = [self._arm_index(matching, level) for matching, _ in options]
        best = max(zip(values, options, strict=True), key=lambda x: (x[0], self._luck(x[1][1])))
        return best[1][0]

    def _arm_index(self, matching, level):
        arm = frozenset(self._without_phantom(matching))
        if not self.arm_tries[arm]:
            return 1.0
        return naive_indices.kl_index(self._arm_mean(arm), self.arm_tries[arm], level)
