"""Keeping, clearing and filling a policy's book of couples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.couple_statistics import Book
from pairup.states.saved_arrays import Arrays, numbers, require


def saved_book(book: Book) -> dict[str, NDArray[Any]]:
    """Pick what the book is made from: the couples seen, and their counts."""
    low, high = np.nonzero(book.tries)
    return {
        "low": low,
        "high": high,
        "tries": book.tries[low, high],
        "games": book.games[low, high],
    }


def load_book(book: Book, arrays: Arrays) -> None:
    """Fill a blank book in place."""
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    require(len(low) == len(high) == len(tries) == len(games), "its couples are incomplete")
    phantom = len(book.tries) - 1
    require(np.all((low < high) & (high < phantom)), "it has couples of nobody")
    require(np.all(games <= tries), "it has more games than proposals")
    book.tries[low, high] = tries
    book.games[low, high] = games
    book.mean[low, high] = book.mean[high, low] = games / tries


def clear_book(book: Book, slot: int) -> None:
    """Erase all couples of the player in `slot`, in place; the phantom's entries stay."""
    for table in book:
        table[slot, :-1] = 0
        table[:-1, slot] = 0
