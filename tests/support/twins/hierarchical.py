"""Slow twin of hierarchical Thompson sampling: every sum goes over all outcomes again.

What its rules settle, beside those of the twin of rank-one Thompson sampling, whose chain it has:

Grid
    Couples follow the rates exactly, or with a concentration of 10,000, 3,000, 1,000, 300, 100, 30,
    10 or 3. Before any game the first has a chance of `EXACT`, and the others share the rest.
Fits
    Made before the first proposal, and as soon as the outcomes since the last fits are 1 more than
    a tenth of those known then, rounded down. With a memory, an outcome of a couple weighs what
    those of its players do on average, both alike.
Modes
    Newton's method in log odds from the last mode, at most 20 steps, each halved at most 12 times
    while it loses, until one gains less than 0.001. What climbs is the posterior of the rates in
    which each outcome of a couple with n outcomes weighs (k + 1) / (k + n), unless its answers were
    told; the matrix is the Fisher information. Log odds stay within 35.
Chances
    Proportional to the prior times the density at the mode, over the root of the determinant of the
    information of the players who have outcomes, times the exact likelihood of each couple for its
    discounted one, in which all outcomes count.
Choice
    In rounds that draw, by the uniform number at 0 of the stream of word(keys[0], round): the grid
    in its order. Then normal number i of word(word(keys[0], round), 1) moves player i's log odds,
    by the inverse of the transposed Cholesky factor; the couples who can meet, in lexicographic
    order, take Beta draws from word(keys[1], round). In other rounds, and if the chance of
    any deviation is above 0.01, couples have their means over the grid, of which chances up to
    0.001 are left out. Otherwise it is rank one's turn.
Keys
    keys[p] is word(policy_key, p).
"""

import math
from itertools import combinations

import numpy as np

from tests.support.twins import distributions as naive_sampling
from tests.support.twins import streams
from tests.support.twins.matching import matchings
from tests.support.twins.rank_one import RankOneThompson

CONCENTRATIONS = (math.inf, 1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 10.0, 3.0)
EXACT = 0.7
NEAR = 1e-9


