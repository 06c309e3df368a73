"""A check of what policies from elsewhere propose, before anything is counted.

A guarded state stands in for the state itself: its steps are those of the state, and after each
proposal the couples are checked. It costs a nanosecond or two per couple, which pairup's own
policies do not pay.
"""

from typing import Any, NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel, slot
from pairup.compiled.steps import FULL, OK, STALE, observe, propose, provide, set_available

REFUSED = 3  # status of a guarded state whose policy broke a rule; `explain_refusal` says which

_STAMP, _STATUS, _ROW = range(3)


class GuardedState(NamedTuple):
    """A state, and what the check of its proposals needs."""

    state: Any
    seen: np.ndarray  # by player: number of the last proposal that coupled it
    note: np.ndarray  # number of the proposal, its status, the row that broke a rule


def new_guard(state, players):
    """Guard a state whose players 0 to `players` - 1 are all available."""
    return GuardedState(state, np.zeros(players, np.int64), np.zeros(3, np.int64))


def _set_available(guarded, players):
    set_available(guarded.state, players)


def _propose(guarded, couples):
    status = propose(guarded.state, couples)
    guarded.note[_STATUS] = status
    if status != OK:
        return status if status in (FULL, STALE) else REFUSED
    guarded.note[_STAMP] += 1
    guarded.note[_ROW] = row = broken_row(couples, guarded.seen, guarded.note[_STAMP])
    return OK if row < 0 else REFUSED


def _observe(guarded, couples, played):
    observe(guarded.state, couples, played)


provide(GuardedState, set_available=_set_available, propose=_propose, observe=_observe)


@kernel
def broken_row(couples, seen, stamp):
    """The first row that is not a couple i < j of players not coupled before it, or -1.

    `seen` has the stamp of the proposal that last coupled each player; it is updated in place.
    """
    players = len(seen)
    for row in range(len(couples)):
        if not 0 <= couples[row, 0] < couples[row, 1] < players:
            return row
        i, j = slot(couples[row, 0]), slot(couples[row, 1])
        if seen[i] == stamp or seen[j] == stamp:
            return row
        seen[i] = seen[j] = stamp
    return -1


def explain_refusal(guarded, couples):
    """Say which rule the last proposal of a guarded state broke."""
    return explain_broken_rule(guarded.note[_STATUS], couples, np.arange(len(guarded.seen)))


def explain_broken_rule(status, couples, available):
    """Say which rule a proposal breaks, of players in the slots `available`; empty if none.

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
