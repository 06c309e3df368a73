"""Coverage of the holdout: how many of 100 intervals have the truth, per setting.

    python -m scripts.figures.holdout [pools] [rounds]

Pools with a control arm learn while players leave and join; 48 rounds are a day. The truth is the
mean, over all pools, of the policy's share of games less that of the control arm, by true rates.
"""

import sys
import time

import numpy as np

from tests.support.service.held_pool import HeldPool

SETTINGS = (  # players, holdout, churn per round
    (40, 0.3, 0.01),
    (100, 0.1, 0.0),
    (100, 0.2, 0.01),
    (100, 0.5, 0.05),
)


def measure(pools: int = 100, rounds: int = 150) -> None:
    """Print a line for each setting."""
    print("players | holdout | churn | gain | covered | half as wide | mean width | seconds")
    for players, holdout, churn in SETTINGS:
        begun, found, truths = time.perf_counter(), [], []
        for seed in range(pools):
            pool = HeldPool(seed, players, holdout, churn=churn, step_s=1_800)
            for _ in range(rounds):
                pool.play_round()
            gain = pool.pool.holdout.compare().gain
            found.append((gain["estimate"], gain["low"], gain["high"]))
            truths.append(pool.gain)
        truth, (middle, low, high) = float(np.mean(truths)), np.transpose(found)
        covered = int(((low <= truth) & (truth <= high)).sum())
        narrow = int((np.abs(middle - truth) <= (high - low) / 4).sum())
        figures = f"{100 * truth:.1f} | {covered}/{pools} | {narrow}/{pools}"
        width, seconds = 100 * (high - low).mean(), time.perf_counter() - begun
        setting = f"{players} | {holdout} | {churn}"
        print(f"{setting} | {figures} | {width:.1f} | {seconds:.0f}", flush=True)


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
