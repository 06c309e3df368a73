"""What ranking policies lose on the click models of the literature.

    python -m scripts.figures.rankings

Draws docs/images/rankings.png and prints its numbers: the mean regret over the replications of each
policy, with its standard deviation, on the problems of the shipped experiments `rankings` and
`rankings-kdd`. Some minutes on one core.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from pairup import GRAB, Problem, RankOneThompson, UniRank, load_experiment, simulate
from pairup.reporting.style import RC_PARAMS, assign_styles

ROUNDS = 100_000
EXPERIMENTS = ("rankings", "rankings-kdd")
CURVES = ("std", "big")  # whose course over time is drawn
POLICIES = {  # with their replications
    "GRAB": (GRAB(), 20),
    "GRAB log T": (GRAB(clock="horizon"), 20),
    "UniRank": (UniRank(), 20),
    "Rank one": (RankOneThompson(), 20),
}
IMAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "rankings.png"


def settings_of(experiment):
    """List the settings of a shipped experiment."""
    return [posed.parameters["setting"] for posed in load_experiment(experiment).problems]


def play(settings):
    """Return the runs by policy and setting."""
    return {
        label: {
            each: simulate(Problem.click_model(each), policy, ROUNDS, count) for each in settings
        }
        for label, (policy, count) in POLICIES.items()
    }


def short(number):
    """Write a number with about three digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def mean_and_deviation(run):
    """Write the mean regret after the last round, and its standard deviation."""
    lost = run.regret[:, -1]
    return f"{short(lost.mean())} ± {short(lost.std(ddof=1))}"


def show(runs):
    """Print the regret after the last round as a table in Markdown, and what rank one saves."""
    settings = list(runs["GRAB"])
    print("\n| policy | " + " | ".join(settings) + " |")
    print("| --- |" + " ---: |" * len(settings))
    for label, each in runs.items():
        cells = (mean_and_deviation(each[setting]) for setting in settings)
        print(f"| {label} | " + " | ".join(cells) + " |")
    shares = []
    for setting in settings:
        least = min(runs[label][setting].mean()[-1] for label in ("GRAB", "GRAB log T"))
        shares.append(f"{runs['Rank one'][setting].mean()[-1] / least:.2f}")
    print("| Rank one / the better GRAB | " + " | ".join(shares) + " |", flush=True)


def draw_course(ax, runs, setting):
    """Draw the mean regret over time on a setting."""
    for label, style in assign_styles(runs).items():
        run = runs[label][setting]
        line = {"color": style.colour, "linestyle": style.dashes}
        ax.plot(run.rounds[run.rounds >= 10], run.mean()[run.rounds >= 10], label=label, **line)
    ax.set(title=f"Regret over time, {setting}", xlabel="round", xscale="log", yscale="log")


def draw_last(ax, runs):
    """Draw the mean regret after the last round on every setting."""
    settings = list(runs["GRAB"])
    for label, style in assign_styles(runs).items():
        lost = [runs[label][setting].mean()[-1] for setting in settings]
        ax.plot(range(len(settings)), lost, style.marker, color=style.colour, label=label)
    ax.set_xticks(range(len(settings)), settings, rotation=60, ha="right")
    ax.set(title=f"Regret after {ROUNDS:,} rounds", yscale="log")


def main():
    """Print the numbers and draw the figure."""
    parts = []
    for experiment in EXPERIMENTS:
        parts.append(play(settings_of(experiment)))
        show(parts[-1])
    runs = {label: parts[0][label] | parts[1][label] for label in POLICIES}
    with plt.rc_context(RC_PARAMS):
        figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), layout="constrained")
        for ax, setting in zip(axes, CURVES, strict=False):
            draw_course(ax, runs, setting)
        draw_last(axes[2], runs)
        axes[0].legend()
        figure.savefig(IMAGE, dpi=130)


if __name__ == "__main__":
    main()
