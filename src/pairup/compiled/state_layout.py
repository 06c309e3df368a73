"""Where the numbers that all policies have stand in the array `counters` of a state.

Compiled steps can change arrays only. So counters, sizes and switches of a state stand together in
one array of integers, `counters`, and a few real numbers in `reals`. The first places are the same
for all policies; those of a policy follow, and are named beside its state.
"""

import numpy as np

# fmt: off
(
    ROUND,      # proposals so far
    PRESENT,    # players present
    AVAILABLE,  # players available
    MEMBERS,    # ... and the phantom, where they are odd
    OWN,        # the first place of a policy's own
) = range(5)
# fmt: on


def new_counters(values=None, size=OWN):
    """As many zeros, but for the counters that the mapping `values` has."""
    return _filled(np.zeros(size, np.int64), values)


def new_reals(values, size):
    """As many zeros, but for the real numbers that the mapping `values` has."""
    return _filled(np.zeros(size), values)


def _filled(array, values):
    for place, value in (values or {}).items():
        array[place] = value
    return array
