"""Tails: the final regret of 100,000 replications of five policies on two problems of the paper.

    python -m scripts.figures.tails --cuda

It writes the regrets to build/tails.npz, prints quantiles and how the tail falls, and draws
docs/images/tails.png. Without --cuda it takes hours.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup import SAM, Policy, Problem, RankOneThompson, Unimodal, UnimodalThompson, simulate

POLICIES: dict[str, Policy] = {
    "V2": Unimodal(index="ucb", clock="round"),
    "V2 KL": Unimodal(),
    "UTS": UnimodalThompson(),
    "Rank one": RankOneThompson(),
    "SAM": SAM(),
}
PROBLEMS = (Problem.from_zero(4, 0.1), Problem.around(0.5, 4, 0.1))
SHARES = {"median": 0.5, "95%": 0.95, "99%": 0.99, "99.9%": 0.999, "99.99%": 0.9999}

Regrets = dict[str, NDArray[np.float64]]  # by "problem, policy"


def play(rounds: int, replications: int, engine: Any) -> Regrets:
    """Play every policy on every problem."""
    found = {}
    for problem in PROBLEMS:
        for label, policy in POLICIES.items():
            began = time.perf_counter()
            run = simulate(
                problem, policy, rounds, replications, checkpoints=[rounds], engine=engine
            )
            found[f"{problem.name}, {label}"] = run.regret[:, -1]
            print(f"{problem.name}, {label}: {time.perf_counter() - began:.1f} s", flush=True)
    return found


def slope(regret: NDArray[np.float64]) -> float:
    """Return how fast the tail falls, in decades per decade of regret: 1 in theory, for c / x.

    Hill's estimate, from the largest thousandth; infinite where those are equal.
    """
    largest = np.sort(regret)[-max(len(regret) // 1_000, 2) :]
    excess = float(np.mean(np.log(largest[1:] / largest[0])))
    return 1.0 / excess if excess > 0.0 else np.inf


def table(found: Regrets) -> str:
    """Write the quantiles of each policy on each problem."""
    heads = ["problem", "policy", "mean", *SHARES, "largest", "slope"]
    lines = [heads, ["---"] * len(heads)]
    for name, regret in found.items():
        problem, policy = name.rsplit(", ", 1)
        ordered = np.sort(regret)
        quantiles = [ordered[int(np.ceil(share * len(ordered))) - 1] for share in SHARES.values()]
        values = [regret.mean(), *quantiles, ordered[-1]]
        lines.append(
            [problem, policy, *(f"{each:,.0f}" for each in values), f"{slope(regret):.1f}"]
        )
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def draw(found: Regrets, rounds: int, path: Path) -> None:
    """Draw a tail plot for each problem, side by side."""
    import polars as pl
    from matplotlib.figure import Figure

    from pairup.reporting.tail_plot import plot_tail

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for ax, problem in zip(figure.subplots(1, len(PROBLEMS)), PROBLEMS, strict=True):
        frames = [
            pl.DataFrame({"regret": found[f"{problem.name}, {label}"]}).with_columns(
                pl.int_range(pl.len()).alias("replication"),
                policy=pl.lit(label),
                problem=pl.lit(problem.name),
                experiment=pl.lit("tails"),
                round=pl.lit(rounds),
            )
            for label in POLICIES
        ]
        plot_tail(pl.concat(frames), ax)
        ax.set_title(problem.name)
        if problem is not PROBLEMS[-1]:
            ax.get_legend().remove()
    figure.savefig(path, dpi=110)


def main() -> None:
    """Print the table and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=100_000)
    parser.add_argument("--cuda", action="store_true", help="play on an NVIDIA GPU")
    parser.add_argument("--data", type=Path, default=Path("build/tails.npz"))
    parser.add_argument("--picture", type=Path, help="where to draw, for example tails.png")
    given = parser.parse_args()
    if not given.data.exists():
        given.data.parent.mkdir(exist_ok=True)
        found = play(given.rounds, given.replications, "cuda" if given.cuda else "cpu")
        np.savez_compressed(
            given.data, **{name: each.astype(np.float64) for name, each in found.items()}
        )
    with np.load(given.data) as kept:
        found = {name: kept[name] for name in kept.files}
    print(table(found))
    if given.picture:
        draw(found, given.rounds, given.picture)


if __name__ == "__main__":
    main()
