"""What policies lose where not all couples may meet, and where games differ in worth.

    python -m scripts.figures.graphs [--half]

Draws docs/images/graphs.png and prints its numbers: the mean regret over random graphs of twenty
players, with its standard error. Some minutes on one core. With --half it prints what two policies
lose on graphs of ten players of whom half of the couples may meet.
"""

import sys

import numpy as np

from pairup import (
    ESCB,
    CombThompson,
    CombUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    Problem,
    RankOneThompson,
    Uniform,
    simulate,
)
from pairup.reporting.style import assign_styles
from scripts.figures.robustness import draw, show, sweep

PLAYERS, ROUNDS, INSTANCES = 20, 4_000, 8
DENSITIES = (1.0, 0.5, 0.1)
POLICIES = {
    "Rank one": RankOneThompson(),
    "CombThompson": CombThompson(),
    "CombUCB KL": CombUCB("kl"),
    "ESCB": ESCB("approximate"),
    "ε-greedy": EpsilonGreedy(),
    "ETC": ExploreThenCommit(),
    "Uniform": Uniform(),
}


def equal_worth(density, seed):
    """Make a random graph whose games are all worth 1."""
    return Problem.random_graph(PLAYERS, density, seed)


def random_worth(density, seed):
    """Make a random graph whose games are worth something between 0 and 1."""
    return Problem.random_graph(PLAYERS, density, seed, random_worth=True)


def plot(ax, title, regret):
    """Draw the mean regret against the density, evenly spaced."""
    places = np.arange(len(DENSITIES))
    for label, style in assign_styles(regret).items():
        line = {"color": style.colour, "linestyle": style.dashes, "marker": style.marker}
        ax.plot(places, regret[label].mean(axis=1), label=label, **line)
    ax.set_xticks(places, [f"{density:g}" for density in DENSITIES])
    ax.set(title=f"{title}, after {ROUNDS:,} rounds", xlabel="density of the graph")


def show_half():
    """Print the mean regret on 30 graphs of density 0.5, four replications each."""
    for worth in (False, True):
        for policy in (RankOneThompson(), CombThompson()):
            problems = [Problem.random_graph(10, 0.5, seed, worth) for seed in range(30)]
            lost = [simulate(each, policy, ROUNDS, 4).mean()[-1] for each in problems]
            error = np.std(lost) / np.sqrt(len(lost))
            print(f"{policy}, random worth {worth}: {np.mean(lost):.1f} ± {error:.1f}")


def main():
    """Print the numbers and draw the figure."""
    if "--half" in sys.argv:
        show_half()
        return
    equal, different = (
        sweep(make, DENSITIES, POLICIES, ROUNDS, INSTANCES) for make in (equal_worth, random_worth)
    )
    show("density, equal worth", DENSITIES, equal)
    show("density, random worth", DENSITIES, different)
    draw(
        "graphs.png",
        lambda ax: plot(ax, "Equal worth", equal),
        lambda ax: plot(ax, "Random worth", different),
    )


if __name__ == "__main__":
    main()
