"""How a pool learns: simulated players who come and go, through `pairup serve` itself.

    python -m scripts.figures.service_learning --out docs/images/service-learning.png
    python -m scripts.figures.service_learning drift
    python -m scripts.figures.service_learning import

It starts a service on a free port with a database that is discarded. In each round every player who
waits is proposed a game, each answers by its rate, and some leave for good and are replaced by
players of whom nothing is known. The picture shows the share of games played over the rounds,
against what random pairing and the best matching of the players present would give. What `drift`
and `import` show is in `learning_drift` and `learning_import`.
"""

import argparse
import itertools
import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter

from pairup import Problem
from pairup.client.demo import Crowd, Habits, Pace, Simulation, parse_distribution
from scripts.figures import learning_drift, learning_import
from scripts.figures.served_pools import by_column, served, share_of_way

WINDOW = 20  # rounds of the running mean of the games played
# What a pool is told, and its rules: whether reports have answers, and what a time-out counts as.
_TOLD = {
    "answers of each player, time-outs as declines": (True, {"timeout_declines": True}),
    "answers of each player": (True, {}),
    "outcomes of couples": (False, {}),
}


def main():
    """Measure what is asked for: churn, a drift, or an import."""
    options = _options()
    distribution = parse_distribution(options.distribution)
    if options.what != "churn":
        {"drift": learning_drift, "import": learning_import}[options.what].show(
            options, distribution
        )
        return
    series = {}
    for label, (answers, rules) in _TOLD.items():
        began = time.perf_counter()
        rounds = _rounds(options, distribution, Habits(churn=options.churn, answers=answers), rules)
        series[label] = np.array(rounds, dtype=float)
        print(f"reported {label}: {_summary(series[label])}", flush=True)
        print(f"  {options.rounds / (time.perf_counter() - began):.1f} rounds per second")
    _draw(series, options)
    print(options.out)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("churn", "drift", "import"), default="churn")
    parser.add_argument("--players", type=int, help="200, or 2000 for import")
    parser.add_argument("--distribution", default="beta:2,3")
    parser.add_argument("--churn", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--period", type=int, default=4, help="rounds between two draws")
    parser.add_argument("--prior", choices=("learned", "uniform"), default="learned")
    parser.add_argument("--half-life", type=int, default=40, help="of drift, in rounds")
    parser.add_argument("--pace", type=float, default=0.1, help="seconds per round of drift")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the history to import")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/service-learning.png"))
    options = parser.parse_args()
    options.players = options.players or (2_000 if options.what == "import" else 200)
    if options.rounds < WINDOW:
        parser.error(f"--rounds must be at least {WINDOW}, got {options.rounds}")
    return options


def _rounds(options, distribution, habits, rules):
    with served() as client:
        rates = Problem.random(options.players, options.seed, distribution).rates
        crowd = Crowd(rates.tolist(), distribution, options.seed)
        drawing = {"period": options.period, "prior": options.prior}
        client.create_pool("learning", lifetime_s=600, options=drawing, **rules)
        simulation = Simulation(client, "learning", crowd, habits, Pace())
        return list(itertools.islice(simulation, options.rounds))


def _summary(table):
    """Describe how far from random pairing towards the best possible the second half goes."""
    late = by_column(table[len(table) // 2 :])
    games = late["games"].sum()
    played, chosen, random, best = (
        late[name].sum() / games for name in ("played", "chosen", "random", "best")
    )
    gained = share_of_way(table[len(table) // 2 :])
    return (
        f"in the second half {played:.1%} of {games:,.0f} games played ({chosen:.1%} by the true "
        f"rates), random pairing {random:.1%}, best possible {best:.1%}: {gained:.0%} of the way"
    )


def _draw(series, options):
    figure, (shares, way) = plt.subplots(
        2, 1, figsize=(8, 6.5), sharex=True, layout="constrained", height_ratios=(3, 2)
    )
    first = by_column(next(iter(series.values())))
    rounds = first["round"] + 1
    shares.plot(rounds, first["best"] / first["games"], "--", color="#555", label="best possible")
    colours = ("#009e73", "#0072b2", "#d55e00")
    for (label, table), colour in zip(series.items(), colours, strict=True):
        found = by_column(table)
        name = f"pairup, told the {label}"
        shares.plot(rounds, found["chosen"] / found["games"], color=colour, lw=1.8, label=name)
        share = _running(found["played"]) / _running(found["games"])
        shares.plot(rounds[WINDOW - 1 :], share, color=colour, lw=0.9, alpha=0.5)
        gained = _running(found["chosen"] - found["random"])
        gained = gained / _running(found["best"] - found["random"])
        way.plot(rounds[WINDOW - 1 :], gained, color=colour, lw=1.8)
    shares.plot(rounds, first["random"] / first["games"], ":", color="#555", label="random pairing")
    shares.set(ylabel="share of games played", xlim=(1, len(rounds)))
    shares.set_title(
        f"{options.players} players, rates {options.distribution}, {options.churn:.0%} of them "
        f"replaced in each round\nthick: of the games proposed, by the true rates; thin: played, "
        f"mean of {WINDOW} rounds",
        fontsize=10,
    )
    shares.yaxis.set_major_formatter(PercentFormatter(1, 0))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    way.set(xlabel="round", ylabel="of the way from random\nto the best possible")
    way.set_ylim(-0.1, 1.02)
    way.axhline(0, color="#555", ls=":")
    way.axhline(1, color="#555", ls="--")
    way.yaxis.set_major_formatter(PercentFormatter(1, 0))
    for axes in (shares, way):
        axes.grid(alpha=0.25)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.out, dpi=130)


def _running(values):
    return np.convolve(values, np.ones(WINDOW), "valid")


if __name__ == "__main__":
    main()
