"""Slow, obvious twins of the compiled kernels, in plain Python.

Written from the paper's Section "Algorithm" and from the rules below, and sharing no code with
`pairup.kernels`: every proposal recomputes everything from the outcomes seen so far. What neither
the paper nor SAM's authors settle is settled here:

Random words
    `word(key, index)` is output number `index` of SplitMix64 seeded with `key`. A stream's key is
    `word(word(word(0, seed), replication), purpose)`, purpose 0 for acceptances, 1 for labels and 2
    for the policy's own draws. Label i of n accepts in round t (from 0) when the upper 53 bits of
    `word(key, t * n + i)` lie below rate * 2**53.
Odd numbers
    A phantom, the highest label, joins an odd number of players. Its couples have mean and index
    -1 and are never observed: whoever is coupled with it waits. In SAM it ranks last.
Ties between pairs, for the leader
    The larger `word(word(policy_key, 0), min << 32 | max)` wins.
Ties between neighbours
    The larger `word(word(word(policy_key, 1), round), neighbour)` wins, where round counts the
    proposals, this one included, and neighbour is 2k + swap. With the couples k and k + 1 of the
    leader written ascending, {i, i'} and {j, j'}, swap 0 makes {i, j}, {i', j'} and swap 1 makes
    {i, j'}, {i', j}. The leader itself is worth 0 and wins its ties.
Unseen couples
    Their mean is 0, their index infinite. Nothing is known to be better than an unseen couple of
    the leader (which only a passing set of players or late outcomes bring about).
Clock
    How often the leader has led, this time included; or the number of this proposal, from 1. When
    not everyone present is seated, the proposals so far stand in for how often it has led before.
"""

import math
from collections import Counter
from functools import lru_cache
from itertools import combinations

ACCEPTANCES, LABELS, POLICY = 0, 1, 2
NEAR = 1e-12  # criteria nearer than this may change places by rounding


# --- random words --------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def word(key, index):
    """SplitMix64: step `index` + 1 of a Weyl sequence from `key`, mixed."""
    x = (key + 0x9E3779B97F4A7C15 * (index + 1)) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def stream_key(seed, replication, purpose):
    return word(word(word(0, seed), replication), purpose)


def shuffled(key, values):
    """Fisher-Yates from the last place down; place x draws from the upper half of word x."""
    values = list(values)
    for last in reversed(range(1, len(values))):
        other = (word(key, last) >> 32) * (last + 1) >> 32
        values[last], values[other] = values[other], values[last]
    return values


def accepts(key, rates, round):
    """Who accepts in a round, by label."""
    n = len(rates)
    return [word(key, round * n + i) >> 11 < rate * 2**53 for i, rate in enumerate(rates)]


# --- indices -------------------------------------------------------------------------------------


def kl(p, q):
    """Divergence of Bernoulli(p) from Bernoulli(q), 0 < q < 1."""
    accepted = p * math.log(p / q) if p > 0 else 0.0
    declined = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return accepted + declined


@lru_cache(maxsize=4096)
def kl_index(mean, tries, level):
    """The largest q in [mean, 1] with tries * kl(mean, q) <= level, by bisection."""
    if level <= 0:
        return mean
    low, high = mean, 1.0
    while low < (middle := (low + high) / 2) < high:
        if tries * kl(mean, middle) <= level:
            low = middle
        else:
            high = middle
    return low


def exploration_level(clock):
    """log t + 3 log log t; the second logarithm is worse than nothing up to t = 2."""
    return max(math.log(clock) + 3 * math.log(math.log(clock)), 0.0) if clock > 2 else 0.0


def ucb_index(mean, tries, clock):
    return mean + math.sqrt(2 * math.log(clock) / tries)


# --- the paper's policies ------------------------------------------------------------------------


