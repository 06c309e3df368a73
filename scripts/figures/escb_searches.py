"""What the three searches of ESCB lose, and what a round of each takes.

    python -m scripts.figures.escb_searches

Plays ESCB with its exact, its approximate and its budgeted search (AESCB) on one side and on two.
On two sides pairup has no exact search: here all matchings are looked at, in NumPy. Prints a table
of the mean regret with its standard error, and nanoseconds per round. Some minutes.
"""

import argparse
import itertools
import math

import numpy as np

from pairup import ESCB, Problem, compare
from pairup.experiments import measure_timings

TWO_SIDES = Problem.two_sided([0.9, 0.8, 0.6, 0.4], [1.0, 0.7, 0.4]).renamed("two sides, 4 and 3")
PROBLEMS = (  # with the numbers of rounds and of replications
    (Problem.from_zero(4, 0.1), 100_000, 8),
    (Problem.from_zero(10, 0.1), 20_000, 4),
    (TWO_SIDES, 20_000, 8),
)
SEARCHES = ("exact", "approximate", "budgeted")
MAX_ENUMERATED = 8  # players; beyond, and on two sides, "exact" is the approximate search


def exact_on_two_sides(problem, rounds, replications):
    """Return the regret of each replication when the best index is found by enumeration."""
    rows, columns = problem.sides
    chances = np.outer(problem.rates[:rows], problem.rates[rows:])
    matchings = list(itertools.permutations(range(rows), columns))
    has = np.zeros((len(matchings), *chances.shape))
    for place, matching in enumerate(matchings):
        has[place, matching, range(columns)] = 1
    has, chances = has.reshape(len(matchings), -1), chances.ravel()
    losses = (has @ chances).max() - has @ chances
    return np.array(
        [_play(has, chances, losses, rounds, np.random.default_rng(n)) for n in range(replications)]
    )


def _play(has, chances, losses, rounds, rng):
    """Return the regret of one replication; couples that were never tried come first."""
    tries, games, lost = np.zeros(len(chances)), np.zeros(len(chances)), 0.0
    luck = rng.random(len(chances)) * 2**-30
    for t in range(1, rounds + 1):
        index = has @ (tries == 0.0)
        if index.max() == 0.0:
            index = has @ (games / tries + luck) + np.sqrt(math.log(t) / 2 * (has @ (1 / tries)))
        best = int(index.argmax())
        couples = has[best] == 1
        tries += couples
        games += couples & (rng.random(len(chances)) < chances)
        lost += losses[best]
    return lost


def rows_of(problem, rounds, replications):
    """Yield what each search is called, its regrets, and nanoseconds per round."""
    searches = SEARCHES
    if problem.sides is not None or problem.players > MAX_ENUMERATED:
        searches = SEARCHES[1:]
    if problem.sides is not None:
        yield "exact, by enumeration", exact_on_two_sides(problem, rounds, replications), None
    policies = {search: ESCB(search) for search in searches}
    results = compare(problem, policies, rounds, replications=replications)
    timings = measure_timings(results.experiment)
    final = results.frame.filter(round=rounds)
    for search in searches:
        regrets = final.filter(policy=search)["regret"].to_numpy()
        yield search, regrets, timings[problem.name, search].nanoseconds


def mean_text(regrets):
    """Return the mean with its standard error."""
    return f"{regrets.mean():,.0f} ± {regrets.std(ddof=1) / math.sqrt(len(regrets)):,.0f}"


def main():
    """Play and print."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("| problem | rounds | search | regret | ns per round |")
    print("| --- | ---: | --- | ---: | ---: |")
    for problem, rounds, replications in PROBLEMS:
        for search, regrets, nanoseconds in rows_of(problem, rounds, replications):
            took = "" if nanoseconds is None else f"{nanoseconds:,.0f}"
            print(f"| {problem.name} | {rounds:,} | {search} | {mean_text(regrets)} | {took} |")


if __name__ == "__main__":
    main()
