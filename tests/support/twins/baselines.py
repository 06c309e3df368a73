"""Slow, obvious twins of the simple baselines, in plain Python.

Their leader is that of `naive.Unimodal`, ties included. With L couples, the phantom's included:

Epsilon-greedy
    Proposal number t, from 1, explores when the upper 53 bits of `word(word(policy_key, 1), t)` lie
    below share * 2**53, where the share is epsilon * (2L - 1) / t or epsilon. It then shuffles the
    players, in ascending order, by the stream `word(word(policy_key, 2), t)` and cuts them into
    couples.
Explore then commit
    The seated players, in ascending order, are shuffled by the stream `word(policy_key, 1)`, and an
    odd number is followed by the phantom. Proposal number t, from 0 when the players present last
    changed, is turn t modulo 2L - 1 of their round robin as in `naive.SAM`.
"""

from tests.support.twins import unimodal_and_sam as naive


class EpsilonGreedy(naive.Unimodal):
    def __init__(self, capacity, key, schedule, epsilon):
        super().__init__(capacity, key)
        self.schedule, self.epsilon = schedule, epsilon
        self.coin_key, self.matching_key = naive.word(key, 1), naive.word(key, 2)
        self.explored = 0

    def propose(self, seated=None):
        seated = self.present if seated is None else set(seated)
        self.rounds += 1
        leader = self.leader(seated)
        share = self.epsilon
        if self.schedule == "decaying":
            share = self.epsilon * (2 * len(leader) - 1) / self.rounds
        if naive.word(self.coin_key, self.rounds) >> 11 < share * 2**53:
            self.explored += 1
            key = naive.word(self.matching_key, self.rounds)
            return naive.couples_in(naive.shuffled(key, sorted(seated)))
        return self._without_phantom(leader)


class ExploreThenCommit(naive.Unimodal):
    def __init__(self, capacity, key, cycles):
        super().__init__(capacity, key)
        self.order_key, self.cycles, self.turn = naive.word(key, 1), cycles, 0

    def set_present(self, present):
        super().set_present(present)
        self.turn = 0

    @property
    def explores(self):
        everyone = len(self.present) + len(self.present) % 2
        return self.turn < self.cycles * (everyone - 1)

    def propose(self, seated=None):
        seated = self.present if seated is None else set(seated)
        if not self.explores:
            return self._without_phantom(self.leader(seated))
        members = naive.shuffled(self.order_key, sorted(seated))
        members += [self.phantom] * (len(members) % 2)
        m = len(members)
        r = self.turn % (m - 1)
        meetings = [(r, m - 1)]
        meetings += [((r + s) % (m - 1), (r - s) % (m - 1)) for s in range(1, m // 2)]
        self.turn += 1
        couples = [tuple(sorted((members[x], members[y]))) for x, y in meetings]
        return self._without_phantom(couples)
