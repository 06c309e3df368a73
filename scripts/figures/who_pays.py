"""Who gains and who pays when players are paired by their acceptance rates.

    python -m scripts.figures.who_pays

Draws docs/images/who-pays.png and prints its numbers: the chance of a game in a round, for each
tenth of 2,000 players with Beta(2, 3) rates, under random pairing and in the best matching.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from pairup import Problem
from pairup.reporting.style import RC_PARAMS, assign_styles

PROBLEM = Problem.random(2_000, seed=0, distribution=(2, 3))
TENTHS = 10
OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "who-pays.png"


def chances(rates):
    """Return each player's chance of a game, paired at random and in the best matching.

    Parameters
    ----------
    rates
        Sorted, of an even number of players. The best matching then couples neighbours.
    """
    others = (rates.sum() - rates) / (len(rates) - 1)
    partners = rates.reshape(-1, 2)[:, ::-1].ravel()
    return rates * others, rates * partners


def main():
    """Print the numbers and draw the figure."""
    random, best = chances(np.sort(PROBLEM.rates))
    print(f"share of proposed games that are played: {random.mean():.1%} at random, ", end="")
    print(f"{best.mean():.1%} in the best matching")
    print(f"players with a lower chance than at random: {(best < random).mean():.1%}")
    tenths = [each.reshape(TENTHS, -1).mean(axis=1) for each in (random, best)]
    for number, (at_random, in_best) in enumerate(zip(*tenths, strict=True), 1):
        print(f"tenth {number:2}: {at_random:6.2%} -> {in_best:6.2%}, x {in_best / at_random:.2f}")
    _draw(*tenths)


def _draw(random, best):
    labels = ("Random pairing", "Best matching")
    places = np.arange(1, TENTHS + 1)
    with plt.rc_context(RC_PARAMS):
        figure, ax = plt.subplots(figsize=(8.5, 3.8), layout="constrained")
        for (label, style), heights, shift in zip(
            assign_styles(labels).items(), (random, best), (-0.2, 0.2), strict=True
        ):
            bars = ax.bar(places + shift, heights, 0.38, color=style.colour, label=label)
            names = [f"{height:.1%}" if height < 0.1 else f"{height:.0%}" for height in heights]
            ax.bar_label(bars, names, size=7, padding=1)
        ax.set_xticks(places, ["lowest\ntenth", *map(str, places[1:-1]), "highest\ntenth"])
        ax.set(xlabel="players by acceptance rate", ylabel="chance of a game per round")
        ax.yaxis.set_major_formatter(PercentFormatter(1, 0))
        ax.grid(axis="x", visible=False)
        ax.legend(loc="upper left", frameon=False)
        ax.set_title("2,000 players, rates from Beta(2, 3)")
        figure.savefig(OUT, dpi=150, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
