"""What live policies gain where couples are not quite products: share of the way to the best.

    python -m scripts.figures.noisy_pools

Players wait in every round, and the log odds of each couple are those of the product of its
players' rates plus normal noise. The share of the way from random pairing to the best matching is
that over the second half of the rounds. With more than 64 players `HierarchicalThompson` seeks the
best matching among candidates; "all couples" is the same policy with a look at all of them. Beside
it, what candidates lose in a single matching by the means of that policy at the end, as a share of
the best.
"""

import argparse
from unittest.mock import patch

import numpy as np

from pairup import HierarchicalThompson, RankOneThompson, best_matching
from pairup.policies.hierarchical import sparse_steps
from pairup.policies.hierarchical.steps import MEANS
from pairup.policies.rank_one import rank_one_thompson

ALL = 10_000  # players up to which all couples are looked at
POLICIES = {
    "Rank one": (RankOneThompson(period=4, prior="learned"), 64),
    "Hierarchical": (HierarchicalThompson(period=4, prior="learned"), 64),
    "Hierarchical, all couples": (HierarchicalThompson(period=4, prior="learned"), ALL),
}


def main():
    """Print the table."""
    options = _options()
    print("| players | noise | " + " | ".join(POLICIES) + " | lost by candidates |")
    print("|" + " --- |" * (3 + len(POLICIES)))
    for players in options.players:
        for noise in options.noise:
            shares, lost = [], []
            for policy, most in POLICIES.values():
                found = np.zeros(3)
                for seed in range(options.replications):
                    learner, more = _replication(policy, most, players, noise, seed, options)
                    found += more
                    if isinstance(policy, HierarchicalThompson) and players > most:
                        lost.append(_lost(learner, players))
                chosen, random, best = found
                shares.append(f"{(chosen - random) / (best - random):.1%}")
            loss = f"{np.mean(lost):.2%}" if lost else "nothing"
            print(f"| {players} | {noise} | " + " | ".join([*shares, loss]) + " |", flush=True)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--players", type=int, nargs="+", default=[16, 66, 120])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.2, 0.8])
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--replications", type=int, default=3)
    return parser.parse_args()


def _replication(policy, most, players, noise, seed, options):
    """Play, and return the learner, and games chosen, at random and at best in the second half."""
    random = np.random.default_rng([seed, players])
    rates = random.beta(2, 3, players)
    products = np.clip(np.outer(rates, rates), 1e-9, 1 - 1e-9)
    draws = np.triu(random.normal(0, noise, products.shape), 1)
    odds = products / (1 - products) * np.exp(draws + draws.T)
    chances = odds / (1 + odds)
    np.fill_diagonal(chances, 0.0)
    best = sum(chances[i, j] for i, j in best_matching(chances))
    total, mean = np.zeros(3), chances.sum() / (players - 1) / 2
    with patch.object(rank_one_thompson, "_MAX_DENSE", most):
        learner = policy.learner(range(players), seed)
        for round in range(options.rounds):
            matching = learner.propose()
            expected = [chances[i, j] for i, j in matching]
            learner.observe(matching, (random.random(len(expected)) < expected).tolist())
            if round >= options.rounds // 2:
                total += (sum(expected), mean, best)
    return learner, total


def _lost(learner, players):
    """Share of the best matching's value, by the learner's means, that its candidates lose."""
    leader, state = learner.leader, learner._running.state
    one, other = np.triu_indices(players, 1)
    values = np.zeros((players, players))
    sparse_steps.write_rates(state, MEANS)
    for i, j in zip(one.astype(np.uint32), other.astype(np.uint32), strict=True):
        games, missed = sparse_steps.outcomes_of(state, i, j)
        values[i, j] = values[j, i] = sparse_steps.mean_of_couple(state, i, j, games, missed)
    best = sum(values[i, j] for i, j in best_matching(values))
    return 1.0 - sum(values[i, j] for i, j in leader) / best


if __name__ == "__main__":
    main()
