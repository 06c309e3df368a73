"""Slow, obvious twins of the policies that play an exact best matching.

Every proposal weighs all couples anew from the outcomes seen so far; `allows` compares the worth
of a matching with the best of all matchings, found by recursion over the sets of players. Equal
worths are left open: which of several best matchings is played is not said.

Odd numbers
    A phantom, the highest label, joins an odd number of players; its couples all weigh the same.
Clock
    The number of this proposal, from 1.
"""

import math
from collections import Counter
from functools import cache
from itertools import combinations

from tests.support.twins import distributions as naive_sampling
from tests.support.twins import indices as naive_indices
from tests.support.twins import streams

NEAR = 1e-11  # worths nearer than this may change places by rounding


class Exact:
    """What these policies share: statistics of couples, and the best matching by weights."""

    def __init__(self, capacity):
        self.present, self.phantom = set(range(capacity)), capacity
        self.tries, self.games = Counter(), Counter()
        self.rounds = 0

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def mean(self, couple):
        return self.games[couple] / self.tries[couple]

    def propose(self, available=None):
        """Weigh all couples for one more proposal."""
        self.rounds += 1
        self.available = sorted(self.present if available is None else available)
        if len(self.available) % 2:
            self.available.append(self.phantom)
        self.weights = {
            (i, j): (0.0 if j == self.phantom else self.weight((i, j)))
            for x, i in enumerate(self.available)
            for j in self.available[x + 1 :]
        }

    def allows(self, matching):
        """Whether `matching` couples everyone and is worth the most."""
        couples = list(matching)
        left = set(self.available) - {i for couple in couples for i in couple}
        couples += [tuple(sorted(left))] if left else []
        if sorted(i for couple in couples for i in couple) != self.available:
            return False
        worth = self._worth(self.weights[couple] for couple in couples)
        best = self._best()
        return worth[0] == best[0] and abs(worth[1] - best[1]) < NEAR

    def _worth(self, weights):
        """How many are infinite, and the sum of the others: the first counts first."""
        weights = list(weights)
        finite = [weight for weight in weights if weight < math.inf]
        return len(weights) - len(finite), math.fsum(finite)

    def _best(self):
        @cache
        def best(left):
            if not left:
                return 0, 0.0
            first, *others = left
            worths = []
            for k, other in enumerate(others):
                infinite, finite = best(tuple(others[:k] + others[k + 1 :]))
                own = self._worth([self.weights[first, other]])
                worths.append((infinite + own[0], finite + own[1]))
            return max(worths)

        return best(tuple(self.available))


class CombUCB(Exact):
    """CombUCB1 (Kveton et al., 2015), or the KL-UCB index in its place."""

    def __init__(self, capacity, index):
        super().__init__(capacity)
        self.index = index

    def weight(self, couple):
        if not self.tries[couple]:
            return math.inf
        mean, tries = self.mean(couple), self.tries[couple]
        if self.index == "ucb":
            return mean + math.sqrt(1.5 * math.log(max(self.rounds - 1, 1)) / tries)
        return naive_indices.kl_index(mean, tries, naive_indices.exploration_level(self.rounds))


class CombThompson(Exact):
    """One posterior draw for each couple, from a stream of the round's own (Wang and Chen, 2018).

    The key of the stream is `word(policy_key, proposals before)`. Draw number k is that of the k-th
    couple of the available players, in lexicographic order, those with the phantom left out.
    """

    def __init__(self, capacity, key, prior, draws="independent"):
        super().__init__(capacity)
        self.key, self.prior, self.draws = key, prior, draws

    def propose(self, available=None):
        players = sorted(self.present if available is None else available)
        self.numbers = {couple: k for k, couple in enumerate(combinations(players, 2))}
        self.round_key = streams.word(self.key, self.rounds)
        super().propose(available)

    def weight(self, couple):
        tries, games, k = self.tries[couple], self.games[couple], self.numbers[couple]
        if self.prior == "beta":
            return naive_sampling.beta(self.round_key, k, 1 + games, 1 + tries - games)
        if not tries:
            return math.inf
        number = 0 if self.draws == "common" else k
        draw = naive_sampling.normal(streams.word(self.round_key, number))
        return games / tries + 0.5 / math.sqrt(tries) * self._reshaped(draw)

    def _reshaped(self, draw):
        t = max(self.rounds, 3)
        if self.prior == "clipped":
            level = math.log(t) + 3 * math.log(math.log(t))
            return min(max(draw, 0), math.sqrt(2 * level))
        if self.prior == "boosted":
            m, slack = len([i for i in self.available if i != self.phantom]) // 2, 0.01
            level = math.log(t) + (m + 2) * math.log(math.log(t))
            level += m / 2 * math.log(1 + math.e / slack)
            return draw * math.sqrt(2 * (1 + slack) * level / math.log(t))
        return draw
