"""Slow twin of rank-one Thompson sampling on two sides.

As on one side, but for these rules:

Matchings
    The best row meets the best column, the second best the second best, and so on.
Refreshes
    Before a draw all players gain the credit of the player with most outcomes.
Scale
    Before each draw all rows move up by the factor f and all columns down, or the other way round,
    f = (1 + s)/(1 - s), s = d / (2 + d) (2u - 1), where d is the lesser of 4 / (a |R - C| + 1e-9)
    and -ln of the product of the greatest rates of both sides. The numbers u, v are the first of
    word(word(word(policy_key, 2**60), round), k).
"""

import math

from tests.support.twins import streams
from tests.support.twins.rank_one import MIN_RATE, RankOneThompson


class TwoSidedRankOne(RankOneThompson):
    def __init__(self, columns, **options):
        super().__init__(len(columns), **options)
        self.columns = list(columns)

    def propose(self):
        draws = self.round % self.period == 0
        if draws:
            self._move_scale()
        super().propose()
        values = self.rates if draws else self.mean
        order = sorted(range(self.n), key=lambda i: -values[i])
        rows = [i for i in order if not self.columns[i]]
        columns = [i for i in order if self.columns[i]]
        return sorted(tuple(sorted(couple)) for couple in zip(rows, columns, strict=False))

    def _draw(self, available, explores):
        self.number, most = 0, max(80 / self.n, 1)
        known = max(self.met(i) for i in available)
        for i in available:
            self.credit[i] += self.period * min(max(2000 / (known + 1), 0.05), most)
            while self.credit[i] >= 1:
                self.credit[i] -= 1
                self._refresh(i)
        expected = [self._expected(i)[0] if self.learns else self.rates[i] for i in available]
        for i, rate in zip(available, expected, strict=True):
            self._average(i, rate)
        if self.learns:
            self._learn_law(available)

    def _move_scale(self):
        key = streams.word(streams.word(self.key, 2**60), self.round)
        u, v = (((streams.word(key, k) >> 11) + 0.5) / 2**53 for k in range(2))
        tops = [
            max(
                rate
                for rate, is_column in zip(self.rates, self.columns, strict=True)
                if is_column == side
            )
            for side in (False, True)
        ]
        excess = self.n - 2 * sum(self.columns)
        distance = min(-math.log(math.prod(tops)), 4 / (self.a * abs(excess) + 1e-9))
        shift = distance / (2 + distance) * (2 * u - 1)
        factor = (1 + shift) / (1 - shift)
        moved = [
            rate / factor if is_column else rate * factor
            for rate, is_column in zip(self.rates, self.columns, strict=True)
        ]
        if not all(MIN_RATE < rate < 1 for rate in moved):
            return
        if math.log(v) < self.log_posterior(moved) - self.log_posterior(self.rates):
            self.rates = moved
