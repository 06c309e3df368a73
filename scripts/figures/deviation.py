"""How well deviations of couples from rates are found, while playing and in histories.

    python -m scripts.figures.deviation

Prints, of 100 random problems each, in how many the 95% interval that `HierarchicalThompson` has
learned covers the deviation from which the couples were drawn; and of 40 random histories each, in
how many `assess` raises an alarm. About ten minutes on one core.
"""

import numpy as np
import polars as pl

from pairup import HierarchicalThompson, Problem, assess
from pairup.simulation.playthrough import Playthrough

PROBLEMS, HISTORIES = 100, 40
CONCENTRATIONS = (np.inf, 550.0, 170.0, 30.0, 5.0)
SIZES = ((8, 300), (8, 3_000))  # players and rounds
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


def history(concentration, seed):
    """Draw a history of 300 players who are paired at random 120 times."""
    draws = np.random.default_rng(seed)
    rates = draws.beta(2, 3, 300)
    products = np.outer(rates, rates)
    chances = products
    if concentration < np.inf:
        chances = np.triu(draws.beta(concentration * products, concentration * (1.0 - products)), 1)
        chances += chances.T
    one, other = np.array([draws.permutation(300).reshape(2, 150) for _ in range(120)]).swapaxes(
        0, 1
    )
    played = draws.random(one.shape) < chances[one, other]
    return pl.DataFrame(
        {"player_a": one.ravel(), "player_b": other.ravel(), "played": played.ravel()}
    )


def show_alarms():
    """Print in how many histories checks raise alarms."""
    print("\n| k | deviation | alarm of couples | any alarm | deviation found, mean |")
    print("| ---: | ---: | ---: | ---: | ---: |", flush=True)
    for concentration in (np.inf, 100.0, 50.0, 30.0, 20.0, 10.0):
        couples, any_alarm, found = 0, 0, []
        for seed in range(HISTORIES):
            checks = assess(history(concentration, seed)).checks
            (check,) = (each for each in checks if each.name == "couples")
            couples, any_alarm = couples + check.alarm, any_alarm + any(x.alarm for x in checks)
            found.append(check.deviation)
        m = np.outer(*np.random.default_rng(0).beta(2, 3, (2, 1_000)))
        true = np.sqrt(np.mean(m * (1.0 - m)) / (concentration + 1.0))
        print(
            f"| {concentration:g} | {100 * true:.1f} | {couples} of {HISTORIES} "
            f"| {any_alarm} of {HISTORIES} | {100 * np.mean(found):.1f} |",
            flush=True,
        )


def main():
    """Print two tables in Markdown."""
    show_intervals()
    show_alarms()


def show_intervals():
    """Print in how many problems intervals cover the truth."""
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
