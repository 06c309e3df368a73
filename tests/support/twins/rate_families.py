"""Acceptance rates that bring out different behaviour, for any number of players."""

import numpy as np

FAMILIES = {
    "random": lambda n: np.random.default_rng(n).random(n).tolist(),
    "from_zero": lambda n: [((n - 1) // 2 - i // 2) / 10 for i in range(n)],
    "around": lambda n: [0.5 + ((n - 1) // 2 / 2 - i // 2) / 10 for i in range(n)],
    "equal": lambda n: [0.6] * n,
    "zeros and ones": lambda n: [float(i % 3 > 0) for i in range(n)],
    "tied": lambda n: [(0.2, 0.5, 0.9)[i % 3] for i in range(n)],
}
