"""How often the interval of how far couples deviate covers the truth.

    python -m scripts.figures.deviation

Prints, of 100 random problems each, in how many the 95% interval that `HierarchicalThompson` has
learned covers the deviation from which the couples were drawn. About ten minutes on one core.
"""

import numpy as np

from pairup import HierarchicalThompson, Problem
from pairup.simulation.playthrough import Playthrough

PROBLEMS = 100
CONCENTRATIONS = (np.inf, 550.0, 170.0, 30.0, 5.0)
SIZES = ((8, 300), (8, 3_000), (8, 20_000), (16, 3_000))  # players and rounds
POLICY = HierarchicalThompson()


def couples(players, concentration, seed):
    """Draw the chances of couples, and return the standard deviation from which they come too."""
    draws = np.random.default_rng(seed)
    rates = draws.beta(2, 2, players)
    products = np.outer(rates, rates)
    products[np.diag_indices(players)] = 0.5
    m = products[np.triu_indices(players, 1)]
    if concentration == np.inf:
        return products, 0.0
    chances = draws.beta(concentration * products, concentration * (1.0 - products))
    return chances, np.sqrt(np.mean(m * (1.0 - m)) / (concentration + 1.0))


def learned(players, rounds, concentration, seed):
    """Return the true deviation, and what is learned of it."""
    chances, deviation = couples(players, concentration, seed)
    chances = np.triu(chances, 1)
    playing = Playthrough(Problem.from_matrix(chances + chances.T), POLICY, rounds, 1, seed)
    playing.play_to(rounds)
    rates = POLICY.player_rates(playing.state, np.arange(players))[0]
    m = np.outer(rates, rates)[np.triu_indices(players, 1)]
    found = POLICY.concentrations(playing.state).deviation(float(np.mean(m * (1.0 - m))))
    return deviation, *found


def main():
    """Print a table in Markdown."""
    print("| players | rounds | k | deviation | median estimate | median interval | covered |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for players, rounds in SIZES:
        for concentration in CONCENTRATIONS:
            runs = [learned(players, rounds, concentration, seed) for seed in range(PROBLEMS)]
            true, estimate, low, high = np.array(runs).T
            covered = np.count_nonzero((low <= true) & (true <= high))
            points = [f"{100 * np.median(each):.1f}" for each in (true, estimate, low, high)]
            print(
                f"| {players} | {rounds:,} | {concentration:g} | {points[0]} | {points[1]} "
                f"| {points[2]} to {points[3]} | {covered} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
