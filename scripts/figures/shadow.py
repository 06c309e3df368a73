"""How often the gain of a pool in shadow covers the truth, and how wide its interval is.

    python -m scripts.figures.shadow [--seeds 100] [--players 300] [--rounds 120]

Pools in shadow observe another matchmaker, which pairs players at random, or neighbours in the
order of their rates with much noise. In each round all players meet; `churn` of them leave
afterwards and are replaced. The truth is the mean, over the rounds that are compared, of the games
expected by the true rates of what the pool would have proposed, less those of the matching
observed, per game. Prints a line for each case.
"""

import argparse
from typing import NamedTuple

import numpy as np

from pairup.service.domain import events
from pairup.service.domain.events import Recorded
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool

SHAPES = ((2, 3), (8, 2), (5, 2))
SECOND = 1_000_000


class Case(NamedTuple):
    """A kind of pool."""

    shape: tuple[int, int]  # of the Beta distribution of the rates
    sorts: bool = False  # whether the matchmaker pairs neighbours, otherwise at random
    told: bool = False  # whether answers are told
    churn: float = 0.0  # share of the players replaced after each round


CASES = [Case(shape, *more) for shape in SHAPES for more in ((), (False, True), (True,))]
CASES += [Case(shape, False, False, 0.01) for shape in SHAPES]


def main():
    """Observe the pools of all cases, and print how often the interval covers the truth."""
    options = _options()
    for case in CASES:
        rows = [
            observe(case, seed, options.players, options.rounds) for seed in range(options.seeds)
        ]
        estimate, low, high, truth = np.array(rows).T
        covered, bias = np.mean((low <= truth) & (truth <= high)), np.mean(estimate - truth)
        print(
            f"{case}: covers {covered:.0%}, truth {truth.mean():+.4f}, bias {bias:+.4f}, "
            f"width {np.mean(high - low):.4f}",
            flush=True,
        )


def _options():
    parser = argparse.ArgumentParser(prog="python -m scripts.figures.shadow")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--players", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=120)
    return parser.parse_args()


def observe(case, seed, players, rounds):
    """Observe some rounds in a pool; returns the gain with its interval, and the true gain."""
    chance, pool = np.random.default_rng(seed), Pool(1)
    rules, version = Rules(mode="shadow", seed=seed).stored(), {"package": "", "code": ""}
    record(pool, events.Created("chess", rules, version))
    record(pool, events.Joined(list(range(1, players + 1)), "away"))
    rates = dict(zip(list(pool.players), chance.beta(*case.shape, players), strict=True))
    truths, games = [], players // 2
    for _ in range(rounds):
        couples = pair(case, chance, rates)
        suggested = pool.suggest(pool.at, couples)
        would = [game["players"] for game in suggested["games"]]
        truths.append((worth(rates, would) - worth(rates, couples)) / games)
        accepted = [[bool(chance.random() < rates[each]) for each in both] for both in couples]
        played = [one and other for one, other in accepted]
        heard = accepted if case.told else None
        record(pool, events.Observed(couples, played, heard, suggested))
        replace(pool, case, chance, rates)
    found = pool.shadow.compare()
    gain = found.gain
    compared = found.games // games
    return gain["estimate"], gain["low"], gain["high"], np.mean(truths[-compared:])


def record(pool, event):
    """Apply an event, a second after the last one."""
    pool.apply(Recorded.of(pool.seq + 1, pool.at + SECOND, event))


def worth(rates, couples):
    """Return the games expected of some couples by the true rates."""
    return sum(rates[one] * rates[other] for one, other in couples)


def pair(case, chance, rates):
    """Pair all players as the other matchmaker does."""
    players = np.array(list(rates))
    noise = chance.normal(0.0, 0.5, len(players))
    order = players[np.argsort(noise + case.sorts * np.array(list(rates.values())))]
    return order.reshape(-1, 2).tolist()


def replace(pool, case, chance, rates):
    """Replace some players by newcomers."""
    leaving = [each for each in rates if chance.random() < case.churn]
    if leaving:
        record(pool, events.Left(leaving, True, pool.rates(leaving)))
        joining = [pool.players.last + 1 + x for x in range(len(leaving))]
        record(pool, events.Joined(joining, "away"))
        for gone, new in zip(leaving, joining, strict=True):
            del rates[gone]
            rates[new] = chance.beta(*case.shape)


if __name__ == "__main__":
    main()
