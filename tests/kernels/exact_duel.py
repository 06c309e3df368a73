"""Compiled steps that play exact best matchings, against their slow twin."""

import naive
from kernels.compiled import Compiled


class Duel:
    """The compiled steps and their twin, who see the same outcomes."""

    def __init__(self, policy, twin, rates, seed):
        key = naive.stream_key(seed, 0, naive.POLICY)
        self.compiled, self.twin = Compiled(policy, len(rates), key), twin
        self.rates, self.rounds = rates, 0
        self.key = naive.stream_key(seed, 0, naive.ACCEPTANCES)

    def propose(self, seated=None):
        """The compiled steps' matching, which must be one of the twin's best."""
        self.twin.propose(seated)
        proposed = self.compiled.propose()
        assert self.twin.allows(proposed)
        self.rounds += 1
        return proposed

    def outcomes(self, matching):
        accepted = naive.accepts(self.key, self.rates, self.rounds)
        return [accepted[i] and accepted[j] for i, j in matching]

    def observe(self, couples, played):
        self.compiled.observe(couples, played)
        self.twin.observe(couples, played)

    def play(self, rounds, seated=None):
        for _ in range(rounds):
            matching = self.propose(seated)
            self.observe(matching, self.outcomes(matching))

    def play_some(self, random, turns):
        """Play with players seated who change all the time."""
        n = len(self.rates)
        for _ in range(turns):
            seated = random.sample(range(n), random.choice([2, 3, 4, 5, n - 1, n, n]))
            self.compiled.seat(seated)
            self.play(random.randint(1, 4), seated)

    def play_late(self, random, rounds):
        """Play with outcomes that come late and in any order."""
        due = []
        for _ in range(rounds):
            matching = self.propose()
            due += zip(matching, self.outcomes(matching), strict=True)
            random.shuffle(due)
            known = [due.pop() for _ in range(min(len(due), random.randint(0, 6)))]
            self.observe([couple for couple, _ in known], [played for _, played in known])
