"""What policies lose when couples are not quite products, and when rates change.

    python -m scripts.figures.robustness

Draws docs/images/robustness-products.png and docs/images/robustness-changes.png, and prints their
numbers: the mean regret over random problems of eight players, with its standard error. About ten
minutes on two cores.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from pairup import (
    ESCB,
    OSUB,
    SAM,
    CombThompson,
    CombUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    HierarchicalThompson,
    Problem,
    RankOneThompson,
    Uniform,
    Unimodal,
    UnimodalThompson,
    simulate,
)
from pairup.reporting.style import RC_PARAMS, assign_styles

PLAIN = Problem.around(0.5, 4, 0.1)
ROUNDS, INSTANCES, REPLICATIONS = 20_000, 16, 2
NOISES = (0.0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
SPREADS = (0.0, 0.5, 1.0)
CHANGES = (0, 1, 3, 7, 15, 31)
DRIFTS = (0.0, 0.005, 0.01, 0.02, 0.04, 0.08)
DRIFT_EVERY = 100  # rounds
POLICIES = {
    "Rank one": RankOneThompson(),
    "Hierarchical": HierarchicalThompson(),
    "Unimodal TS": UnimodalThompson(),
    "V2 KL": Unimodal(),
    "SAM": SAM(),
    "OSUB": OSUB(),
    "CombThompson": CombThompson(),
    "CombUCB": CombUCB(),
    "ESCB": ESCB(),
    "ε-greedy": EpsilonGreedy(),
    "ETC": ExploreThenCommit(),
    "Uniform": Uniform(),
}
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"


def noisy_products(noise, seed):
    """Make a problem in which the log odds of each couple are off by normal noise."""
    products = PLAIN.couple_rates
    draws = np.triu(np.random.default_rng(seed).normal(0, noise, products.shape), 1)
    odds = products / (1 - products) * np.exp(draws + draws.T)
    return Problem.from_matrix(odds / (1 + odds))


def rank_two(spread, seed):
    """Make a problem in which the log odds are off by products of normal numbers of the players."""
    draws = np.random.default_rng(seed)
    rates, other = draws.beta(2, 2, PLAIN.players), draws.normal(0, spread, PLAIN.players)
    products = np.outer(rates, rates)
    odds = products / (1 - products) * np.exp(np.outer(other, other))
    return Problem.from_matrix(odds / (1 + odds) * (1 - np.eye(PLAIN.players)))


def changing_rates(changes, seed, rounds=ROUNDS):
    """Make a problem in which the players exchange their rates at evenly spaced rounds."""
    draws = np.random.default_rng(seed)
    starts = [rounds * piece // (changes + 1) for piece in range(changes + 1)]
    return Problem.piecewise(
        starts, [PLAIN.rates, *map(draws.permutation, [PLAIN.rates] * changes)]
    )


def drifting_rates(step, seed, rounds=ROUNDS):
    """Make a problem in which each rate walks at random between 0.1 and 0.9."""
    starts = range(0, rounds, DRIFT_EVERY)
    steps = np.random.default_rng(seed).normal(0, step, (len(starts), PLAIN.players))
    walk = PLAIN.rates + np.vstack([np.zeros(PLAIN.players), steps[1:].cumsum(axis=0)])
    folded = np.abs((walk - 0.1 + 0.8) % 1.6 - 0.8)  # reflected at both ends
    return Problem.piecewise(list(starts), list(0.1 + folded))


def sweep(make, values, policies=POLICIES, rounds=ROUNDS, instances=INSTANCES):
    """Return by policy the regret of each value and instance, shape (values, instances).

    Instances are the sample: replications of an instance are averaged.
    """
    regret = {label: np.zeros((len(values), instances)) for label in policies}
    for row, value in enumerate(values):
        for seed in range(instances):
            problem = make(value, seed)
            for label, policy in policies.items():
                run = simulate(problem, policy, rounds, REPLICATIONS, seed, [rounds])
                regret[label][row, seed] = run.mean()[-1]
    return regret


def course(noise):
    """Return the checkpoints and, by policy, the mean regret there under one size of noise."""
    runs = {
        label: [simulate(noisy_products(noise, s), policy, ROUNDS, 1, s) for s in range(INSTANCES)]
        for label, policy in POLICIES.items()
    }
    means = {label: np.mean([run.mean() for run in each], axis=0) for label, each in runs.items()}
    return next(iter(runs.values()))[0].rounds, means


def show(title, values, regret):
    """Print a table of the mean regret, with standard errors, in Markdown."""
    print(f"\n| {title} | " + " | ".join(f"{value:g}" for value in values) + " |")
    print("| --- |" + " ---: |" * len(values))
    for label, rows in regret.items():
        means, errors = rows.mean(axis=1), rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1])
        cells = (f"{mean:,.0f} ± {error:,.0f}" for mean, error in zip(means, errors, strict=True))
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def draw(file, *panels):
    """Draw panels side by side, each a function that fills the axes."""
    with plt.rc_context(RC_PARAMS):
        figure, axes = plt.subplots(1, len(panels), figsize=(10.5, 4.2), layout="constrained")
        for ax, panel in zip(axes, panels, strict=True):
            panel(ax)
            ax.set(ylabel="regret", yscale="log")
        axes[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
        figure.savefig(IMAGES / file, dpi=150, metadata={"Software": None})
        plt.close(figure)


def plot_sweep(ax, title, name, values, regret):
    """Draw the mean regret against the values of a sweep, evenly spaced."""
    places = np.arange(len(values))
    for label, style in assign_styles(regret).items():
        line = {"color": style.colour, "linestyle": style.dashes, "marker": style.marker}
        ax.plot(places, regret[label].mean(axis=1), label=label, **line)
    ax.set_xticks(places, [f"{value:g}" for value in values])
    ax.set(title=f"{title}, after {ROUNDS:,} rounds", xlabel=name)


def plot_course(ax, noise):
    """Draw the mean regret against the round under one size of noise."""
    rounds, means = course(noise)
    for label, style in assign_styles(means).items():
        ax.plot(rounds, means[label], color=style.colour, linestyle=style.dashes, label=label)
    ax.set(
        title=f"Noise of {noise:g}",
        xlabel="round, t",
        xscale="log",
        xlim=(10, None),
        ylim=(1, None),
    )


def main():
    """Print the numbers and draw the figures."""
    noisy, crossed, changing, drifting = (
        sweep(make, values)
        for make, values in (
            (noisy_products, NOISES),
            (rank_two, SPREADS),
            (changing_rates, CHANGES),
            (drifting_rates, DRIFTS),
        )
    )
    show("noise", NOISES, noisy)
    show("spread", SPREADS, crossed)
    show("changes", CHANGES, changing)
    show("step", DRIFTS, drifting)
    name = "noise: standard deviation in log odds"
    draw(
        "robustness-products.png",
        lambda ax: plot_sweep(ax, "Couples not quite products", name, NOISES, noisy),
        lambda ax: plot_course(ax, 0.8),
    )
    draw(
        "robustness-changes.png",
        lambda ax: plot_sweep(ax, "Rates exchanged", "number of changes", CHANGES, changing),
        lambda ax: plot_sweep(
            ax, "Rates that drift", f"step per {DRIFT_EVERY} rounds", DRIFTS, drifting
        ),
    )


if __name__ == "__main__":
    main()
