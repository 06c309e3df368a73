"""A slow, obvious twin of GRAB, in plain Python.

Every proposal recomputes everything from the outcomes seen so far. What the article leaves open:

Leader
    Of several best assignments the last leader stays if it is one of them. Otherwise any of them
    will do, so that the twin is told which one the compiled steps took, and checks that it is best.
Ranks
    Positions are in the order of their means; of equals, the larger `word(word(policy_key, 0), min
    << 32 | max)` of the couple's slots comes first.
Ties between neighbours
    The larger `word(word(word(policy_key, 1), round), label)` wins, where round counts the
    proposals, this one included. The label of a swap of the ranks k and k + 1 (from 0) is k, that
    of a hidden item its slot + C - 1, with C positions. The leader itself is worth 0 and wins.
Unseen couples
    Their mean is 0; their index is 1 (KL) or infinite (UCB). Nothing is known to be better than a
    couple of the leader that is at infinity.
"""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from tests.support.twins.indices import exploration_level, kl_index, ucb_index
from tests.support.twins.streams import word

NEAR = 1e-12  # gains nearer than this may change places by rounding


class GRAB:
    """Gauthier, Gaudel, Fromont and Lompo (2021)."""

    def __init__(self, items, positions, key, period=None, index="kl", horizon=None):
        self.items, self.positions = sorted(items), sorted(positions)
        self.period, self.index, self.horizon = period or len(self.items), index, horizon
        self.pair_key, self.neighbour_key = word(key, 0), word(key, 1)
        self.tries, self.games, self.led = Counter(), Counter(), Counter()
        self.rounds = 0
        self.leading = None
        self.doubts = []  # matchings that rounding might have chosen in the last proposal

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def mean(self, item, position):
        couple = tuple(sorted((item, position)))
        return self.games[couple] / self.tries[couple] if self.tries[couple] else 0.0

    def total(self, leader):
        return sum(self.mean(item, position) for position, item in leader.items())

    def best_leader(self):
        """An assignment of items to positions with the greatest sum of means."""
        means = np.array([[self.mean(i, j) for j in self.positions] for i in self.items])
        rows, columns = linear_sum_assignment(means, maximize=True)
        return {self.positions[c]: self.items[r] for r, c in zip(rows, columns, strict=True)}

    def is_best(self, leader):
        """Whether a leader, items by positions, is one that may lead now."""
        complete = sorted(leader) == self.positions and len(set(leader.values())) == len(leader)
        return complete and self.total(leader) >= self.total(self.best_leader()) - 1e-11

    def may_follow(self, leader):
        """Whether a leader may come after the last one, which stays as long as it is best."""
        stays = self.leading is None or leader == self.leading or not self.is_best(self.leading)
        return self.is_best(leader) and stays

    def propose(self, leader=None):
        if leader is None:
            stays = self.leading is not None and self.is_best(self.leading)
            leader = self.leading if stays else self.best_leader()
        self.leading = dict(leader)
        name = tuple(sorted(leader.items()))
        led, self.led[name] = self.led[name], self.led[name] + 1
        self.rounds += 1
        self.doubts = []
        matching = leader
        if led % self.period != 0:
            matching = self._best(led + 1)
        return self._couples(matching)

    @staticmethod
    def _couples(matching):
        return sorted(tuple(sorted(couple)) for couple in matching.items())

    def ranks(self):
        """The leader's positions in the order of their means."""

        def rank(position):
            low, high = sorted((position, self.leading[position]))
            return self.mean(low, high), word(self.pair_key, low << 32 | high)

        return sorted(self.leading, key=rank, reverse=True)

    def neighbours(self):
        """All neighbours with their labels: what changes, items by positions."""
        leader, ranks = self.leading, self.ranks()
        for k, (first, second) in enumerate(pairwise(ranks)):
            yield k, {first: leader[second], second: leader[first]}
        for item in self.items:
            if item not in leader.values():
                yield item + len(ranks) - 1, {ranks[-1]: item}

    def _best(self, clock):
        """The leader or its best neighbour; those that rounding might prefer become doubts."""
        key = word(self.neighbour_key, self.rounds)
        options = [(0.0, math.inf, self.leading, ())]
        for label, change in self.neighbours():
            new, old = self._indices(change, clock)
            gain = -math.inf if math.inf in old else sum(new) - sum(old)
            made_of = () if new == old else (new, old)
            options.append((gain, word(key, label), self.leading | change, made_of))
        best = max(options, key=lambda option: option[:2])
        self.doubts = [  # what is made of other numbers ties by rounding, if at all
            self._couples(matching)
            for gain, _, matching, made_of in options
            if best[0] - gain < NEAR and made_of != best[3]
        ]
        return best[2]

    def _indices(self, change, clock):
        """The indices that a neighbour gains, and those that it gives up."""
        new = [self._optimism(item, position, clock) for position, item in change.items()]
        old = [self._optimism(self.leading[position], position, clock) for position in change]
        return sorted(new), sorted(old)

    def _optimism(self, item, position, clock):
        mean, tries = self.mean(item, position), self.tries[tuple(sorted((item, position)))]
        if self.index == "ucb":
            return ucb_index(mean, tries, self.horizon or clock) if tries else math.inf
        level = math.log(self.horizon) if self.horizon else exploration_level(clock)
        return kl_index(mean, tries, level) if tries else 1.0
