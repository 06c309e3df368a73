"""Slow, obvious twins of ESCB: every matching of the available players is looked at, one by one.

What neither the paper nor its authors' code settles is decided here:

Unseen couples
    While the available players have one, a turn of their round robin is played: shuffled by
    `word(policy_key, 0)`, a phantom joins an odd number as the last, and in turn r of m members
    the last meets member r, and member r + x meets member r - x, counted modulo m - 1. Of the turns
    with the most unseen couples the first is played, counted from the number of the proposal.
Ties
    To the mean of a couple is added a billionth (2**-30) of a number in [0, 1), the upper 53 bits
    of `word(word(policy_key, 1), i << 32 | j)`.
Odd numbers
    The couple of the phantom adds nothing to either sum.
Clock
    The number of the proposal, from 1.
"""

import math
from collections import Counter

from tests.support.twins.streams import shuffled, word
from tests.support.twins.unimodal import NEAR


def matchings(players):
    """Every perfect matching of an even number of players, as tuples of ascending couples."""
    if not players:
        yield ()
        return
    first, *others = players
    for partner in others:
        rest = [i for i in others if i != partner]
        for matching in matchings(rest):
            yield ((first, partner), *matching)


def factor(couples):
    """How many times the bonus of a budgeted search's matching makes up for what it lacks."""
    root = (1.1 * couples) ** 0.25
    return (root + 1 / root) / 2


