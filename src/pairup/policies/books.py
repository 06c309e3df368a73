"""Keeping, clearing and filling a policy's book of couples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.book import Book
from pairup.policies.base import Arrays


def saved_book(book: Book) -> dict[str, NDArray[Any]]:
    """Pick what the book is made from: the couples seen, and their counts."""
    low, high = np.nonzero(book.tries)
    return {
        "couples": np.stack([low, high]),
        "tries": book.tries[low, high],
        "games": book.games[low, high],
    }


def load_book(book: Book, arrays: Arrays) -> None:
    """Fill a blank book in place."""
    low, high = arrays["couples"]
    book.tries[low, high] = arrays["tries"]
    book.games[low, high] = arrays["games"]
    book.mean[low, high] = book.mean[high, low] = arrays["games"] / arrays["tries"]


def clear_book(book: Book, slot: int) -> None:
    """Erase all couples of the player in `slot`, in place; the phantom's entries stay."""
    for table in book:
        table[slot, :-1] = 0
        table[:-1, slot] = 0
