"""A slow, obvious twin of simple adaptive matching, in plain Python.

The phantom, the highest label, who joins an odd number of players, ranks last.
"""

import math
from collections import Counter


class SAM:
    """Round robins in clusters, best first, that split where confidence intervals separate.

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

    def propose(self, available=None):
        available = self.present if available is None else set(available)
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
        couples = [couple for couple in couples if available.issuperset(couple)]
        coupled = {i for couple in couples for i in couple}
        left = [i for cluster in self.clusters for i in cluster if i in available - coupled]
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