class HierarchicalThompson(RankOneThompson):
    def __init__(self, players, period=2, key=0, prior="uniform", memory=None):
        super().__init__(players, period, key, prior, memory)
        self.keys = [streams.word(key, purpose) for purpose in range(2)]
        others = len(CONCENTRATIONS) - 1
        self.belief = [EXACT] + [(1 - EXACT) / others] * others
        self.modes = np.zeros((len(CONCENTRATIONS), players))
        self._begin_unknown()

    def _take(self, outcome):
        super()._take(outcome)
        self.news += 1

    def forget(self, player, rate):
        super().forget(player, rate)
        self._begin_unknown()

    def _begin_unknown(self):
        unknown = [i for i in range(self.n) if not self.met(i)]
        self.modes[:, unknown] = self.a / (self.a + self.b)
        if len(unknown) == self.n:
            self.chances = list(self.belief)
        self.news = self.needed = 0

    # --- proposals -------------------------------------------------------------------------------

    def propose(self, available=None):
        """Return the matching that rank one plays, or None: then `allows` knows the values."""
        self.available = sorted(range(self.n) if available is None else available)
        round, self.values = self.round, None
        matching = super().propose(available)
        self.round = round
        self._value_couples(round)
        self.round = round + 1
        return matching

    def _value_couples(self, round):
        """Fit and draw what this round needs, as of this round."""
        if self.news >= self.needed:
            self._fit_all()
        if round % self.period:
            if self.chances[0] < 0.99:
                self.values = {couple: self._mean_chance(*couple) for couple in self._couples()}
        else:
            choice = self._choice(streams.word(self.keys[0], round))
            if choice:
                self.values = self._drawn(choice, round)

    def allows(self, proposed, matching):
        """Whether to propose this, where rank one would propose `matching`."""
        if self.values is None:
            return proposed == matching
        full = len(self.available) // 2
        sums = [
            math.fsum(map(self.values.get, each))
            for each in matchings(self.available)
            if len(each) == full
        ]
        return len(proposed) == full and (
            math.fsum(map(self.values.get, proposed)) >= max(sums) - NEAR
        )

    def _couples(self):
        return list(combinations(self.available, 2))

    def _choice(self, key):
        luck, choice = ((streams.word(key, 0) >> 11) + 0.5) / 2**53 - self.chances[0], 0
        while luck > 0 and choice < len(CONCENTRATIONS) - 1:
            choice += 1
            luck -= self.chances[choice]
        return choice

    def _drawn(self, choice, round):
        k, key = CONCENTRATIONS[choice], streams.word(streams.word(self.keys[0], round), 1)
        fit = self._posterior(k)
        x = _logit(np.where(fit.known, self.modes[choice], self.a / (self.a + self.b)))
        factor = np.linalg.cholesky(fit.information(x))
        normals = [naive_sampling.normal(streams.word(key, i)) for i in range(self.n)]
        rates = _rates(x + np.linalg.solve(factor.T, normals))
        values, key = {}, streams.word(self.keys[1], round)
        for number, (i, j) in enumerate(self._couples()):
            m, (games, missed) = rates[i] * rates[j], self._outcomes_of(i, j)
            values[i, j] = naive_sampling.beta(key, number, k * m + games, k * (1 - m) + missed)
        return values

    def _mean_chance(self, i, j):
        games, missed = self._outcomes_of(i, j)
        total = weight = 0.0
        for k, chance, mode in zip(CONCENTRATIONS, self.chances, self.modes, strict=True):
            if chance > 1e-3:
                exact = self.mean[i] * self.mean[j]
                both = k * mode[i] * mode[j] + games if k < math.inf else 0.0
                total += chance * (exact if k == math.inf else both / (k + games + missed))
                weight += chance
        return total / weight

    def _outcomes_of(self, i, j):
        """Games and misses of a couple, with answers or not, by what they weigh on average."""
        played = [
            all(outcome) if len(outcome) == 2 else outcome[0]
            for one, other, *outcome in self.outcomes
            if {one, other} == {i, j}
        ]
        weight = 0.5 * (self._recency(i) + self._recency(j))
        return weight * sum(map(_is_game, played)), weight * sum(not _is_game(p) for p in played)

    # --- fits ------------------------------------------------------------------------------------

    def _fit_all(self):
        logs = []
        for g, k in enumerate(CONCENTRATIONS):
            fit = self._posterior(k)
            x = fit.climbed(_logit(np.where(fit.known, self.modes[g], self.a / (self.a + self.b))))
            self.modes[g] = _rates(x)
            logs.append(math.log(self.belief[g]) + fit.log_evidence(x))
        weights = np.exp(np.array(logs) - max(logs))
        self.chances = list(weights / weights.sum())
        self.needed = 1 + int(0.1 * sum(self.met(i) for i in range(self.n)) / 2)
        self.news = 0

    def _posterior(self, concentration):
        return Fit(self, concentration)


