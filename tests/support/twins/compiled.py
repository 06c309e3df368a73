"""A policy's compiled steps, driven as the simulator drives them."""

import numpy as np

from pairup.compiled.steps import observe_step, propose_step, set_available_step
from pairup.policies.contract import Interruptions, StartContext


class Compiled:
    """The compiled steps of a policy, behind the methods of its slow twin."""

    def __init__(self, policy, capacity, key=0, horizon=None, rates=None, column_order=None):
        rates = None if rates is None else np.array(rates, float)
        self.policy = policy
        columns = None
        if column_order is not None:  # two sides: the slots of the columns, best first
            column_order = np.array(column_order, np.int64)
            columns = np.isin(np.arange(capacity), column_order)
        key = np.uint64(key)
        context = StartContext(capacity, key, horizon, rates, None, columns, column_order)
        self.state = policy.start(context)
        self.growths = 0
        self.set_present(range(capacity))

    def set_present(self, present):
        """The players present are now `present`, and all are available."""
        self.present = np.array(sorted(present), np.int64)
        self.policy.set_present(self.state, self.present)
        self.set_available(self.present)

    def set_available(self, players):
        self.available = np.array(sorted(players), np.int64)
        set_available_step(self.state, self.available)

    def propose(self):
        couples = np.full((len(self.available) // 2, 2), -1, np.int64)
        interruptions = Interruptions(self.policy)
        while interruptions.is_one(status := propose_step(self.state, couples)):
            self.state = interruptions.resolved(self.state, status, 0)
            self.growths += 1
        return sorted((i, j) for i, j in couples.tolist() if i >= 0)

    def observe(self, couples, played):
        couples = np.array(couples, np.int64).reshape(-1, 2)
        observe_step(self.state, couples, np.array(played, np.bool_))

    @property
    def leader(self):
        """The leader's couples in order, the phantom's included."""
        return tuple((i, j) for i, j in self.policy.leader(self.state).tolist())
