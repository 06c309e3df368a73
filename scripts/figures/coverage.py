"""How often intervals of the mean regret from few replications cover it.

    python -m scripts.figures.coverage [--replications 4000] [--samples 1000]

Plays many replications of V2, SAM and rank one, takes samples of 5, 8 and 20 of them, and counts
how often the interval of a sample covers the mean of all: that of `pairup.intervals.mean_interval`,
Student's, and the bootstrap's (BCa). Prints a table and draws docs/images/coverage.png. About three
minutes on one core.
"""

import argparse

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from pairup import SAM, Problem, RankOneThompson, Unimodal, simulate
from pairup.intervals import mean_interval, student_interval
from pairup.reporting.style import RC_PARAMS, assign_styles
from scripts.figures.robustness import IMAGES

ROUNDS = 10_000
SIZES = (5, 8, 20)
PROBLEMS = (Problem.around(0.5, 4, 0.1), Problem.from_zero(4, 0.1))
POLICIES = {
    "V2": Unimodal(index="ucb", clock="round"),
    "SAM": SAM(),
    "Rank one": RankOneThompson(),
}


def bootstrap_interval(values):
    """Return the mean along the first axis, and the ends of its BCa interval."""
    found = stats.bootstrap(
        (values,), np.mean, axis=0, n_resamples=999, method="BCa", rng=np.random.default_rng(1)
    ).confidence_interval
    return values.mean(axis=0), found.low, found.high


INTERVALS = {
    "Hall, skewness shrunk (pairup)": mean_interval,
    "Student": student_interval,
    "bootstrap, BCa": bootstrap_interval,
}


def measure(replications, samples):
    """Return the coverage by policy and problem, size of the sample, and interval."""
    rng, found = np.random.default_rng(0), {}
    for label, policy in POLICIES.items():
        for problem in PROBLEMS:
            run = simulate(problem, policy, ROUNDS, replications, checkpoints=[ROUNDS])
            regret = run.regret[:, -1]
            for size in SIZES:
                places = [rng.choice(replications, size, replace=False) for _ in range(samples)]
                drawn = regret[np.array(places).T]
                for name, interval in INTERVALS.items():
                    _, low, high = interval(drawn)
                    covers = (low <= regret.mean()) & (regret.mean() <= high)
                    found[f"{label}, {problem.name}", size, name] = covers.mean()
    return found


def show(found):
    """Print a row for each policy, problem and size."""
    print("| policy, problem | replications |", " | ".join(INTERVALS), "|")
    print("| --- | --- |", " --- |" * len(INTERVALS))
    for case in dict.fromkeys(case for case, _, _ in found):
        for size in SIZES:
            shares = " | ".join(f"{found[case, size, name]:.1%}" for name in INTERVALS)
            print(f"| {case} | {size} | {shares} |")
    for name in INTERVALS:
        print(name, "least:", f"{min(v for key, v in found.items() if key[2] == name):.1%}")


def draw(found):
    """Draw docs/images/coverage.png: the coverage of each case by the size of the sample."""
    styles = assign_styles(INTERVALS)
    with plt.rc_context(RC_PARAMS):
        figure, ax = plt.subplots(figsize=(7.0, 3.8), layout="constrained")
        for shift, (name, style) in zip((-0.18, 0.0, 0.18), styles.items(), strict=True):
            shares = [
                (place + shift, found[case, size, name])
                for place, size in enumerate(SIZES)
                for case in dict.fromkeys(case for case, _, _ in found)
            ]
            ax.plot(*zip(*shares, strict=True), style.marker, color=style.colour, label=name)
        ax.axhline(0.95, color="black", linestyle="--", linewidth=1)
        ax.set_xticks(range(len(SIZES)), [f"{size} replications" for size in SIZES])
        ax.set(ylabel="share of samples whose interval\ncovers the mean", ylim=(0.75, 1.0))
        ax.legend(loc="lower right", frameon=False)
        figure.savefig(IMAGES / "coverage.png", dpi=150, metadata={"Software": None})
        plt.close(figure)


def main():
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=4000)
    parser.add_argument("--samples", type=int, default=1000)
    given = parser.parse_args()
    found = measure(given.replications, given.samples)
    show(found)
    draw(found)


if __name__ == "__main__":
    main()
