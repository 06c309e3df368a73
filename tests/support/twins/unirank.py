"""A slow, obvious twin of UniRank, in plain Python.

Every proposal recomputes everything from the comparisons made so far. What is left open:

Time
    Rounds are proposals: in round t, counted from 1, the leader's margin is that of t - 1 rounds
    played, sqrt(log log(t + 2) / n). The level follows how often the partition has led, this
    time included.
Shuffles
    A block that begins at place x of the ranking is shuffled by `word(word(word(policy_key, 0), t),
    x)`, from the order of the leader's blocks, the slots in each ascending; a guest is the last.
Ties between guests
    The larger `word(word(word(policy_key, 1), t), slot)` wins.
Observation
    Only all couples of the last proposal, observed for the first time, are compared.
"""

import math
from collections import Counter

from tests.support.twins.indices import exploration_level, kl_index
from tests.support.twins.streams import shuffled, word

NEAR = 1e-12  # indices nearer than this may change places by rounding


class UniRank:
    """Gauthier, Gaudel and Fromont (2022), with the steps of its authors' code."""

    def __init__(self, items, positions, key):
        self.items, self.positions = sorted(items), list(positions)[: len(items)]
        self.key = key
        self.wins, self.led = Counter(), Counter()
        self.rounds, self.shown, self.blocks = 0, None, []
        self.doubtful = False  # whether rounding chose the guest of the last proposal

    def loses(self, i, j):
        """Whether `i` surely loses against `j`, by the leader's small margin."""
        n = self.wins[i, j] + self.wins[j, i]
        margin = math.log(math.log(self.rounds + 3))
        return n > 0 and (self.wins[i, j] - self.wins[j, i]) / n + math.sqrt(margin / n) < 0

    def leader(self):
        """The partition: again and again those who lose against none of those left."""
        left, blocks = list(self.items), []
        while left:
            best = [i for i in left if not any(self.loses(i, j) for j in left)]
            blocks.append(best or left)
            left = [i for i in left if i not in blocks[-1]]
        return blocks

    def index(self, j, i, led):
        """The optimistic share of wins of `j` over `i`."""
        n = self.wins[i, j] + self.wins[j, i]
        if n == 0 or led < 3:
            return 1.0
        return kl_index(self.wins[j, i] / n, n, exploration_level(led))

    def may_be_wrong(self, upper, lower, led):
        return any(self.index(j, i, led) > 0.5 for i in upper for j in lower)

    def propose(self):
        leader, places = self.leader(), len(self.positions)
        name = tuple(map(tuple, leader))
        self.led[name] += 1
        blocks, b, begin = self._merged(leader, self.led[name])
        self.rounds += 1
        self.doubtful = False
        if b < len(leader) and begin < places:
            guest = self._guest(leader, b, self.led[name])
            blocks.append(leader[b] + ([] if guest is None else [guest]))
        key, self.blocks = word(word(self.key, 0), self.rounds), []
        for block in blocks:
            place = sum(map(len, self.blocks))
            self.blocks.append(shuffled(word(key, place), block))
        ranking = [i for block in self.blocks for i in block]
        self.shown = sorted(tuple(sorted(c)) for c in zip(ranking, self.positions, strict=False))
        return self.shown

    def _merged(self, leader, led):
        """Merge blocks from the top, as long as the next one is not the last displayed."""
        blocks, b, begin = [], 0, 0
        while b < len(leader) and begin + len(leader[b]) < len(self.positions):
            merge = self.may_be_wrong(leader[b], leader[b + 1], led)
            blocks.append(leader[b] + leader[b + 1] if merge else leader[b])
            b, begin = b + (2 if merge else 1), begin + len(blocks[-1])
        return blocks, b, begin

    def _guest(self, leader, b, led):
        """The best item of the first block below that has one which may be better."""
        for block in leader[b + 1 :]:
            value = {j: max(self.index(j, i, led) for i in leader[b]) for j in block}
            key = word(word(self.key, 1), self.rounds)
            best = max(block, key=lambda j: (value[j], word(key, j)))
            if value[best] > 0.5:
                near = [j for j in block if 0 < abs(value[best] - value[j]) < NEAR]
                self.doubtful = bool(near)
                return best
        return None

    def observe(self, couples, played):
        if sorted(couples) != self.shown:
            return
        self.shown = None
        plays = {
            i for couple, outcome in zip(couples, played, strict=True) if outcome for i in couple
        }
        for block in self.blocks:
            for i in block:
                for j in block:
                    if i in plays and j not in plays:
                        self.wins[i, j] += 1
