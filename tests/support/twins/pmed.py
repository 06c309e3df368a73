"""Slow twins of PMED: rounds by the plan, and fitted rates by a generic solver."""

import math

import numpy as np
from scipy.optimize import minimize

from pairup.policies.pmed.exploration_plan import make_plan
from pairup.policies.pmed.fitted_rates import fit_rates

_PERIOD = 25


class PMED:
    """Follow a plan, and make another one when it is played or others are available."""

    def __init__(self, capacity, columns=None):
        self.columns = columns
        self.tries, self.games = np.zeros((2, capacity, capacity), int)
        self.round, self.players, self.queue, self.leader, self.last = 0, None, {}, [], 0
        self.set_present(range(capacity))

    def set_present(self, present):
        self.present = sorted(present)

    def propose(self, available=None):
        players = self.present if available is None else sorted(available)
        changed = players != self.players
        if changed or (not any(self.queue.values()) and self.round >= self.last):
            self._replan(players, in_haste=changed and self.round % _PERIOD != 0)
        self.round += 1
        if not any(self.queue.values()):
            return self.leader
        wanted = max(self.queue, key=self.queue.get)  # the first of equals
        self.queue[wanted] -= 1
        return sorted(self.matchings[wanted])

    def _replan(self, players, in_haste):
        # The rates of players of whom nothing was seen are 1/2, which the fit says too.
        rates = fit_rates(self.tries, self.games).rates[players]
        tries = (self.tries + self.tries.T)[np.ix_(players, players)]
        columns = None if self.columns is None else self.columns[players]
        plan = make_plan(rates, tries, self.round + 1, columns, in_haste)
        self.players, self.last = players, plan.last_round

        def named(matching):
            return sorted((players[i], players[j]) for i, j in matching)

        explored = sorted(plan.exploration, key=lambda each: -each[1])
        self.leader = named(plan.leader)
        self.matchings = [self.leader, *(named(matching) for matching, _ in explored)]
        times = [often for _, often in explored]
        self.queue = dict(enumerate([sum(times), *times]))

    def observe(self, couples, played):
        for (i, j), game in zip(couples, played, strict=True):
            self.tries[i, j] += 1
            self.games[i, j] += game


def most_likely(tries, games):
    """The rates of greatest likelihood, by a generic solver in the rates themselves."""

    def misfit(rates):
        total = 0.0
        for i, rate in enumerate(rates):
            total += 0.5 * math.log(rate) + 0.5 * math.log(1 - rate)
            for j in range(i + 1, len(rates)):
                chance = rate * rates[j]
                missed = tries[i, j] - games[i, j]
                total += games[i, j] * math.log(chance) + missed * math.log(1 - chance)
        return -total / max(tries.sum(), 1)

    start = np.full(len(tries), 0.5)
    box = [(1e-9, 1 - 1e-9)] * len(tries)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2_000, "maxfun": 100_000}
    return minimize(misfit, start, method="L-BFGS-B", bounds=box, options=options).x
