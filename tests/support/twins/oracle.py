"""A slow, obvious twin of the best matching, in plain Python."""

from tests.support.twins.uniform import couples_in


class Oracle:
    """Neighbours in the order of the true rates; equal rates in the order of their labels."""

    def __init__(self, rates):
        self.rates = rates

    def propose(self, available=None):
        available = range(len(self.rates)) if available is None else available
        return couples_in(sorted(sorted(available), key=lambda i: -self.rates[i]))

    def observe(self, couples, played):
        pass
