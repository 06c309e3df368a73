"""A slow, obvious twin of the loop, in plain Python.

Label i of n accepts in round t (from 0) when the upper 53 bits of `word(key, t * n + i)` lie below
rate * 2**53. Where couples have rates of their own, labels i < j play when those of
`word(key, (t * n + i) * n + j)` do.
"""

from tests.support.twins.oracle import Oracle
from tests.support.twins.streams import word


def accepts(key, rates, round):
    """Who accepts in a round, by label."""
    n = len(rates)
    return [word(key, round * n + i) >> 11 < rate * 2**53 for i, rate in enumerate(rates)]


def plays(key, couple_rates, round, couple):
    """Whether a couple with a rate of its own plays in a round."""
    n, (i, j) = len(couple_rates), sorted(couple)
    return word(key, (round * n + i) * n + j) >> 11 < couple_rates[i][j] * 2**53


def play_rounds(policy, rates, key, rounds):
    """Regret and games after `rounds` rounds, and the matchings, of players with these rates."""
    best = sum(rates[i] * rates[j] for i, j in Oracle(rates).propose())
    regret, games, matchings = 0.0, 0, []
    for round in range(rounds):
        matching = policy.propose()
        accepted = accepts(key, rates, round)
        played = [accepted[i] and accepted[j] for i, j in matching]
        policy.observe(matching, played)
        regret += best - sum(rates[i] * rates[j] for i, j in matching)
        games += sum(played)
        matchings.append(matching)
    return regret, games, matchings


def outcomes(key, rates, round, couples, draws):
    """Which couples play in a round: by their players' draws, or all by that of label 0."""
    if draws == "common":
        draw = word(key, round * len(rates)) >> 11
        return [draw < rates[i] * rates[j] * 2**53 for i, j in couples]
    accepted = accepts(key, rates, round)
    return [accepted[i] and accepted[j] for i, j in couples]
