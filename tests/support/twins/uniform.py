"""A slow, obvious twin of matchings drawn at random, in plain Python."""

from tests.support.twins.streams import shuffled, word


class Uniform:
    """A new shuffle for each proposal, cut into couples; the last of an odd number waits."""

    def __init__(self, capacity, key):
        self.present, self.key, self.rounds = set(range(capacity)), key, 0

    def propose(self, available=None):
        available = self.present if available is None else available
        order = shuffled(word(self.key, self.rounds), sorted(available))
        self.rounds += 1
        return couples_in(order)

    def observe(self, couples, played):
        pass


def couples_in(order):
    return sorted(tuple(sorted(order[x : x + 2])) for x in range(0, len(order) - 1, 2))
