"""Slow twins of `pairup.bounds.lower`: all matchings, rates instead of logarithms, generic solvers.

They share nothing with the package. The rates of a couple, (v, product / v), are given by v alone.
"""

import itertools
import math

import numpy as np
from scipy.optimize import linprog, minimize


def all_matchings(players):
    """Every perfect matching of a list of players."""
    if not players:
        return [[]]
    first, rest = players[0], players[1:]
    return [
        [(first, other), *more]
        for other in rest
        for more in all_matchings([each for each in rest if each != other])
    ]


def kl(p, q):
    """Information of a couple of rate p against a rate q."""
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += a * math.log(a / b) if b > 0 else math.inf
    return total


class ConfusedProblem:
    """A problem with its phantom, its matchings and its confusing rates."""

    def __init__(self, rates):
        self.real = len(rates)
        self.rates = [*rates, 0.0] if len(rates) % 2 else list(rates)
        order = sorted(range(len(self.rates)), key=lambda player: (-self.rates[player], player))
        self.couples = [tuple(order[k : k + 2]) for k in range(0, len(order), 2)]
        best = self.games(self.couples)
        kept = {frozenset(couple) for couple in self.couples}
        self.matchings = [
            matching
            for matching in all_matchings(list(range(len(self.rates))))
            if {frozenset(couple) for couple in matching} != kept
        ]
        self.losses = [best - self.games(matching) for matching in self.matchings]

    def games(self, matching):
        return sum(self.rates[i] * self.rates[j] for i, j in matching)

    def moves(self):
        """All (better, worse, which player of the last couple may move, if its product is 0)."""
        last, other = self.couples[-1]
        found = []
        for (_, high), (m, low) in itertools.combinations(enumerate(self.couples), 2):
            if self.rates[high[0]] == self.rates[high[1]] == 1:
                continue  # their product is 1, and nobody exceeds 1
            for a, b in itertools.product(high, low):
                if self.rates[last] * self.rates[other] > 0:
                    found.append((a, b, None))
                elif m < len(self.couples) - 1 or b == last:
                    found.append((a, b, last))
                elif self.rates[last] == 0 and b < self.real:
                    found.append((a, b, other))
        return found

    def confused(self, free, mover):
        """All rates, from one number per couple."""
        rates = list(self.rates)
        for (i, j), v in zip(self.couples, free, strict=True):
            product = self.rates[i] * self.rates[j]
            if product > 0:
                rates[i], rates[j] = v, product / v
            else:
                rates[i] = rates[j] = 0.0
                rates[mover] = v
        return rates

    def meeting(self, a, b, level):
        """One number per couple, so that a and b have the rate `level` and all others their own."""
        free = []
        for couple in self.couples:
            product = self.rates[couple[0]] * self.rates[couple[1]]
            if a in couple or b in couple:
                first = couple[0] in (a, b) or product == 0
                free.append(level if first else product / level)
            else:
                free.append(self.rates[couple[0]])
        return free

    def told(self, rates, matching):
        """Information of one play of a matching; nobody sees the phantom."""
        return sum(
            kl(self.rates[i] * self.rates[j], rates[i] * rates[j])
            for i, j in matching
            if i < self.real and j < self.real
        )

    def box(self):
        lows = [max(self.rates[i] * self.rates[j], 0.0) for i, j in self.couples]
        return [(low + 1e-9 * (1 - low), 1 - 1e-9 * (1 - low)) for low in lows]


