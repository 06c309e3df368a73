"""What the options of rank-one Thompson sampling are worth, over problems drawn at random.

    python -m scripts.figures.rank_one_options --cuda

Each choice of options plays the same problems, on the same random numbers. Shown are the mean
regret and the quantile of 99% over the replications of a problem, each over that of the default
options, as geometric means over the problems of a distribution.
"""

from __future__ import annotations

import argparse
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from pairup import Problem, RankOneThompson, simulate

DISTRIBUTIONS = {
    "uniform": (1.0, 1.0),
    "reluctant, Beta(2, 5)": (2.0, 5.0),
    "eager, Beta(5, 2)": (5.0, 2.0),
}
PERIODS = (1, 2, 3, 4, 8, 16)
PLAYERS, SHARE = 8, 0.99
DEFAULT = "period 2, uniform prior"


def choices(distribution: tuple[float, float]) -> dict[str, RankOneThompson]:
    """List the choices of options for problems of a distribution."""
    found = {f"period {each}": RankOneThompson(period=each) for each in PERIODS}
    found[DEFAULT] = found.pop("period 2")
    found["learned prior"] = RankOneThompson(prior="learned")
    found["the distribution as prior"] = RankOneThompson(prior=distribution)
    return found


def play(problem: Problem, policy: RankOneThompson, given: argparse.Namespace) -> tuple[float, ...]:
    """Play one choice on one problem; returns the mean and the quantile of its regret."""
    engine: Any = "cuda" if given.cuda else "cpu"
    rounds, replications = given.rounds, given.replications
    run = simulate(problem, policy, rounds, replications, checkpoints=[rounds], engine=engine)
    regret = np.sort(run.regret[:, -1])
    return float(regret.mean()), float(regret[int(np.ceil(SHARE * len(regret))) - 1])


def main() -> None:
    """Play all choices of options and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=20, help="of each distribution")
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--replications", type=int, default=2_048)
    parser.add_argument("--cuda", action="store_true", help="play on an NVIDIA GPU")
    given = parser.parse_args()
    began = time.perf_counter()
    tasks = [
        (distribution, seed, name, policy)
        for distribution, seed in itertools.product(DISTRIBUTIONS, range(given.problems))
        for name, policy in choices(DISTRIBUTIONS[distribution]).items()
    ]

    def run(task: tuple[str, int, str, RankOneThompson]) -> tuple[float, ...]:
        distribution, seed, _, policy = task
        return play(
            Problem.random(PLAYERS, seed=seed, distribution=DISTRIBUTIONS[distribution]),
            policy,
            given,
        )

    with ThreadPoolExecutor(32 if given.cuda else 1) as pool:  # side by side they fill a GPU
        found = {
            task[:3]: measured for task, measured in zip(tasks, pool.map(run, tasks), strict=True)
        }
    total = len(tasks) * given.rounds * given.replications
    print(f"{total:.2e} rounds in {time.perf_counter() - began:.0f} s")
    print(f"{given.problems} problems of each distribution")
    print("| distribution | options | mean regret | quantile of 99% | problems with a lower mean |")
    print("| --- | --- | --- | --- | --- |")
    for distribution in DISTRIBUTIONS:
        for name in choices(DISTRIBUTIONS[distribution]):
            own, usual = (
                np.array([found[distribution, seed, each] for seed in range(given.problems)])
                for each in (name, DEFAULT)
            )
            mean, tail = np.exp(np.log(own / usual).mean(axis=0))
            less = int((own[:, 0] < usual[:, 0]).sum())
            cells = (distribution, name, f"{mean:.2f}", f"{tail:.2f}", f"{less} of {len(own)}")
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
