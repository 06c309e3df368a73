"""Keeping and filling the room of exact matchings, and the matching that looks best now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.couple_statistics import Book
from pairup.kernels.exact_matching.max_matching import MaxMatching, new_max_matching, solve
from pairup.kernels.exact_matching.participants import Seated
from pairup.states.saved_arrays import Arrays, numbers, require


def saved_room(room: MaxMatching) -> dict[str, NDArray[Any]]:
    """Pick what the next matching starts from: among equals it decides."""
    return {"duals": room.kept_dual, "mates": room.kept_mate}


def load_room(room: MaxMatching, arrays: Arrays) -> None:
    """Fill a room in place; it may have more slots than the one saved."""
    duals, mates = arrays["duals"], numbers(arrays, "mates", minimum=-1)
    slots, phantom = len(mates), len(room.kept_mate) - 1
    require(duals.dtype == np.float64 and duals.shape == mates.shape, "its duals are no duals")
    require(np.all(np.isfinite(duals)), "some of its duals are not finite")
    require(1 <= slots <= phantom + 1 and np.all(mates < slots), "its mates are nobody")
    require(np.all(mates != np.arange(slots)), "someone is its own mate")
    mates = np.where(mates == slots - 1, phantom, mates)
    room.kept_mate[: slots - 1], room.kept_mate[phantom] = mates[:-1], mates[-1]
    room.kept_dual[: slots - 1], room.kept_dual[phantom] = duals[:-1], duals[-1]


def leader_by_means(book: Book, seated: Seated) -> NDArray[np.int64]:
    """Return the best matching of those seated by the means of their couples, best couple first.

    It is found from the book alone, so that a look at it changes nothing.
    """
    players = seated.players[: seated.seats[0]]
    room = new_max_matching(len(book.mean))
    solve(room, book.mean, players)
    couples = np.array([(i, room.kept_mate[i]) for i in players if i < room.kept_mate[i]], np.int64)
    couples = couples.reshape(-1, 2)
    return couples[np.argsort(-book.mean[couples[:, 0], couples[:, 1]], kind="stable")]
