"""A policy's compiled steps against its slow twin."""

from random import Random

from tests.support.twins import loop as naive_loop
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled


class Duel:
    """The compiled steps and their twin, who see the same outcomes.

    What must agree beyond the matchings proposed, a test says by its own `agree`.
    """

    def __init__(self, policy, twin, rates, seed, key=None, horizon=None):
        self.rates, self.twin = rates, twin
        self.compiled = Compiled(
            policy, len(rates), policy_key(seed) if key is None else key, horizon
        )
        self.key = streams.stream_key(seed, 0, streams.ACCEPTANCES)
        self.rounds = 0

    def propose(self, available=None):
        expected, proposed = self.twin.propose(available), self.compiled.propose()
        self.agree(expected, proposed)
        self.rounds += 1
        return proposed

    def agree(self, expected, proposed):
        assert proposed == expected

    def outcomes(self, matching):
        accepted = naive_loop.accepts(self.key, self.rates, self.rounds)
        return [accepted[i] and accepted[j] for i, j in matching]

    def observe(self, couples, played):
        self.compiled.observe(couples, played)
        self.twin.observe(couples, played)

    def play(self, rounds):
        for _ in range(rounds):
            matching = self.propose()
            self.observe(matching, self.outcomes(matching))
        return self

    def play_with_some_players(self, times, most_rounds=4):
        n, random = len(self.rates), Random(len(self.rates))
        for _ in range(times):
            sizes = [2, 3, min(4, n), min(5, n), n - 2, n - 1, n, n, n]
            available = random.sample(range(n), random.choice(sizes))
            self.compiled.set_available(available)
            for _ in range(random.randint(1, most_rounds)):
                matching = self.propose(available)
                self.observe(matching, self.outcomes(matching))

    def play_late(self, rounds):
        random, due = Random(7), []
        for _ in range(rounds):
            matching = self.propose()
            due += zip(matching, self.outcomes(matching), strict=True)
            random.shuffle(due)
            known = [due.pop() for _ in range(min(len(due), random.randint(0, 6)))]
            self.observe([couple for couple, _ in known], [played for _, played in known])

    def set_present(self, present):
        self.compiled.set_present(present)
        self.twin.set_present(present)


class ExactDuel(Duel):
    """A duel over exact best matchings: of several, the compiled steps may play any."""

    def agree(self, expected, proposed):
        assert self.twin.allows(proposed)


def policy_key(seed):
    """The key of the policy's own draws."""
    return streams.stream_key(seed, 0, streams.POLICY)
