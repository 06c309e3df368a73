"""How policies learn while players come and go: share of the way to the best matching.

    python -m scripts.figures.churn
    python -m scripts.figures.churn --only "learned prior, evidence kept" "hierarchical, period=4"

In each round all players are coupled and answer by their rates, and some are replaced by players of
whom nothing is known. The share of the way from random pairing to the best matching, over the
second half of the rounds, says how well a policy keeps up.
"""

import argparse
import itertools

import numpy as np

from pairup import HierarchicalThompson, RankOneThompson

DISTRIBUTIONS = {"beta:2,3": (2.0, 3.0), "beta:8,2": (8.0, 2.0)}
POLICIES = {
    "uniform prior, evidence lost": (RankOneThompson(period=4), False),
    "uniform prior, evidence kept": (RankOneThompson(period=4), True),
    "learned prior, evidence kept": (RankOneThompson(period=4, prior="learned"), True),
    "the same, period=2": (RankOneThompson(period=2, prior="learned"), True),
    "hierarchical, period=4": (HierarchicalThompson(period=4, prior="learned"), True),
}


def main():
    """Print the table."""
    options = _options()
    print("| | " + " | ".join(_columns()) + " |")
    print("|" + " --- |" * (1 + len(_columns())))
    for label, (policy, keeps) in POLICIES.items():
        if options.only and label not in options.only:
            continue
        shares = [
            share_of_the_way(policy, distribution, told, keeps, options)
            for told in (False, True)
            for distribution in DISTRIBUTIONS.values()
        ]
        print(f"| {label} | " + " | ".join(f"{share:.1%}" for share in shares) + " |", flush=True)


def _columns():
    return [
        f"{distribution}, {kind}"
        for kind in ("couples", "answers")
        for distribution in DISTRIBUTIONS
    ]


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--players", type=int, default=200)
    parser.add_argument("--churn", type=float, default=0.01)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--replications", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=POLICIES, help="rows of the table")
    return parser.parse_args()


def share_of_the_way(policy, distribution, told, keeps, options):
    """Share of the way from random pairing to the best matching, over all replications."""
    chosen, random, best = sum(
        _replication(policy, distribution, told, keeps, options, seed)
        for seed in range(options.replications)
    )
    return (chosen - random) / (best - random)


def _replication(policy, distribution, told, keeps, options, seed):
    rng, players = np.random.default_rng(seed), options.players
    learner = policy.learner(range(players), seed)
    rates = dict(enumerate(rng.beta(*distribution, players)))
    names, total = itertools.count(players), np.zeros(3)
    for round in range(options.rounds):
        matching = learner.propose()
        if round >= options.rounds // 2:
            total += _expected_games(rates, matching)
        accepted = {player: bool(rng.random() < rates[player]) for player in rates}
        if told:
            learner.observe(matching, accepted=accepted)
        else:
            learner.observe(matching, [accepted[i] and accepted[j] for i, j in matching])
        for player in [player for player in rates if rng.random() < options.churn]:
            del rates[player]
            learner.leave(player, rate="estimated" if keeps else None)
            newcomer = next(names)
            rates[newcomer] = rng.beta(*distribution)
            learner.join(newcomer)
    return total


def _expected_games(rates, matching):
    """Games of the matching, of random pairing and of the best matching, by the true rates."""
    values = np.array(sorted(rates.values()))
    chosen = sum(rates[i] * rates[j] for i, j in matching)
    random = (values.sum() ** 2 - (values**2).sum()) / (len(values) - 1) / 2
    return np.array([chosen, random, (values[0::2] * values[1::2]).sum()])


if __name__ == "__main__":
    main()
