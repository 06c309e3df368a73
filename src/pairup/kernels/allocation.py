"""Arrays of states that share a shape and a type."""

import numpy as np


def new_arrays(names, shape, dtype=np.float64, value=0):
    """Arrays by their names, all filled with `value`.

    The names are strings of their own, because texts with spaces do not count in the digest of what
    sources compute.
    """
    if value == 0:  # zeros take no memory until they are written
        return {name: np.zeros(shape, dtype) for name in names}
    return {name: np.full(shape, value, dtype) for name in names}
