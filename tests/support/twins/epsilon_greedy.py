"""A slow, obvious twin of epsilon-greedy, in plain Python.

Its leader is that of the twin of `Unimodal`, ties included. With L couples, the phantom's included,
proposal number t, from 1, explores when the upper 53 bits of `word(word(policy_key, 1), t)` lie
below share * 2**53, where the share is epsilon * (2L - 1) / t or epsilon. It then shuffles the
players, in ascending order, by the stream `word(word(policy_key, 2), t)` and cuts them into
couples.
"""

from tests.support.twins import streams
from tests.support.twins import uniform as naive_uniform
from tests.support.twins import unimodal as naive_unimodal


class EpsilonGreedy(naive_unimodal.Unimodal):
    def __init__(self, capacity, key, schedule, epsilon):
        super().__init__(capacity, key)
        self.schedule, self.epsilon = schedule, epsilon
        self.coin_key, self.matching_key = streams.word(key, 1), streams.word(key, 2)
        self.explored = 0

    def propose(self, available=None):
        available = self.present if available is None else set(available)
        self.rounds += 1
        leader = self.leader(available)
        share = self.epsilon
        if self.schedule == "decaying":
            share = self.epsilon * (2 * len(leader) - 1) / self.rounds
        if streams.word(self.coin_key, self.rounds) >> 11 < share * 2**53:
            self.explored += 1
            key = streams.word(self.matching_key, self.rounds)
            return naive_uniform.couples_in(streams.shuffled(key, sorted(available)))
        return self._without_phantom(leader)
