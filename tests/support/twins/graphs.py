"""Slow, obvious twins of policies on graphs: which matchings they may propose.

Each proposal weighs the couples who may meet, by the worth of a game times a value that follows
from the outcomes so far, and `allows` compares the weight of a matching with the best of all
matchings, found by trying. A random billionth breaks ties, so that weights are compared up to some
of those. Twins of players' rates are told the rates that were drawn: `tests.support.twins.rank_one`
is about those.
"""

import math
from collections import Counter

from tests.support.twins import distributions as naive_sampling
from tests.support.twins import indices as naive_indices
from tests.support.twins import streams
from tests.support.twins.matching import matchings

NEAR = 1e-8


class OnGraph:
    """Statistics of couples, and the best matching by weights."""

    def __init__(self, worth, key=0):
        self.worth, self.key = worth, key  # by couple: those who may meet
        self.tries, self.games, self.rounds = Counter(), Counter(), 0

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def mean(self, couple):
        return self.games[couple] / self.tries[couple] if self.tries[couple] else 0.0

    def propose(self, available):
        """Weigh the couples for one more proposal."""
        self.rounds += 1
        self.available = sorted(available)
        self.couples = [
            couple for couple in sorted(self.worth) if set(couple) <= set(self.available)
        ]
        self.weights = {couple: self.weighed(couple) for couple in self.couples}

    def weighed(self, couple):
        return self.worth[couple] * self.value(couple) if self.worth[couple] else 0.0

    def allows(self, matching):
        """Whether a matching is one of allowed couples, none can be added, and it weighs most."""
        if not set(matching) <= set(self.couples):
            return False
        coupled = {player for couple in matching for player in couple}
        if any(coupled.isdisjoint(couple) for couple in self.couples):
            return False
        weight, best = self._sum(matching), max(map(self._sum, self._all()))
        return weight[0] == best[0] and abs(weight[1] - best[1]) < NEAR

    def _all(self):
        allowed = set(self.couples)
        return [each for each in matchings(self.available) if allowed.issuperset(each)]

    def _sum(self, matching):
        weights = [self.weights[couple] for couple in matching]
        finite = [weight for weight in weights if weight < math.inf]
        return len(weights) - len(finite), math.fsum(finite)


class CombUCB(OnGraph):
    index = "ucb"

    def value(self, couple):
        if not self.tries[couple]:
            return math.inf
        mean, tries = self.mean(couple), self.tries[couple]
        if self.index == "ucb":
            return mean + math.sqrt(1.5 * math.log(max(self.rounds - 1, 1)) / tries)
        return naive_indices.kl_index(mean, tries, naive_indices.exploration_level(self.rounds))


class CombUCBKL(CombUCB):
    index = "kl"


class CombThompson(OnGraph):
    """Draw number k of a round is that of the k-th couple who can meet, in lexicographic order."""

    prior = "beta"

    def value(self, couple):
        key, k = streams.word(self.key, self.rounds - 1), self.couples.index(couple)
        tries, games = self.tries[couple], self.games[couple]
        if self.prior == "beta":
            return naive_sampling.beta(key, k, 1 + games, 1 + tries - games)
        if not tries:
            return math.inf
        draw = naive_sampling.normal(streams.word(key, k))
        return max(games / tries + 0.5 / math.sqrt(tries) * draw, 0.0)


class CombThompsonGaussian(CombThompson):
    prior = "gaussian"


class ExploreThenCommit(OnGraph):
    """For `cycles` times the greatest number of neighbours, the couples that met least."""

    cycles = 3

    def weighed(self, couple):
        if self.rounds <= self.cycles * greatest_degree(self.worth):
            return 1 / (1 + self.tries[couple])
        return self.worth[couple] * self.mean(couple)


class EpsilonGreedy(OnGraph):
    """In some rounds couples in a random order, each taken whose players are still single."""

    epsilon = 2.0

    def value(self, couple):
        return self.mean(couple)

    def allows(self, matching):
        share = self.epsilon * greatest_degree(self.worth) / self.rounds
        if streams.word(streams.word(self.key, 1), self.rounds) >> 11 >= share * 2**53:
            return super().allows(matching)
        key = streams.word(streams.word(self.key, 2), self.rounds)
        return sorted(matching) == taken_in_order(streams.shuffled(key, self.couples))


class Uniform(OnGraph):
    """Couples in a random order."""

    def value(self, couple):
        return 0.0

    def allows(self, matching):
        key = streams.word(self.key, self.rounds - 1)
        return sorted(matching) == taken_in_order(streams.shuffled(key, self.couples))


class ESCB(OnGraph):
    """Any matching whose index is at least `certified` times the best."""

    certified = 1.0

    def value(self, couple):
        return math.inf if not self.tries[couple] else 0.0

    def allows(self, matching):
        if any(weight == math.inf for weight in self.weights.values()):
            self.weights = {
                couple: math.inf if weight else self.worth[couple] * self.mean(couple)
                for couple, weight in self.weights.items()
            }
            return super().allows(matching)
        allowed = set(self.couples)
        best = max(self.index(each) for each in self._all())
        return allowed.issuperset(matching) and self.index(matching) >= (
            self.certified * best - NEAR
        )

    def index(self, matching):
        scale = math.sqrt(math.log(max(self.rounds, 2)) / 2)
        seen = [each for each in matching if self.worth[each]]
        spread = math.fsum(self.worth[each] ** 2 / self.tries[each] for each in seen)
        mean = math.fsum(self.worth[each] * self.mean(each) for each in seen)
        return mean + scale * math.sqrt(spread)


def greatest_degree(couples):
    return max(Counter(player for couple in couples for player in couple).values())


def taken_in_order(couples):
    coupled, taken = set(), []
    for couple in couples:
        if coupled.isdisjoint(couple):
            coupled.update(couple)
            taken.append(couple)
    return sorted(taken)
