"""Rank-one Thompson sampling on problems drawn at random, against its nearest rivals.

    python -m scripts.figures.random_problems

It plays 50 problems of 4 to 16 players, 1,000,000 rounds, 20 replications, into
build/random-problems. A run that was stopped resumes where it left off.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from pairup import SAM, Problem, RankOneThompson, Unimodal, UnimodalThompson, bounds, load_results
from pairup.analysis.means import final, mean_intervals
from pairup.experiments.experiment import Entry, Experiment
from pairup.experiments.figure_spec import FigureSpec
from pairup.experiments.posed_problems import PosedProblem
from pairup.experiments.runner import run_experiment

OURS = "Rank one"
ENTRIES = (
    Entry(OURS, RankOneThompson()),
    Entry("UTS", UnimodalThompson()),
    Entry("V2 KL", Unimodal()),
    Entry("V2", Unimodal(index="ucb", clock="round")),
    Entry("SAM", SAM()),
)
DISTRIBUTIONS = ("uniform", "beta(8, 2)", "beta(2, 8)", "uniform with 0 and 1")


def drawn(number: int) -> Problem:
    """Problem `number`: its distribution, its number of players and its rates."""
    rng = np.random.default_rng(1_000 + number)
    players = 2 * int(rng.integers(2, 9))
    distribution = DISTRIBUTIONS[number % len(DISTRIBUTIONS)]
    if distribution.startswith("beta"):
        rates = rng.beta(*(8, 2) if distribution == "beta(8, 2)" else (2, 8), players)
    else:
        rates = rng.random(players)
    if distribution == "uniform with 0 and 1":
        rates[rng.random(players) < 0.25] = 0.0
        rates[rng.random(players) < 0.2] = 1.0
    return Problem(np.round(rates, 4), name=f"random {number}")


def experiment(problems: int, rounds: int, replications: int) -> Experiment:
    """Pose them all."""
    posed = [
        PosedProblem(drawn(n), DISTRIBUTIONS[n % len(DISTRIBUTIONS)], {"number": n})
        for n in range(problems)
    ]
    return Experiment(
        name="random-problems",
        title="Problems drawn at random",
        about=__doc__ or "",
        rounds=rounds,
        replications=replications,
        seed=0,
        problems=tuple(posed),
        entries=ENTRIES,
        figures=(FigureSpec("curves", "first", "The first", where={"number": 0}),),
    )


def compared(given: Experiment, frame: pl.DataFrame) -> list[dict[str, object]]:
    """List each problem's mean regrets, and ours over the best of the others."""
    means = mean_intervals(final(frame))
    worst = final(frame).filter(policy=OURS).group_by("problem").agg(pl.col("regret").max())
    rows = []
    for posed in given.problems:
        name = posed.problem.name
        found = dict(means.filter(problem=name).select("policy", "estimate").iter_rows())
        rest = min(value for policy, value in found.items() if policy != OURS)
        limit = bounds.lower(posed.problem).constant * np.log(given.rounds)
        rows.append(
            {"problem": name, "distribution": posed.family, "players": posed.problem.players}
            | {policy: round(value, 1) for policy, value in found.items()}
            | {
                "ratio": found[OURS] / rest,
                "limit": round(float(limit), 1),
                "worst run": round(worst.filter(problem=name)["regret"].item(), 1),
            }
        )
    return rows


def main() -> None:
    """Play all problems and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--replications", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("build/random-problems"))
    given = parser.parse_args()
    posed = experiment(given.problems, given.rounds, given.replications)
    run_experiment(posed, given.out, progress=True)
    rows = compared(posed, load_results(given.out).frame)
    table = Table(title=f"{given.rounds:,} rounds, {given.replications} replications")
    for name in rows[0]:
        table.add_column(name, justify="left" if name in ("problem", "distribution") else "right")
    for row in rows:
        table.add_row(*(f"{v:.2f}" if k == "ratio" else str(v) for k, v in row.items()))
    Console(width=160).print(table)
    ratios = np.array([row["ratio"] for row in rows])
    shares = ", ".join(f"{q}%: {np.quantile(ratios, q / 100):.2f}" for q in (0, 10, 50, 90, 100))
    print(f"ours over the best of the others, quantiles {shares}")
    above = [row["problem"] for row in rows if row["ratio"] > 1.5]
    print(f"above 1.5 on {len(above)} of {len(rows)} problems: {above}")


if __name__ == "__main__":
    main()
