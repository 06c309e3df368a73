"""Meetings: who may meet whom in a proposal, and what a game is worth, by the names of players."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import is_number
from pairup.errors import MatchingError
from pairup.learning.roster import Roster, SlotCouple
from pairup.matching import Couple
from pairup.problem.meeting_graph import MAX_WORTH, MeetingGraph

AllowedMeetings: TypeAlias = NDArray[np.bool_] | Iterable[Iterable[Hashable]] | None
Worth: TypeAlias = ArrayLike | Mapping[Couple, float] | None


def read_meetings(
    roster: Roster, slots: NDArray[np.int64], allowed: AllowedMeetings, worth: Worth
) -> MeetingGraph:
    """Read the rules for the players in `slots`, in whose order matrices have their rows.

    Couples of players who are present but not in `slots` are left out. The players of the graph are
    the places in `slots`.
    """
    place = {int(slot): x for x, slot in enumerate(slots)}
    if allowed is None or (isinstance(allowed, np.ndarray) and allowed.dtype == np.bool_):
        graph = MeetingGraph(len(slots), allowed)
    else:
        listed = roster.slot_couples("allowed", allowed)
        known = [(place[i], place[j]) for i, j in listed if i in place and j in place]
        low, high = np.sort(np.array(known, np.int64).reshape(-1, 2), axis=1).T
        low, high = np.divmod(np.unique(low * len(slots) + high), max(len(slots), 1))
        graph = MeetingGraph.of_couples(len(slots), low, high, np.ones(len(low)))
    if worth is None:
        return graph
    if not isinstance(worth, Mapping):
        return MeetingGraph(len(slots), np.stack([graph.low, graph.high], axis=1).tolist(), worth)
    given = {roster.slot_couple(couple): _checked(couple, each) for couple, each in worth.items()}
    pairs = zip(slots[graph.low].tolist(), slots[graph.high].tolist(), strict=True)
    values = [given.get((min(pair), max(pair)), 1.0) for pair in pairs]
    return MeetingGraph.of_couples(len(slots), graph.low, graph.high, np.array(values, np.float64))


def in_slots(
    graph: MeetingGraph,
    slots: NDArray[np.int64],
    capacity: int,
    excluded: set[SlotCouple],
) -> MeetingGraph:
    """Return the graph between slots, without the couples in `excluded`."""
    low, high = slots[graph.low], slots[graph.high]
    kept = np.ones(len(low), np.bool_)
    if excluded:
        pairs = zip(np.minimum(low, high).tolist(), np.maximum(low, high).tolist(), strict=True)
        kept[:] = [pair not in excluded for pair in pairs]
    return MeetingGraph.of_couples(capacity, low[kept], high[kept], graph.worth[kept])


def _checked(couple: Any, worth: object) -> float:
    if not is_number(worth) or not 0 <= worth <= MAX_WORTH:
        raise MatchingError(
            f"the worth of a game must be a number of at least 0, got {worth!r} for {couple!r}: "
            "give 0 for a game that is worth nothing"
        )
    return float(worth)