class Unimodal:
    """The paper's algorithm, V1 ("matchings") and V2 ("players")."""

    def __init__(self, capacity, key, compare="players", index="kl", clock="leader"):
        self.compare, self.index, self.clock = compare, index, clock
        self.present = set(range(capacity))
        self.phantom = capacity
        self.pair_key, self.neighbour_key = word(key, 0), word(key, 1)
        self.tries, self.games, self.led = Counter(), Counter(), Counter()
        self.rounds = 0
        self.leading = None  # the leader of the last proposal
        self.doubts = []  # matchings that rounding might have chosen in the last proposal

    def set_present(self, present):
        """Others are present: leaders among those before do not count."""
        self.present = set(present)
        self.led.clear()

    def observe(self, couples, played):
        for couple, outcome in zip(couples, played, strict=True):
            self.tries[couple] += 1
            self.games[couple] += outcome

    def mean(self, couple):
        if self.phantom in couple:
            return -1.0
        return self.games[couple] / self.tries[couple] if self.tries[couple] else 0.0

    def leader(self, seated=None):
        """The paper's Algorithm 2: again and again the best pair of those left."""
        left = sorted(self.present if seated is None else seated)
        if len(left) % 2:
            left.append(self.phantom)
        couples = []
        for couple in sorted(combinations(left, 2), key=self._rank, reverse=True):
            if set(couple) <= set(left):
                couples.append(couple)
                left = [i for i in left if i not in couple]
        return tuple(couples)

    def _rank(self, couple):
        return self.mean(couple), word(self.pair_key, couple[0] << 32 | couple[1])

    def propose(self, seated=None):
        seated = self.present if seated is None else set(seated)
        leader = self.leading = self.leader(seated)
        led = self.led[leader] if seated == self.present else self.rounds
        if seated == self.present:
            self.led[leader] += 1
        self.rounds += 1
        self.doubts = []
        matching = leader
        if led % (2 * len(leader) - 1) != 0:
            matching = self._best(leader, self.rounds if self.clock == "round" else led + 1)
        return self._without_phantom(matching)

    def _without_phantom(self, matching):
        return sorted(couple for couple in matching if self.phantom not in couple)

    def _best(self, leader, clock):
        """The leader or its best neighbour; those that rounding might prefer become doubts."""
        options = [Option(leader, -1, [], [])]
        options += [self._option(leader, n, clock) for n in range(2 * len(leader) - 2)]
        best = max(options, key=lambda option: (option.value, self._luck(option.neighbour)))
        self.doubts = [
            self._without_phantom(option.matching)
            for option in options
            if best.value - option.value < NEAR and not option.ties_surely(best)
        ]
        return best.matching

    def _luck(self, neighbour):
        """What decides between options of equal value; the leader comes first."""
        key = word(self.neighbour_key, self.rounds)
        return math.inf if neighbour < 0 else word(key, neighbour)

    def _option(self, leader, neighbour, clock):
        k, swap = divmod(neighbour, 2)
        (i, i2), (j, j2) = leader[k : k + 2]
        new = [(i, j2), (i2, j)] if swap else [(i, j), (i2, j2)]
        new = [tuple(sorted(couple)) for couple in new]
        matching = leader[:k] + tuple(new) + leader[k + 2 :]
        q_new = [self._optimism(couple, clock) for couple in new]
        q_old = [self._optimism(couple, clock) for couple in leader[k : k + 2]]
        if self.compare == "matchings":
            return Option(matching, neighbour, q_new, q_old)
        return Option(matching, neighbour, [max(q_new)], q_old[:1])

    def _optimism(self, couple, clock):
        mean, tries = self.mean(couple), self.tries[couple]
        if self.phantom in couple:
            return -1.0
        if tries == 0:
            return math.inf
        if self.index == "ucb":
            return ucb_index(mean, tries, clock)
        return kl_index(mean, tries, exploration_level(clock))


class Option:
    """A matching to choose, with the indices that it gains and those that it gives up."""

    def __init__(self, matching, neighbour, gained, given_up):
        self.matching, self.neighbour = matching, neighbour
        self.gained, self.given_up = sorted(gained), sorted(given_up)
        unknown = math.inf in given_up
        self.value = -math.inf if unknown else sum(self.gained) - sum(self.given_up)

    def ties_surely(self, other):
        """Whether both values are equal however sums are rounded: made of the same numbers."""
        if self.value == other.value == math.inf:
            return True
        if self.gained == self.given_up:
            return other.gained == other.given_up
        return (self.gained, self.given_up) == (other.gained, other.given_up)


# --- simple adaptive matching --------------------------------------------------------------------


