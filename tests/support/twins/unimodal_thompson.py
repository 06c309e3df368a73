"""A slow, obvious twin of Thompson sampling around the leader, in plain Python.

Leader, neighbours and turns are those of the twin of `Unimodal`. What is its own:

Turns
    The leader is played when the number of times that it has led, this time included, is a multiple
    of the period (when not everyone is available: the number of proposals).
Draws
    In the proposal number `round`, from 1, a couple draws Beta(1 + games, 1 + tries - games) at an
    index of the stream `word(word(policy_key, 1), round)`: couple k of the leader at 5 k, and with
    the couples k and k + 1 written ascending, {i, i'} and {j, j'}, the pairs {i, j}, {i, j'},
    {i', j} and {i', j'} at 5 k + 1 to 5 k + 4. Couples with the phantom are worth -1.
Ties
    The leader is worth 0 and wins its ties; of equal neighbours the first is played.
"""

from tests.support.twins import distributions as naive_sampling
from tests.support.twins import streams
from tests.support.twins import unimodal as naive_unimodal


class UnimodalThompson(naive_unimodal.Unimodal):
    """The paper's V1 ("matchings") and V2 ("players") with draws for indices."""

    def __init__(self, capacity, key, compare="players", period=2):
        super().__init__(capacity, key, compare)
        self.period, self.draw_key = period, streams.word(key, 1)

    def propose(self, available=None):
        available = self.present if available is None else set(available)
        leader = self.leading = self.leader(available)
        led = self.led[leader] if available == self.present else self.rounds
        if available == self.present:
            self.led[leader] += 1
        self.rounds += 1
        matching = leader
        if (led + 1) % self.period != 0:
            matching = self._best_in_draw(leader)
        return self._without_phantom(matching)

    def _best_in_draw(self, leader):
        best, best_matching = 0.0, leader
        for k in range(len(leader) - 1):
            (i, i2), (j, j2) = leader[k : k + 2]
            rates = [self._draw((i, i2), 5 * k), self._draw((j, j2), 5 * k + 5)]
            cross = [(i, j), (i, j2), (i2, j), (i2, j2)]
            cross = [tuple(sorted(couple)) for couple in cross]
            drawn = [self._draw(couple, 5 * k + 1 + c) for c, couple in enumerate(cross)]
            for first, second in ((0, 3), (1, 2)):
                if self.compare == "matchings":
                    value = drawn[first] + drawn[second] - (rates[0] + rates[1])
                else:
                    value = max(drawn[first], drawn[second]) - rates[0]
                if value > best:
                    new = (cross[first], cross[second])
                    best, best_matching = value, leader[:k] + new + leader[k + 2 :]
        return best_matching

    def _draw(self, couple, index):
        if self.phantom in couple:
            return -1.0
        key = streams.word(self.draw_key, self.rounds)
        games, tries = self.games[couple], self.tries[couple]
        return naive_sampling.beta(key, index, 1.0 + games, 1.0 + tries - games)
