"""How the regret of PMED approaches the limit.

    python -m scripts.figures.pmed [--rounds 10000000] [--replications 20]

Draws docs/images/pmed.png and prints its numbers: mean regret over c ln T, with its standard error.
About ten minutes on one core.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np

from pairup import PMED, Problem, bounds, simulate
from pairup.reporting.style import RC_PARAMS, assign_styles
from scripts.figures.robustness import IMAGES

PROBLEMS = {
    "0.55 and 0.45": Problem([0.55, 0.55, 0.45, 0.45]),
    "around(0.5, 4, 0.1)": Problem.around(0.5, 4, 0.1),
    "from_zero(4, 0.1)": Problem.from_zero(4, 0.1),
    "two sides": Problem.two_sided([0.5, 0.4, 0.3, 0.2, 0.1], [1.0, 0.7, 0.4]),
}


def measure(problem, rounds, replications):
    """Return the rounds, and for each the mean regret over c ln T and its standard error."""
    checkpoints = 10 ** np.arange(4, len(str(rounds)))
    run = simulate(problem, PMED(), rounds, replications, checkpoints=checkpoints.tolist())
    ratios = run.regret / bounds.lower(problem).regret(checkpoints)
    return checkpoints, ratios.mean(axis=0), ratios.std(axis=0, ddof=1) / np.sqrt(replications)


def show(label, checkpoints, means, errors):
    """Print the ratios at each power of ten."""
    for round, mean, error in zip(checkpoints, means, errors, strict=True):
        print(f"{label}, T = {round:,}: {mean:.2f} ± {error:.2f}", flush=True)


def plot(ax, measured):
    """Draw the ratios, with their standard errors, and the limit."""
    for label, style in assign_styles(measured).items():
        checkpoints, means, errors = measured[label]
        line = {"color": style.colour, "linestyle": style.dashes, "marker": style.marker}
        ax.errorbar(checkpoints, means, errors, label=label, capsize=2, **line)
    ax.axhline(1.0, color="black", linestyle="--", linewidth=1)
    ax.set(xscale="log", ylim=(0, None), xlabel="round T", ylabel="regret over c ln T")
    ax.legend(loc="lower left", frameon=False)


def draw(measured):
    """Draw docs/images/pmed.png."""
    with plt.rc_context(RC_PARAMS):
        figure, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
        plot(ax, measured)
        figure.savefig(IMAGES / "pmed.png", dpi=150, metadata={"Software": None})
        plt.close(figure)


def main():
    """Print the numbers and draw the figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10_000_000)
    parser.add_argument("--replications", type=int, default=20)
    given = parser.parse_args()
    measured = {}
    for label, problem in PROBLEMS.items():
        measured[label] = measure(problem, given.rounds, given.replications)
        show(label, *measured[label])
    draw(measured)


if __name__ == "__main__":
    main()
