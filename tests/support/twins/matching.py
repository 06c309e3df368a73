"""Best matchings by trying them all, and a proof of optimality that needs no trying."""

import itertools
import math


def perfect_matchings(players):
    """Yield every way to couple an even number of players."""
    if not players:
        yield []
        return
    first, *others = players
    for k, partner in enumerate(others):
        for rest in perfect_matchings(others[:k] + others[k + 1 :]):
            yield [(first, partner), *rest]


def matchings(players):
    """Yield every way to couple some of the players."""
    if len(players) < 2:
        yield []
        return
    first, *others = players
    yield from matchings(others)
    for k, partner in enumerate(others):
        for rest in matchings(others[:k] + others[k + 1 :]):
            yield [(first, partner), *rest]


def worth(weights, matching):
    """How many infinite weights it has, and the sum of the others: the first counts first."""
    found = [float(weights[i][j]) for i, j in matching]
    infinite = sum(weight == math.inf for weight in found)
    return infinite, math.fsum(weight for weight in found if weight != math.inf)


def best(weights, players):
    """The greatest worth of a perfect matching, None if all are forbidden."""
    worths = [worth(weights, matching) for matching in perfect_matchings(list(players))]
    allowed = [each for each in worths if each[1] != -math.inf]
    return max(allowed, default=None)


def couples_of(workspace, players):
    """The couples found, after checking that everyone has one."""
    mate = {int(i): int(workspace.kept_mate[i]) for i in players}
    assert all(mate[mate[i]] == i != mate[i] for i in mate)
    return [(i, j) for i, j in mate.items() if i < j]


def assert_proven(workspace, vertices, tolerance):
    """Check the dual solution: it proves that no perfect matching is better than the one found.

    Each player a has a dual y[a], each odd set B a dual z[B] >= 0, and each couple has
    y[a] + y[b] + (z of the sets that hold both) >= weight. Every perfect matching has at most
    (|B| - 1) / 2 couples in B, so none weighs more than sum y + sum z[B] (|B| - 1) / 2.
    """
    sets = [
        (set(_members(workspace, b)), float(workspace.thickness[b]))
        for b in range(vertices, vertices + vertices // 2)
        if workspace.first_child[b] != -1
    ]
    assert all(len(members) % 2 == 1 and z >= 0.0 for members, z in sets)
    y = workspace.dual[:vertices].tolist()
    for a in range(vertices):
        for b in range(a):
            around = math.fsum(z for members, z in sets if a in members and b in members)
            assert math.fsum((y[a], y[b], around)) >= workspace.weight[a, b] - tolerance
    bound = math.fsum(y) + math.fsum(z * (len(members) // 2) for members, z in sets)
    weight = math.fsum(float(workspace.weight[a, workspace.mate[a]]) for a in range(vertices)) / 2
    assert abs(weight - bound) <= vertices * tolerance


def best_of_graph(couples, weights):
    """The greatest weight of a matching, and the most couples of a matching that has it."""
    weight_of = dict(zip(couples, weights, strict=True))
    players = sorted({player for couple in couples for player in couple})
    allowed = (each for each in matchings(players) if all(couple in weight_of for couple in each))
    return max((math.fsum(weight_of[couple] for couple in each), len(each)) for each in allowed)


def couples_of_graph(workspace):
    """The couples found in a graph, after checking that partners agree."""
    mate = workspace.mate.tolist()
    assert all(j == -1 or (mate[j] == i and j != i) for i, j in enumerate(mate))
    return [(i, j) for i, j in enumerate(mate) if i < j]


def assert_proven_on_graph(workspace, tolerance, *, perfect=False):
    """Check the dual solution of a matching in a graph, in which players may stay single.

    As `assert_proven`, but that y[a] >= 0 unless the matching must be perfect: then no matching of
    some players weighs more than sum y + sum z[B] (|B| - 1) / 2 either.
    """
    slots = len(workspace.mate)
    sets = [
        (set(_members(workspace, b)), float(workspace.thickness[b]))
        for b in range(slots, len(workspace.base))
        if workspace.first_child[b] != -1
    ]
    assert all(len(members) % 2 == 1 and z >= 0.0 for members, z in sets)
    around = [{k for k, (members, _) in enumerate(sets) if a in members} for a in range(slots)]
    y, weight = workspace.dual.tolist(), []
    assert perfect or min(y) >= 0.0
    for a in range(slots):
        for k in range(workspace.start[a], workspace.start[a + 1]):
            b = int(workspace.to[k])
            thickness = [sets[x][1] for x in around[a] & around[b]]
            assert math.fsum((y[a], y[b], *thickness)) >= workspace.weight[k] - tolerance
            if a < b == workspace.mate[a]:
                weight.append(float(workspace.weight[k]))
    assert len(weight) == len(couples_of_graph(workspace))  # all of them are allowed
    bound = math.fsum(y) + math.fsum(z * (len(members) // 2) for members, z in sets)
    assert abs(math.fsum(weight) - bound) <= slots * tolerance


def _members(workspace, blossom):
    player, last = int(workspace.first_member[blossom]), int(workspace.last_member[blossom])
    while player != last:
        yield player
        player = int(workspace.next_member[player])
    yield last


def assignments(rows, columns):
    """Yield every way to couple the smaller side with some players of the larger one."""
    if rows <= columns:
        for chosen in itertools.permutations(range(columns), rows):
            yield list(zip(range(rows), chosen, strict=True))
    else:
        for chosen in itertools.permutations(range(rows), columns):
            yield list(zip(chosen, range(columns), strict=True))
