"""A check of what third-party policies propose, before anything is counted.

It costs a nanosecond or two per couple, which pairup's own policies do not pay.
"""

from pairup.compiled.kernels import outlined, slot
from pairup.compiled.steps import FULL, OK, STALE

REFUSED = -(2**62)  # status of the loop when a proposal broke a rule; no step returns it


@outlined
def broken_row(couples, seen):
    """The first row that is not a couple i < j of players not coupled before it, or -1.

    `seen`, by player, is a workspace.
    """
    players = len(seen)
    seen[:] = 0
    for row in range(len(couples)):
        if not 0 <= couples[row, 0] < couples[row, 1] < players:
            return row
        i, j = slot(couples[row, 0]), slot(couples[row, 1])
        if seen[i] or seen[j]:
            return row
        seen[i] = seen[j] = 1
    return -1


def explain_broken_rule(status, couples, available):
    """Explain which rule a proposal breaks, of players in the slots `available`; empty if none.

    The status is OK. Each couple is (i, j), i < j, of players who are available, nobody twice; so
    as many are coupled as can be, because `couples` has a row for each couple that fits.
    """
    if status != OK:
        expected = f"OK ({OK}), FULL ({FULL}) or STALE ({STALE})"
        return f"the step propose returned {status}: return {expected}"
    places, row_of = set(available.tolist()), dict[int, int]()
    for row, (i, j) in enumerate(couples.tolist()):
        where = f"couple ({i}, {j}) in row {row}"
        strangers = [player for player in (i, j) if player not in places]
        if strangers:
            return (
                f"{where} has slot {strangers[0]}: write slots of players who are available "
                f"{_shown(available)}, not the phantom's"
            )
        if i >= j:
            return f"{where} is not ascending: write (i, j) with i < j"
        for player in (i, j):
            if player in row_of:
                return (
                    f"{where} has slot {player}, which row {row_of[player]} has too: couple "
                    "each player once"
                )
            row_of[player] = row
    return ""


def _shown(available):
    slots = available.tolist()
    if len(slots) > 8:
        return f"({slots[0]}, {slots[1]}, ..., {slots[-1]})"
    return f"({', '.join(map(str, slots))})"
