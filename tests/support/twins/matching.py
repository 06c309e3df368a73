"""Best matchings by trying them all, and a proof of optimality that needs no trying."""

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
        (set(workspace.members[b, : workspace.size[b]].tolist()), float(workspace.thickness[b]))
        for b in range(vertices, vertices + vertices // 2)
        if workspace.size[b]
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
