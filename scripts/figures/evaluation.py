"""Coverage of evaluations: how many of 100 intervals have the truth, per setting.

    python -m scripts.figures.evaluation [pools] [rounds]

Pools learn while players leave and join, and are then evaluated under other rules. The truth is the
mean, over the games compared, of what the couples that the other rules would have proposed expect
by the true rates, and the same less that of the couples that were proposed.
"""

import sys
import time

import numpy as np

from pairup.errors import ServiceError
from pairup.service.maintenance.evaluation import Evaluator, count_games
from tests.support.service.held_pool import HeldPool

DEFAULT = {"policy": "rank_one_thompson", "options": {"period": 4, "prior": "learned"}}
SETTINGS = (  # players, holdout, churn per round, rules of the pool, and of the evaluation
    (40, 0.0, 0.01, {}, {"policy": "uniform"}),
    (40, 0.2, 0.01, {}, DEFAULT),
    (40, 0.0, 0.05, {}, {"fairness": {"floor": 0.75}}),
    (12, 0.0, 0.01, {"policy": "uniform"}, DEFAULT),
)


def measure(pools: int = 100, rounds: int = 100) -> None:
    """Print a line for each setting."""
    print(
        "players | holdout | churn | pool | evaluated | gain | model | covers | width | "
        "doubly robust | covers | width | overlap | refused | seconds"
    )
    for players, holdout, churn, rules, changes in SETTINGS:
        begun, found = time.perf_counter(), []
        for seed in range(pools):
            pool = HeldPool(seed, players, holdout, churn=churn, step_s=1_800, **rules)
            for _ in range(rounds):
                pool.play_round()
            found.append(evaluated(pool, changes))
        figures = _figures([each for each in found if each is not None])
        setting = f"{players} | {holdout} | {churn} | {rules} | {changes}"
        refused, seconds = found.count(None), time.perf_counter() - begun
        print(f"{setting} | {figures} | {refused} | {seconds:.0f}", flush=True)


def evaluated(pool, changes):
    """Evaluate the log of a pool; returns the evaluation with the true share and gain, or None."""
    evaluator = Evaluator(1, changes, first=count_games(pool.log) // 2)
    for recorded in pool.log:
        evaluator.add(recorded)
    try:
        found = evaluator.finish(np.random.default_rng(0))
    except ServiceError:
        return None
    rates, games = pool.rates, len(evaluator.rows)
    share = sum(often * rates[a] * rates[b] for (a, b), often in evaluator.wanted.items()) / games
    logged = sum(rates[row.one] * rates[row.other] for row in evaluator.rows) / games
    return found, share, share - logged


def _figures(found):
    """Return the true gain, and what both estimates cover: of the share, and of the gain."""
    robust = [each for each in found if each[0].doubly_robust]
    overlap = np.mean([each.overlap for each, *_ in found])
    figures = [f"{100 * np.mean([gain for *_, gain in found]):.1f}"]
    for some, share, gain in (
        (found, "model", "model_gain"),
        (robust, "doubly_robust", "doubly_robust_gain"),
    ):
        both = [
            [(getattr(each, name), true) for each, *truths in some for true in (truths[x],)]
            for x, name in enumerate((share, gain))
        ]
        covers = [sum(each.low <= true <= each.high for each, true in rows) for rows in both]
        widths = [100 * np.mean([each.high - each.low for each, _ in rows] or [0]) for rows in both]
        figures += [f"{len(some)} | {covers[0]}/{covers[1]} | {widths[0]:.1f}/{widths[1]:.1f}"]
    return " | ".join([*figures, f"{overlap:.2f}"])


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