class ESCB:
    """The matching with the best index, or one that is best for some weighting of its sums."""

    def __init__(self, capacity, key, search="exact", confidence="log"):
        self.search, self.confidence = search, confidence
        self.present = set(range(capacity))
        self.phantom = capacity
        self.order_key, self.luck_key = word(key, 0), word(key, 1)
        self.tries, self.games = Counter(), Counter()
        self.rounds = 0
        self.ends = {}  # of the approximate search, the two matchings of the last round
        self.matched = None  # those of whom they are
        self.doubts = []  # matchings that rounding might have chosen in the last proposal
        self.ratio = 1.0  # certified in the last proposal

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def propose(self, available=None):
        available = sorted(self.present if available is None else available)
        self.rounds += 1
        self.doubts = []
        couples = [(i, j) for j in available for i in available if i < j]
        if not all(self.tries[couple] for couple in couples):
            matching = self.cover(available)
        else:
            everyone = available + [self.phantom] * (len(available) % 2)
            scale = self.scale(len(couples))
            enumerated = self.search == "exact" and len(everyone) <= 8
            choose = self.exact if enumerated else self.approximate
            choose = self.budgeted if self.search == "budgeted" else choose
            matching = choose([self.sums(each) for each in matchings(everyone)], scale)
        return self._without_phantom(matching)

    def scale(self, couples):
        if self.confidence == "log":
            return math.sqrt(math.log(self.rounds) / 2)
        t, slack = max(self.rounds, 3), 1
        level = math.log(t) + (couples + 2) * math.log(math.log(t))
        level += couples / 2 * math.log(1 + math.e / slack)
        return math.sqrt((1 + slack) * level / 2)

    def _without_phantom(self, matching):
        return sorted(couple for couple in matching if self.phantom not in couple)

    def cover(self, available):
        members = shuffled(self.order_key, available) + [self.phantom] * (len(available) % 2)
        count = len(members) - 1
        best = []
        for x in range(count):
            r = (self.rounds - 1 + x) % count
            turn = [(members[-1], members[r])]
            turn += [
                (members[(r + y) % count], members[(r - y) % count])
                for y in range(1, len(members) // 2)
            ]
            turn = [tuple(sorted(couple)) for couple in turn]
            if not best or self._unseen(turn) > self._unseen(best):
                best = turn
        return best

    def _unseen(self, turn):
        return sum(not self.tries[couple] for couple in turn if self.phantom not in couple)

    def sums(self, matching):
        """A matching with the sums of its values and of 1 / tries."""
        real = self._without_phantom(matching)
        return (
            matching,
            sum(self.games[couple] / self.tries[couple] + self._luck(couple) for couple in real),
            sum(1 / self.tries[couple] for couple in real),
        )

    def _luck(self, couple):
        return (word(self.luck_key, couple[0] << 32 | couple[1]) >> 11) / 2**53 / 2**30

    def exact(self, options, scale):
        return self._best({matching: a + scale * math.sqrt(b) for matching, a, b in options})

    def _best(self, indices):
        best = max(indices, key=indices.get)
        self.doubts = [
            self._without_phantom(matching)
            for matching, index in indices.items()
            if indices[best] - index < NEAR
        ]
        return best

    def approximate(self, options, scale):
        """Close in on the c with the least bound, from the two matchings of the round before.

        For any c, max(A + s c B) + s / (4 c) bounds the index of all matchings.
        """
        sums = {matching: (a, b) for matching, a, b in options}
        everyone = {i for couple in options[0][0] for i in couple}
        if self.matched != everyone:
            self.matched, self.ends = everyone, {}
        indices = {m: sums[m][0] + scale * math.sqrt(sums[m][1]) for m in self.ends.values()}
        bound = math.inf
        for _ in range(12):
            c = self._guess([sums[m] for m in self.ends.values()], scale)
            weights = {m: a + scale * c * b for m, (a, b) in sums.items()}
            known = max((weights[m] for m in self.ends.values()), default=-math.inf)
            found = max(weights, key=weights.get)
            a, b = sums[found]
            indices[found] = a + scale * math.sqrt(b)
            bound = min(bound, weights[found] + scale / (4 * c))
            if weights[found] <= known + 1e-13:
                break
            self.ends["fewer" if math.sqrt(b) < 1 / (2 * c) else "more"] = found
            if bound <= max(indices.values()) + 1e-13:
                break
        self.bound = bound
        index = {m: a + scale * math.sqrt(b) for m, (a, b) in sums.items()}
        best = self._climb(max(indices, key=indices.get), index)
        self.ratio = min(index[best] / bound, 1.0)
        return best

    def _climb(self, best, index):
        while True:
            swapped = {m: each for m, each in index.items() if len(set(m) - set(best)) == 2}
            if max(swapped.values(), default=-math.inf) <= index[best] + 1e-13:
                return best
            best = max(swapped, key=swapped.get)

    def budgeted(self, options, scale):
        """A matching x with max(A + s sqrt(B)) <= A(x) + factor s sqrt(B(x)).

        Where the bound of the approximate search does not show that for its matching, all matchings
        with a couple k are searched, for each k, with inverses of at most that of k.
        """
        best = self.approximate(options, scale)
        couples = len(best)
        index = {m: a + scale * math.sqrt(b) for m, a, b in options}
        wide = {m: a + factor(couples) * scale * math.sqrt(b) for m, a, b in options}
        if wide[best] + 1e-13 >= self.bound:
            return best
        surest = best
        bounds = []
        for k in sorted({k for m in index for k in self._without_phantom(m)}):
            with_k = {m: (a, self._capped(m, k)) for m, a, _ in options if k in m}
            low, high, bound = 1 / self.tries[k], couples / self.tries[k], math.inf
            while True:
                t = math.sqrt(low * high)
                bounding = {
                    m: a + scale * (b / t + 1) * math.sqrt(t) / 2 for m, (a, b) in with_k.items()
                }
                found = max(bounding, key=bounding.get)
                bound = min(bound, bounding[found])
                best = max(best, found, key=index.get)
                surest = max(surest, found, key=wide.get)
                low, high = (low, t) if with_k[found][1] < t else (t, high)
                if bound <= wide[best] + 1e-13 or high <= 1.1 * low:
                    break
            bounds.append(bound)
        self.bound = min(self.bound, max(bounds))
        best = self._climb(best, index)
        best = best if wide[best] + 1e-13 >= self.bound else surest
        self.ratio = min(index[best] / self.bound, 1.0)
        return best

    def _capped(self, matching, couple):
        return sum(
            1 / max(self.tries[each], self.tries[couple])
            for each in self._without_phantom(matching)
        )

    def _guess(self, ends, scale):
        """Where the greater of the bounds from these matchings is least; at first 1/2."""
        if not ends:
            return 0.5
        tangents = [1 / (2 * math.sqrt(b)) for _, b in ends]
        if len(ends) == 1 or ends[0][1] == ends[1][1]:
            return max(tangents)
        (a, b), (a2, b2) = ends
        tie = (a - a2) / (scale * (b2 - b))
        return min(max(tie, min(tangents)), max(tangents))
