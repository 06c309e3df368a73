"""Slow twin of rank-one Thompson sampling: every move weighs the whole posterior anew.

What its rules settle:

Draws
    The k-th uniform number of a round is (bits + 1/2) / 2**53, of the upper 53 bits of
    word(word(policy_key, round), k), rounds from 0. Every `period`-th round, 0 included, draws.
Refreshes
    Before a draw, a player with m known outcomes among n present gains
    period * clip(2000 / (m + 1), 0.05, max(80 / n, 1)) of credit, and is refreshed once for each
    whole unit of it, players by slot. Slot i starts with credit
    i * 0.618... mod 1.
Moves
    A refresh moves the player's rate, then the player's against that of the partner it met most
    often (of several, the lowest), who moves by the inverse factor. A move takes two numbers u, v:
    its factor is (1 + s)/(1 - s), s = reach (2u - 1), and it is made when ln v is below what it
    gains in log posterior of the logarithms of the rates. Rates stay between 1e-30 and 1.
Reach
    1/sqrt(1 + (1 + I)/4.3), I the Fisher information on the logarithm of the rate, or of the
    factor, at the means. Fitted by the first refresh, and when the player's outcomes are over 1.1
    times those of the last fit; before that it is 1 - 2**-53.
Means
    After a draw, each mean moves towards the drawn rate by 20/(20 + draws before). Once any answer
    was told it moves towards (1 + a)/(2 + a + d) instead, where a and d are the acceptances and
    declines of the player, and an outcome of which only is known that it was not played counts for
    both in the proportion that the drawn rates of its two players make likely.
"""

import math

from tests.support.twins import streams

MIN_RATE = 1e-30


class RankOneThompson:
    def __init__(self, players, period=2, key=0):
        self.n, self.period, self.key, self.round = players, period, key, 0
        self.outcomes = []  # (i, j, answer of i, answer of j) or (i, j, played)
        self.rates, self.mean = [0.5] * players, [0.5] * players
        self.drawn, self.fitted = [0] * players, [0.0] * players
        self.credit = [i * 0.6180339887498949 % 1 for i in range(players)]
        self.reach = [(1 - 2**-53, 1 - 2**-53)] * players
        self.by_rate, self.by_mean = list(range(players)), list(range(players))

    def observe(self, couples, played):
        self.outcomes += [(i, j, game) for (i, j), game in zip(couples, played, strict=True)]

    def observe_answers(self, couples, answers):
        self.outcomes += [(i, j, *answer) for (i, j), answer in zip(couples, answers, strict=True)]

    def propose(self, available=None):
        draws = self.round % self.period == 0
        if draws:
            self._draw()
        order = self.by_rate if draws else self.by_mean
        order = [i for i in order if available is None or i in available]
        self.round += 1
        return sorted(tuple(sorted(order[x : x + 2])) for x in range(0, len(order) - 1, 2))

    def log_posterior(self, rates):
        """Of the logarithms of the rates: hence the sum of those."""
        total = sum(math.log(rate) for rate in rates)
        for i, j, *outcome in self.outcomes:
            if len(outcome) == 1:
                both = rates[i] * rates[j]
                total += math.log(both) if outcome[0] else math.log1p(-both)
                continue
            for player, answer in zip((i, j), outcome, strict=True):
                if answer >= 0:
                    total += math.log(rates[player]) if answer else math.log1p(-rates[player])
        return total

    def met(self, i):
        return sum(i in outcome[:2] for outcome in self.outcomes)

    def tries(self, i, j):
        return sum({i, j} == set(outcome[:2]) for outcome in self.outcomes)

    def _draw(self):
        self.number, most = 0, max(80 / self.n, 1)
        for i in range(self.n):
            self.credit[i] += self.period * min(max(2000 / (self.met(i) + 1), 0.05), most)
            while self.credit[i] >= 1:
                self.credit[i] -= 1
                self._refresh(i)
        for i in range(self.n):
            told = any(len(outcome) == 4 for outcome in self.outcomes)
            towards = self._expected(i) if told else self.rates[i]
            self.mean[i] += 20 / (20 + self.drawn[i]) * (towards - self.mean[i])
            self.drawn[i] += 1
        self.by_rate.sort(key=lambda i: -self.rates[i])
        self.by_mean.sort(key=lambda i: -self.mean[i])

    def _expected(self, i):
        accepted = declined = 0.0
        for outcome in self.outcomes:
            if i not in outcome[:2]:
                continue
            if len(outcome) == 4:
                answer = outcome[2 + outcome.index(i)]
                accepted, declined = accepted + (answer == 1), declined + (answer == 0)
            elif outcome[2]:
                accepted += 1
            else:
                one, other = self.rates[i], self.rates[sum(outcome[:2]) - i]
                missed = 1 - one * other
                accepted += one * (1 - other) / missed
                declined += (1 - one) / missed
        return (1 + accepted) / (2 + accepted + declined)

    def _refresh(self, i):
        partners = [self.tries(i, j) for j in range(self.n)]
        usual = partners.index(max(partners)) if any(partners) else None
        if self.met(i) > self.fitted[i]:
            self._fit(i, usual)
        self._move(i, self.reach[i][0])
        if usual is not None:
            self._move(i, self.reach[i][1], against=usual)

    def _fit(self, i, usual):
        alone = self._information({i: 1})
        apart = self._information({i: 1, usual: -1})
        self.reach[i] = tuple(1 / math.sqrt(1 + (1 + x) / 4.3) for x in (alone, apart))
        self.fitted[i] = 1.1 * self.met(i)

    def _information(self, signs):
        """Fisher information on x when the logarithm of each rate moves by its sign times x."""
        total = 0.0
        for i, j, *outcome in self.outcomes:
            both = self.mean[i] * self.mean[j]
            total += (signs.get(i, 0) + signs.get(j, 0)) ** 2 * both / (1 - both)
            for player, answer in zip((i, j), outcome if len(outcome) == 2 else (), strict=False):
                if answer == 0:
                    total += abs(signs.get(player, 0)) * self.mean[player]
        return total

    def _move(self, i, reach, against=None):
        shift, luck = reach * (2 * self._uniform() - 1), self._uniform()
        factor, rates = (1 + shift) / (1 - shift), list(self.rates)
        rates[i] *= factor
        if against is not None:
            rates[against] /= factor
        if not all(MIN_RATE < rate < 1 for rate in rates):
            return
        if math.log(luck) < self.log_posterior(rates) - self.log_posterior(self.rates):
            self.rates = rates

    def _uniform(self):
        bits = streams.word(streams.word(self.key, self.round), self.number) >> 11
        self.number += 1
        return (bits + 0.5) / 2**53
