"""Rates of rows and columns that bring out different behaviour."""

from random import Random

from tests.support.twins import loop as naive_loop
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled

SIDES = {
    "one couple": ([0.5], [0.5]),
    "one position": ([0.2, 0.9, 0.5, 0.4], [0.8]),
    "one item": ([0.7], [0.2, 0.8]),
    "square": ([0.9, 0.6, 0.3], [1.0, 0.5, 0.2]),
    "more columns": ([0.9, 0.5], [0.3, 1.0, 0.6, 0.1]),
    "ranking": (
        [0.3, 0.2, 0.15, 0.15, 0.15, 0.1, 0.05, 0.05, 0.01, 0.01],
        [1, 0.75, 0.6, 0.3, 0.1],
    ),
    "equal": ([0.6] * 5, [0.7] * 3),
    "zeros and ones": ([1, 0, 1, 0, 1], [1, 0, 1]),
    "rare": ([1e-3, 5e-4, 1e-4, 1e-5], [1, 0.5]),
}


class SideDuel:
    """Compiled steps of a policy for two sides against its twin, who see the same outcomes.

    Rows and columns have slots in a random order.
    """

    def __init__(self, policy, sides, seed, horizon=None):
        rows, columns = sides
        order = Random(seed).sample(range(len(rows) + len(columns)), len(rows) + len(columns))
        self.rates = [0.0] * len(order)
        for place, rate in zip(order, [*rows, *columns], strict=True):
            self.rates[place] = float(rate)
        self.rows = sorted(order[: len(rows)])
        self.columns = sorted(order[len(rows) :], key=lambda j: -self.rates[j])
        self.policy_key = streams.stream_key(seed, 0, streams.POLICY)
        self.compiled = Compiled(
            policy, len(order), self.policy_key, horizon, column_order=self.columns
        )
        self.key = streams.stream_key(seed, 0, streams.ACCEPTANCES)
        self.rounds = 0

    def outcomes(self, matching):
        accepted = naive_loop.accepts(self.key, self.rates, self.rounds)
        return [accepted[i] and accepted[j] for i, j in matching]

    def play(self, rounds):
        for _ in range(rounds):
            matching = self.propose()
            played = self.outcomes(matching)
            self.rounds += 1
            self.compiled.observe(matching, played)
            self.twin.observe(matching, played)
        return self
