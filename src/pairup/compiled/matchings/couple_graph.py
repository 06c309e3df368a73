"""Graphs of couples: who may meet whom."""

from typing import NamedTuple

import numpy as np


class CoupleGraph(NamedTuple):
    """The couples that are allowed among some slots, in ascending order.

    Couple k is (low[k], high[k]). The neighbours of slot i are ``to[start[i]:start[i + 1]]``, and
    ``couple`` has, beside each of them, the number of the couple.
    """

    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    to: np.ndarray
    couple: np.ndarray


def new_couple_graph(slots, low, high):
    """The graph of the couples (low[k], high[k]), which are distinct, ascending, and low < high."""
    numbers = np.arange(len(low))
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort(ends[::-1])
    start = np.zeros(slots + 1, np.int64)
    np.cumsum(np.bincount(ends[0], minlength=slots), out=start[1:])
    return CoupleGraph(
        low=np.array(low, np.int64),
        high=np.array(high, np.int64),
        start=start,
        to=ends[1][order].astype(np.int64),
        couple=np.concatenate([numbers, numbers])[order],
    )
