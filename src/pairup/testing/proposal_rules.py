"""Rules about proposals: full matchings, the same live and simulated, bit for bit."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np

from pairup.matching import Matching
from pairup.problem import Problem
from pairup.simulation.replication import new_replication
from pairup.simulation.simulate import simulate
from pairup.testing.expectation import expect, expect_equal, expect_full
from pairup.testing.playing import play, served, simulated
from pairup.testing.variants import Variant

_EXTREMES: tuple[tuple[float, ...], ...] = (
    (0, 0),
    (1, 1),
    (0, 1),
    (0, 0, 0),
    (1, 0, 1),
    (0,) * 6,
    (1,) * 6,
    (0.5,) * 7,
    (1, 1, 0, 0),
    (1, 0, 1, 0, 1),
    (1e-300, 1 - 2**-53, 0.5, 5e-324),
)


def is_a_frozen_set_of_options(variant: Variant) -> None:
    """A policy is a frozen set of options: hashable, copied and pickled as an equal."""
    policy = variant.policy([0.5, 0.25])
    expect_equal(type(policy)(**policy.options), policy, "a policy with the same options")
    expect_equal(hash(variant.policy([0.5, 0.25])), hash(policy), "hash of an equal policy")
    for twin in (pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy)):
        expect_equal(twin, policy, "a copy")
    for option in policy.options:
        try:
            setattr(policy, option, None)
        except dataclasses.FrozenInstanceError:
            continue
        expect(False, f"the option {option} can be set: write @dataclass(frozen=True)")


def proposes_full_matchings(variant: Variant) -> None:
    """Each proposal couples all players, except one if their number is odd."""
    for players in range(2, 14):
        for matching in play(variant.learner(range(players)), 60):
            expect_full(matching, range(players))


def takes_all_players_by_default(variant: Variant) -> None:
    """If nobody is named as available, all are, in any order."""
    learner, twin = variant.learner(range(6)), variant.learner(range(6))
    for _ in range(30):
        expect_equal(play(learner, 1, available=[5, 3, 4, 0, 1, 2]), play(twin, 1), "matching")
    expect_equal(learner.to_bytes(), twin.to_bytes(), "what is saved")


def begins_with_nobody_or_one(variant: Variant) -> None:
    """With no player or one there is nothing to couple, and the next player can join."""
    learner = variant.learner([])
    expect_equal(learner.propose(), Matching(()), "matching of nobody")
    learner.join("a")
    expect_equal(learner.propose(), Matching((), ["a"]), "matching of one")
    learner.join("b")
    expect_equal(learner.propose(), Matching([("a", "b")]), "matching of two")


def serves_what_it_simulates(variant: Variant) -> None:
    """A live learner proposes, round by round, what the simulation proposes."""
    for players in (2, 3, 4, 7, 8, 13):
        problem, rounds = Problem.random(players, seed=players), range(300)
        replication = new_replication(problem, 5, 0)
        policy = variant.policy(replication.rates)
        live = served(policy.learner(range(players), seed=5), replication, rounds)
        regrets, games = [], []
        compiled = simulated(policy, replication, rounds, seed=5)
        for ours, theirs in zip(live, compiled, strict=True):
            expect_equal(list(ours[0]), theirs[0], f"matching of {players} players")
            expect_equal(ours[1:], theirs[1:3], "regret and games")
            regrets.append(ours[1])
            games.append(ours[2])
        run = simulate(problem, policy, len(rounds), 1, seed=5, checkpoints=[t + 1 for t in rounds])
        expect_equal(run.regret[0].tolist(), regrets, "regret of the simulation")
        expect_equal(run.games[0].tolist(), games, "games of the simulation")


def repeats_bit_for_bit(variant: Variant) -> None:
    """The same seed gives the same numbers, bit for bit."""
    problem = Problem.random(7, seed=3)
    first, again, other = (
        simulate(problem, variant.policy(problem.rates), 500, 3, seed) for seed in (1, 1, 2)
    )
    expect(np.array_equal(first.regret, again.regret), "regrets of equal seeds differ")
    expect(np.array_equal(first.games, again.games), "games of equal seeds differ")
    expect(not np.array_equal(first.games, other.games), "games of different seeds are the same")


def draws_at_random_if_it_says_so(variant: Variant) -> None:
    """Another seed changes the proposals if and only if the policy says `draws_at_random`."""
    first, again, other = (play(variant.learner(range(10), seed), 5) for seed in (1, 1, 2))
    expect_equal(again, first, "matchings of the same seed")
    draws, said = first != other, variant.policy_class.draws_at_random
    expect_equal(draws, said, "proposals that depend on the seed, with draws_at_random")


def holds_at_the_extremes(variant: Variant) -> None:
    """With rates of 0 and 1, equal rates and tiny ones, the regret stays in its possible range."""
    for rates in _EXTREMES:
        problem = Problem(rates)
        run = simulate(problem, variant.policy(rates), 400, 2, checkpoints=range(1, 401))
        expect(np.all(np.diff(run.regret, axis=1) >= 0), f"regret falls, with rates {rates}")
        most = problem.best_games * run.rounds * (1 + 1e-9)
        expect(np.all(run.regret <= most), f"regret exceeds the best games, with rates {rates}")
        if len(set(rates)) == 1 or len(rates) == 2:
            expect(np.all(run.regret == 0), f"regret where none is possible, with rates {rates}")
        if set(rates) == {1}:
            expect(np.all(run.games == problem.pairs * run.rounds), "games are missing")
        if set(rates) == {0}:
            expect(np.all(run.games == 0), "games are played by players who never accept")


RULES = (
    is_a_frozen_set_of_options,
    proposes_full_matchings,
    takes_all_players_by_default,
    begins_with_nobody_or_one,
    serves_what_it_simulates,
    repeats_bit_for_bit,
    draws_at_random_if_it_says_so,
    holds_at_the_extremes,
)