class SAM:
    """Round robins in clusters, best first, that split where confidence intervals part.

    In turn r of a cluster of m (r from 0) the last member meets member r, and member r + s meets
    member r - s, counted modulo m - 1, for s from 1 to m / 2 - 1. After m - 1 turns, when the next
    matching is asked for, what its members have pending is added to what they know. Then it splits,
    and so does each part, until no cut is sure: sorted by upper bound, equals as they stood, at the
    first even p where the upper bound of member p lies below the lower bound of member p - 1. Parts
    start their first cycle in sorted order. A player's bounds are mean -+ sqrt(log horizon / tries)
    over the couples with its own and better clusters. When opponents are away, those left over are
    coupled in the order of their clusters.
    """

    def __init__(self, capacity, horizon):
        self.present = set(range(capacity))
        self.phantom = capacity
        self.clusters, self.turns = [list(range(capacity + capacity % 2))], [0]
        self.log_horizon = math.log(horizon)
        # By ordered pair, so that a row is what one player knows.
        self.pending_tries, self.pending_games = Counter(), Counter()
        self.tries, self.games = Counter(), Counter()

    def observe(self, couples, played):
        for (i, j), outcome in zip(couples, played, strict=True):
            for pair in ((i, j), (j, i)):
                self.pending_tries[pair] += 1
                self.pending_games[pair] += outcome

    def propose(self, seated=None):
        seated = self.present if seated is None else set(seated)
        c = 0
        while c < len(self.clusters):
            size = len(self.clusters[c])
            if size > 2 and self.turns[c] == size - 1:
                self._commit(self.clusters[c])
                parts = self._parts(self.clusters[:c], self.clusters[c])
                self.clusters[c : c + 1] = parts
                self.turns[c : c + 1] = [0] * len(parts)
                c += len(parts)
            else:
                c += 1
        couples = [couple for c in range(len(self.clusters)) for couple in self._play_turn(c)]
        couples = [couple for couple in couples if seated.issuperset(couple)]
        coupled = {i for couple in couples for i in couple}
        left = [i for cluster in self.clusters for i in cluster if i in seated - coupled]
        couples += [tuple(sorted(left[x : x + 2])) for x in range(0, len(left) - 1, 2)]
        return sorted(couples)

    def _play_turn(self, c):
        members, r = self.clusters[c], self.turns[c]
        m = len(members)
        meetings = [(r, m - 1)]
        meetings += [((r + s) % (m - 1), (r - s) % (m - 1)) for s in range(1, m // 2)]
        if m > 2:
            self.turns[c] += 1
        return [tuple(sorted((members[x], members[y]))) for x, y in meetings]

    def _commit(self, cluster):
        for pair in [pair for pair in self.pending_tries if pair[0] in cluster]:
            self.tries[pair] += self.pending_tries.pop(pair)
            self.games[pair] += self.pending_games.pop(pair)

    def _parts(self, better, cluster):
        """`cluster` cut wherever it is sure, given the clusters better than it."""
        bounds = {i: self._bounds(i, [*better, cluster]) for i in cluster}
        ranked = sorted(cluster, key=lambda i: -bounds[i][1])
        for p in range(2, len(cluster) - 1, 2):
            if bounds[ranked[p]][1] < bounds[ranked[p - 1]][0]:
                first = self._parts(better, ranked[:p])
                return first + self._parts([*better, *first], ranked[p:])
        return [cluster]

    def _bounds(self, i, clusters):
        """Lower and upper confidence bound by the games with members of `clusters`."""
        if i == self.phantom:
            return -math.inf, -math.inf
        tries = sum(self.tries[i, j] for cluster in clusters for j in cluster)
        games = sum(self.games[i, j] for cluster in clusters for j in cluster)
        if tries == 0:
            return -math.inf, math.inf
        width = math.sqrt(self.log_horizon / tries)
        return games / tries - width, games / tries + width


# --- the ends of the scale -----------------------------------------------------------------------


class Uniform:
    """A new shuffle for each proposal, cut into couples; the last of an odd number waits."""

    def __init__(self, capacity, key):
        self.present, self.key, self.rounds = set(range(capacity)), key, 0

    def propose(self, seated=None):
        seated = self.present if seated is None else seated
        order = shuffled(word(self.key, self.rounds), sorted(seated))
        self.rounds += 1
        return couples_in(order)

    def observe(self, couples, played):
        pass


class Oracle:
    """Neighbours in the order of the true rates; equal rates in the order of their labels."""

    def __init__(self, rates):
        self.rates = rates

    def propose(self, seated=None):
        seated = range(len(self.rates)) if seated is None else seated
        return couples_in(sorted(sorted(seated), key=lambda i: -self.rates[i]))

    def observe(self, couples, played):
        pass


def couples_in(order):
    return sorted(tuple(sorted(order[x : x + 2])) for x in range(0, len(order) - 1, 2))


# --- the loop ------------------------------------------------------------------------------------


def play(policy, rates, key, rounds):
    """Regret and games after `rounds` rounds, and the matchings, of players with these rates."""
    best = sum(rates[i] * rates[j] for i, j in Oracle(rates).propose())
    regret, games, matchings = 0.0, 0, []
    for round in range(rounds):
        matching = policy.propose()
        accepted = accepts(key, rates, round)
        played = [accepted[i] and accepted[j] for i, j in matching]
        policy.observe(matching, played)
        regret += best - sum(rates[i] * rates[j] for i, j in matching)
        games += sum(played)
        matchings.append(matching)
    return regret, games, matchings
