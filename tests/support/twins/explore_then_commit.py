"""A slow, obvious twin of explore-then-commit, in plain Python.

Its leader is that of the twin of `Unimodal`, ties included. The available players, in ascending
order, are shuffled by the stream `word(policy_key, 1)`, and an odd number is followed by the
phantom. Proposal number t, from 0 when the players present last changed, is turn t modulo 2L - 1 of
their round robin, as in the twin of `SAM`.
"""

from tests.support.twins import streams
from tests.support.twins import unimodal as naive_unimodal


class ExploreThenCommit(naive_unimodal.Unimodal):
    def __init__(self, capacity, key, cycles):
        super().__init__(capacity, key)
        self.order_key, self.cycles, self.turn = streams.word(key, 1), cycles, 0

    def set_present(self, present):
        super().set_present(present)
        self.turn = 0

    @property
    def explores(self):
        everyone = len(self.present) + len(self.present) % 2
        return self.turn < self.cycles * (everyone - 1)

    def propose(self, available=None):
        available = self.present if available is None else set(available)
        if not self.explores:
            return self._without_phantom(self.leader(available))
        members = streams.shuffled(self.order_key, sorted(available))
        members += [self.phantom] * (len(members) % 2)
        m = len(members)
        r = self.turn % (m - 1)
        meetings = [(r, m - 1)]
        meetings += [((r + s) % (m - 1), (r - s) % (m - 1)) for s in range(1, m // 2)]
        self.turn += 1
        couples = [tuple(sorted((members[x], members[y]))) for x, y in meetings]
        return self._without_phantom(couples)
