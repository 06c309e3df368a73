"""The best matching for given weights."""

from __future__ import annotations

import numpy as np

from pairup.bounds.information import Floats
from pairup.matching import Couple


def best_couples(weights: Floats) -> list[Couple]:
    """Give the couples of a perfect matching of most weight, exactly."""
    from scipy.optimize import LinearConstraint, milp

    first, second = np.triu_indices(len(weights), 1)
    seated = np.zeros((len(weights), len(first)))
    seated[first, np.arange(len(first))] = seated[second, np.arange(len(first))] = 1
    found = milp(
        -weights[first, second] / np.abs(weights).max(initial=1e-300),
        constraints=LinearConstraint(seated, 1, 1),
        integrality=np.ones(len(first)),
        bounds=(0, 1),
        options={"mip_rel_gap": 0},
    )
    return [(int(first[k]), int(second[k])) for k in np.flatnonzero(found.x > 0.5)]
