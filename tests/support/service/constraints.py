"""Who may meet whom, couple by couple, as the documentation says it: the twin of `find_couples`."""

import math
from itertools import combinations

SECOND = 1_000_000


def allowed_couples(constraints, players, meetings, now):
    """List the couples that may meet.

    `players` has dictionaries with "since" and attributes by name, and `meetings` lists all games
    that were played as (players, moment), the first one first.
    """
    return {
        (a, b)
        for a, b in combinations(sorted(players), 2)
        if all(may_meet(each, a, b, players, meetings, now) for each in constraints)
    }


def may_meet(constraint, a, b, players, meetings, now):
    """Whether a constraint lets two players meet."""
    waited = max(now - players[each]["since"] for each in (a, b)) / SECOND
    rule = {key: value for key, value in constraint.items() if key != "relax"}
    for step in constraint.get("relax", ()):
        if waited >= step["after_s"]:
            rule = {**rule, "at_most": None, "games": None, "within_s": None, "off": True, **step}
    one, other = (players[each].get(rule.get("attribute")) for each in (a, b))
    kind = rule["kind"]
    if kind in ("distance", "latency"):
        most = math.inf if rule["at_most"] is None else rule["at_most"]
        if kind == "distance":
            return abs(one - other) <= most
        both = [max(one[region], other[region]) for region in one.keys() & other.keys()]
        return most == math.inf or any(each <= most for each in both)
    if kind == "cooldown":
        return _rested(rule, a, b, meetings, now)
    if rule.get("off"):
        return True
    if kind == "block":
        return b not in (one or ()) and a not in (other or ())
    if kind == "overlap":
        return bool(set(one) & set(other))
    return (one == other) == (kind == "equal")


def _rested(rule, a, b, meetings, now):
    """Whether two players have played enough other games, or enough time has passed."""
    together = [place for place, (both, _) in enumerate(meetings) if set(both) == {a, b}]
    if not together:
        return True
    since = meetings[together[-1] + 1 :]
    games = min(sum(player in both for both, _ in since) for player in (a, b))
    seconds = (now - meetings[together[-1]][1]) / SECOND
    return games >= (rule.get("games") or 0) and seconds >= (rule.get("within_s") or 0)


def max_overdue(allowed, overdue):
    """Return how many overdue players a matching of allowed couples can have, by trying."""
    some = sorted(couple for couple in allowed if set(couple) & overdue)
    if not some:
        return 0
    first, *others = some
    rest = [couple for couple in others if not set(couple) & set(first)]
    return max(len(set(first) & overdue) + max_overdue(rest, overdue), max_overdue(others, overdue))
