"""Arrays of states that share a shape and a type."""

import numpy as np


def new_arrays(names, shape, dtype=np.float64, value=0):
    """Arrays by their names, which spaces separate, all filled with `value`."""
    if value == 0:  # zeros take no memory until they are written
        return {name: np.zeros(shape, dtype) for name in names.split()}
    return {name: np.full(shape, value, dtype) for name in names.split()}