class SidedProblem(ConfusedProblem):
    """A problem of two sides, all of whose rates are positive.

    Couples have a player of the larger side and its partner; players who wait are alone.
    """

    def __init__(self, rows, columns):
        self.rates, self.real = [*rows, *columns], len(rows) + len(columns)
        sides = [range(len(rows)), range(len(rows), self.real)]
        ranked = [sorted(side, key=lambda player: -self.rates[player]) for side in sides]
        self.larger, self.smaller = sorted(ranked, key=len, reverse=True)
        pairs = list(zip(self.larger, self.smaller, strict=False))
        self.couples = [*pairs, *((player,) for player in self.larger[len(pairs) :])]
        self.matchings = [
            list(zip(chosen, self.smaller, strict=True))
            for chosen in itertools.permutations(self.larger, len(self.smaller))
            if list(chosen) != self.larger[: len(pairs)]
        ]
        self.losses = [self.games(pairs) - self.games(matching) for matching in self.matchings]

    def games(self, matching):
        return super().games([couple for couple in matching if len(couple) == 2])

    def moves(self):
        coupled = self.larger[: len(self.smaller)]
        overtaken = [*itertools.combinations(coupled, 2), *itertools.combinations(self.smaller, 2)]
        waiting = self.larger[len(self.smaller) :]
        return [(a, b, None) for a, b in [*overtaken, *itertools.product(coupled, waiting)]]

    def confused(self, free, mover):
        rates = list(self.rates)
        for couple, v in zip(self.couples, free, strict=True):
            rates[couple[0]] = v
            if len(couple) == 2:
                rates[couple[1]] = self.rates[couple[0]] * self.rates[couple[1]] / v
        return rates

    def meeting(self, a, b, level):
        free = []
        for couple in self.couples:
            product = math.prod(self.rates[player] for player in couple)
            if couple[0] in (a, b):
                free.append(level)
            else:
                free.append(product / level if set(couple) & {a, b} else self.rates[couple[0]])
        return free

    def box(self):
        lows = [self.games([couple]) for couple in self.couples]
        return [(low + 1e-9 * (1 - low), 1 - 1e-9 * (1 - low)) for low in lows]


def cheapest(problem, rows):
    """Least regret that tells the confusing rates of all rows, and how often each matching."""
    scale = np.array(problem.losses)
    found = linprog(
        np.ones(len(scale)), A_ub=-np.array(rows) / scale, b_ub=-np.ones(len(rows)), method="highs"
    )
    assert found.success, found.message
    return found.fun, found.x / scale


def lower_on_a_grid(rates, points):
    """The constant from below: only confusing rates on a grid must be told; two couples."""
    problem = ConfusedProblem(rates)
    assert len(problem.couples) == 2
    rows = []
    for a, b, mover in problem.moves():
        (low, high), _ = problem.box()
        for level in np.linspace(low, high, points):
            rates = problem.confused(problem.meeting(a, b, level), mover)
            assert abs(rates[a] - rates[b]) < 1e-12
            rows.append([problem.told(rates, matching) for matching in problem.matchings])
    return cheapest(problem, rows)[0]


def hardest(problem, often, move, starts):
    """Least information over the rates in which b overtakes a, by a generic solver."""
    a, b, mover = move
    box = problem.box()
    low, high = next(ends for ends, couple in zip(box, problem.couples, strict=True) if a in couple)
    meeting = np.clip(problem.meeting(a, b, (low + high) / 2), *np.array(box).T)

    def total(free):
        rates = problem.confused(free, mover)
        return sum(n * problem.told(rates, each) for n, each in often)

    def overtaken(free):
        rates = problem.confused(free, mover)
        return rates[b] - rates[a]

    best = (math.inf, None)
    for start in [meeting, *starts]:
        found = minimize(
            total,
            start,
            method="SLSQP",
            bounds=box,
            constraints=[{"type": "ineq", "fun": overtaken}],
            options={"ftol": 1e-13, "maxiter": 300},
        )
        free = np.clip(found.x, *np.array(box).T)
        # Where much is told, the solver stops a little short of the edge; that errs downwards.
        if overtaken(free) > -1e-4 and total(free) < best[0]:
            best = (total(free), free)
    return best


def both_ends(problem, exploration, seed=0):
    """The constant from below and from above, by one look at an exploration said to be the best.

    Scaled until it tells everything, the exploration is a bound from above. If it is the best, the
    confusing rates that it tells least well suffice to make it so dear: a bound from below, over
    all matchings.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array(problem.box()).T
    starts = [0.5 * (low + high), low + (high - low) * rng.random(len(low))]
    starts.append(np.clip([problem.rates[i] for i, *_ in problem.couples], low, high))
    found = [(hardest(problem, exploration, move, starts), move[2]) for move in problem.moves()]
    spent = sum(
        n * (problem.games(problem.couples) - problem.games(each)) for n, each in exploration
    )
    rows = []
    for free, mover in [(free, mover) for (value, free), mover in found if value < 1.1]:
        seen = problem.confused(free, mover)
        rows.append([problem.told(seen, matching) for matching in problem.matchings])
    return cheapest(problem, rows)[0], spent / min(value for (value, _), _ in found)
