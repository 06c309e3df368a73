"""What a floor costs, and what it gives, measured on pools that `pairup serve` serves.

    python -m scripts.figures.floors

Draws docs/images/floors.png and prints its numbers. For each floor it creates a pool of 100 players
with rates from Beta(2, 3), of whom nothing is known. In each round all of them wait, each answers
the proposal by its rate, and the answers are reported; a player has the same luck in all pools. The
figure shows, for the rounds after the first 150 of 600, the expected games per player and round by
the true rates: of all players, and of the tenth with the lowest rates.
"""

import argparse
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from pairup import Problem
from pairup.reporting.style import RC_PARAMS, assign_styles
from pairup.service.api.schemas.games import NewGameReport
from scripts.figures.served_pools import served

FLOORS = (0.0, 0.25, 0.5, 0.75, 0.9)
OUT = Path(__file__).resolve().parents[2] / "docs" / "images" / "floors.png"


def main():
    """Play the pools, print the numbers and draw the figure."""
    options = _options()
    rates = np.sort(Problem.random(options.players, seed=0, distribution=(2, 3)).rates)
    random = rates * (rates.sum() - rates) / (len(rates) - 1)
    luck = np.random.default_rng(1).random((options.rounds, len(rates)))
    tenth = max(1, len(rates) // 10)
    print(f"random pairing: {random.mean():.4f}, lowest tenth {random[:tenth].mean():.4f}")
    rows = []
    with served() as client:
        for floor in FLOORS:
            chances = _play(client, floor, rates, luck)[options.warm_up :].mean(axis=0)
            rows.append((chances.mean(), chances[:tenth].mean(), (chances / random).min()))
            games, lowest, worst = rows[-1]
            print(
                f"floor {floor:4}: {games:.4f}, {lowest:.4f}, worst share {worst:.2f}", flush=True
            )
    _draw(np.array(rows), (random.mean(), random[:tenth].mean()), options)


def _options():
    parser = argparse.ArgumentParser(prog="python -m scripts.figures.floors")
    parser.add_argument("--players", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--warm-up", type=int, default=150, help="rounds that are left out")
    return parser.parse_args()


def _play(client, floor, rates, luck):
    """Play all rounds in a pool; returns each player's chance of a game in each round."""
    pool = f"floor-{round(100 * floor)}"
    names = [f"p{number}" for number in range(len(rates))]
    client.create_pool(pool, fairness={"floor": floor}, lifetime_s=3600)
    client.put_players(pool, dict.fromkeys(names, "waiting"))
    chances = np.zeros(luck.shape)
    for drawn, row in zip(luck, chances, strict=True):
        reports = []
        for game in client.propose(pool).games:
            one, other = (int(name[1:]) for name in game.players)
            row[[one, other]] = rates[one] * rates[other]
            said = {
                f"p{player}": "accepted" if drawn[player] < rates[player] else "declined"
                for player in (one, other)
            }
            reports.append(NewGameReport(game=game.id, answers=said))
        client.report_all(pool, reports)
    return chances


def _draw(rows, random, options):
    titles = "Games per player and round", "The same, of the lowest tenth"
    styles = assign_styles(["With a floor", "Random pairing"])
    with plt.rc_context(RC_PARAMS):
        figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.4), layout="constrained")
        for ax, title, values, at_random in zip(panels, titles, rows.T, random, strict=False):
            (ours, mine), (theirs, other) = styles.items()
            ax.plot(FLOORS, values, "o-", color=mine.colour, label=ours)
            ax.axhline(at_random, color=other.colour, linestyle="--", label=theirs)
            for x, y in zip(FLOORS, values, strict=True):
                ax.annotate(
                    f"{y:.1%}", (x, y), (0, 6), textcoords="offset points", ha="center", size=7
                )
            ax.set(xlabel="floor", title=title, ylim=(0, 1.25 * max(*values, at_random)))
            ax.set_xticks(FLOORS)
            ax.yaxis.set_major_formatter(PercentFormatter(1, 0))
        panels[0].legend(loc="lower left", frameon=False)
        figure.suptitle(f"{options.players} players, rates from Beta(2, 3), learned from answers")
        figure.savefig(OUT, dpi=150, metadata={"Software": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