class Fit:
    """The posterior of the log odds of all rates, under a concentration."""

    def __init__(self, twin, concentration):
        n, self.k = twin.n, concentration
        self.known = np.array([twin.met(i) > 0 for i in range(n)])
        self.couples = {}  # games and misses shared, and all of them
        self.accepted, self.declined = np.full(n, twin.a), np.full(n, twin.b)
        self.frozen = [(p, kind, twin.weight(r)) for p, kind, told, r, _ in twin.lost if not told]
        for player, kind, weight in self.frozen:
            self.accepted[player] += weight * (kind == "played")
        self.frozen = [each for each in self.frozen if each[1] != "played"]
        for player, kind, told, round, _ in twin.lost:
            if told:
                self.accepted[player] += twin.weight(round) * (kind == 1)
                self.declined[player] += twin.weight(round) * (kind == 0)
        shared = {}
        for (i, j, *outcome), weight in twin.weighed():
            games, missed = shared.get((i, j), (0.0, 0.0))
            if len(outcome) == 1:
                # Their acceptances weigh what they weigh, and the games what games do on average.
                average = 0.5 * (twin._recency(i) + twin._recency(j))
                shared[i, j] = games + average * outcome[0], missed + weight * (not outcome[0])
                for player in (i, j):
                    self.accepted[player] += (weight - average) * outcome[0]
            else:
                shared.setdefault((i, j), (0.0, 0.0))
                for player, answer in zip((i, j), outcome, strict=True):
                    self.accepted[player] += weight * (answer == 1)
                    self.declined[player] += weight * (answer == 0)
        self.accepted = np.maximum(self.accepted, twin.a)
        for couple, (games, missed) in shared.items():
            self.couples[couple] = games, missed, *twin._outcomes_of(*couple)

    def discount(self, games, missed):
        n = max(games + missed, 1.0)
        return 1.0 if self.k == math.inf else (self.k + 1) / (self.k + n)

    def log_density(self, x):
        r = _rates(x)
        total = float((self.accepted * np.log(r) + self.declined * np.log1p(-r))[self.known].sum())
        total += sum(weight * math.log1p(-r[p] * kind) for p, kind, weight in self.frozen)
        for (i, j), (games, missed, *every) in self.couples.items():
            m = r[i] * r[j]
            total += self.discount(*every) * (games * math.log(m) + missed * math.log1p(-m))
        return total

    def slope(self, x):
        r = _rates(x)
        slope = self.accepted * (1 - r) - self.declined * r
        for player, kind, weight in self.frozen:
            p = r[player]
            slope[player] -= weight * p * kind / (1 - p * kind) * (1 - p)
        for (i, j), (games, missed, *every) in self.couples.items():
            m = r[i] * r[j]
            for each in (i, j):
                both = games - missed * m / (1 - m)
                slope[each] += self.discount(*every) * both * (1 - r[each])
        return np.where(self.known, slope, 0.0)

    def information(self, x):
        r = _rates(x)
        matrix = np.diag((self.accepted + self.declined) * r * (1 - r))
        for player, kind, weight in self.frozen:
            p = r[player]
            matrix[player, player] += weight * p * kind / (1 - p * kind) ** 2 * (1 - p) ** 2
        for (i, j), (games, missed, *every) in self.couples.items():
            m = r[i] * r[j]
            direction = np.zeros(len(x))
            direction[[i, j]] = 1 - r[[i, j]]
            tries = self.discount(*every) * (games + missed)
            matrix += tries * m / (1 - m) * np.outer(direction, direction)
        return matrix

    def climbed(self, x):
        """Newton's method."""
        density = self.log_density(x)
        for _ in range(20):
            step, size, before = np.linalg.solve(self.information(x), self.slope(x)), 1.0, x
            for _ in range(12):
                x = np.clip(before + size * step, -35, 35)
                gain = self.log_density(x) - density
                if gain >= 0:
                    break
                size /= 2
            else:
                return before
            density += gain
            if gain < 1e-3:
                break
        return x

    def log_evidence(self, x):
        r, total = _rates(x), self.log_density(x)
        if self.known.any():
            matrix = self.information(x)[np.ix_(self.known, self.known)]
            total -= 0.5 * np.linalg.slogdet(matrix)[1]
        for (i, j), (shared, lost, games, missed) in self.couples.items():
            if self.k < math.inf:
                m, full = r[i] * r[j], 1 - self.discount(games, missed)
                total += _log_beta_ratio(self.k * m, self.k * (1 - m), games, missed)
                total += (full * shared - games) * math.log(m)
                total += (full * lost - missed) * math.log1p(-m)
        return total


def _is_game(outcome):
    return outcome is True or outcome == 1


def _log_beta_ratio(a, b, games, missed):
    return (
        math.lgamma(a + games)
        - math.lgamma(a)
        + math.lgamma(b + missed)
        - math.lgamma(b)
        + math.lgamma(a + b)
        - math.lgamma(a + b + games + missed)
    )


def _rates(x):
    return 1 / (1 + np.exp(-np.asarray(x)))


def _logit(rates):
    return np.log(rates / (1 - rates))
