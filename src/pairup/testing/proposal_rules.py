"""Rules about proposals: full matchings, the same live and simulated, in bounded memory.

Compiled steps do not check indices: beyond an array they would overwrite other memory.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
import random
from typing import Any

import numpy as np

from pairup.compiled.third_party import checked_bounds
from pairup.matching import Matching
from pairup.problem import Problem
from pairup.simulation.replication import new_replication
from pairup.simulation.simulate import simulate
from pairup.testing.expectation import expect, expect_equal, expect_full
from pairup.testing.playing import RoundByRound, outcomes, play, served, size
from pairup.testing.variants import Variant

_MAX_STATE_BYTES = 1 << 16  # of a few players
_MAX_SAVED_BYTES = 1 << 13
_ROUNDS = 40  # of a policy in plain Python
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
_EXTREMES_OF_SIDES: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] = (
    ((0,), (1,)),
    ((0, 0, 0), (1, 1)),
    ((1, 1, 1), (1, 1, 1)),
    ((1, 0, 1), (1, 0)),
    ((0.5, 0.5), (0.5, 0.5, 0.5)),
    ((1e-300, 1 - 2**-53, 0.5), (5e-324, 1)),
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
        compiled, regrets, games = RoundByRound(policy, problem, seed=5), [], []
        for matching, regret, played in live:
            expect_equal(list(matching), compiled.play(1)[0], f"matching of {players} players")
            totals = compiled.totals.regret[0], compiled.totals.games[0]
            expect_equal((regret, played), totals, "regret and games")
            regrets.append(regret)
            games.append(played)
        run = simulate(problem, policy, len(rounds), 1, seed=5, checkpoints=[t + 1 for t in rounds])
        expect_equal(run.regret[0].tolist(), regrets, "regret of the simulation")
        expect_equal(run.games[0].tolist(), games, "games of the simulation")


def repeats_bit_for_bit(variant: Variant) -> None:
    """The same seed gives the same numbers, bit for bit, and another seed others."""
    problem = variant.problem(7)
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
    problems = [Problem(rates) for rates in _EXTREMES]
    if variant.policy_class.needs_sides:
        problems = [Problem.two_sided(*sides) for sides in _EXTREMES_OF_SIDES]
    for problem in problems:
        run = simulate(problem, variant.policy(problem.rates), 400, 2, checkpoints=range(1, 401))
        expect(np.all(np.diff(run.regret, axis=1) >= 0), f"regret falls, in {problem}")
        most = problem.best_games * run.rounds * (1 + 1e-9)
        expect(np.all(run.regret <= most), f"regret exceeds the best games, in {problem}")
        chances = set(problem.couple_rates[_who_may_meet(problem)].tolist())
        if len(chances) == 1:
            expect(np.all(run.regret == 0), f"regret where none is possible, in {problem}")
        if chances == {1}:
            expect(np.all(run.games == problem.pairs * run.rounds), "games are missing")
        if chances == {0}:
            expect(np.all(run.games == 0), "games are played by players who never accept")


def _who_may_meet(problem: Problem) -> tuple[Any, ...]:
    graph = problem.graph
    return np.triu_indices(problem.players, 1) if graph is None else (graph.low, graph.high)


def keeps_a_state_of_bounded_size(variant: Variant) -> None:
    """The state does not grow with the rounds."""
    problem, sizes = variant.problem(9), []
    rates = new_replication(problem, 0, 0).rates
    playing = RoundByRound(variant.policy(rates), problem)
    for rounds in (500, 20_000):
        playing.play_to(rounds)
        sizes.append(size(playing.state))
    early, late = sizes
    expect(late <= 2 * early, f"the state grew from {early:,} to {late:,} bytes")
    expect(late < _MAX_STATE_BYTES, f"the state of nine players takes {late:,} bytes")


def saves_in_bounded_size(variant: Variant) -> None:
    """What is saved does not grow with the rounds."""
    replication, pick = new_replication(Problem(np.linspace(0.1, 0.9, 9)), 0, 0), random.Random(0)
    learner, sizes = variant.policy(replication.rates).learner(range(9)), []
    for t in range(1_600):
        available = pick.sample(range(9), pick.randint(2, 9)) if t % 2 else None
        matching = learner.propose(available)
        learner.observe(matching, outcomes(replication, t, matching))
        sizes.append(len(learner.to_bytes()) if t % 400 == 399 else 0)
    early, late = sizes[399], sizes[1_599]
    expect(late <= 1.2 * early, f"what is saved grew from {early:,} to {late:,} bytes")
    expect(max(sizes) < _MAX_SAVED_BYTES, f"nine players are saved in {max(sizes):,} bytes")


def bounds_outcomes_that_never_come(variant: Variant) -> None:
    """Outcomes that never come are counted by couple, so that their record is bounded."""
    learner = variant.learner(range(7))
    for _ in range(300):
        learner.propose()
    expect(len(learner.pending) <= 7 * 6 // 2, "more couples are pending than there are")
    expect_equal(sum(learner.pending.values()), 300 * 3, "pending outcomes")


def stays_within_its_arrays(variant: Variant) -> None:
    """Steps read and write within their arrays."""
    with checked_bounds():
        for players in (2, 5, 8):
            learner, step = variant.learner(range(players)), "set_available or propose"
            try:
                for round in range(20):
                    step = "set_available or propose"
                    matching = learner.propose(range(players - round % 2))
                    step = "observe"
                    learner.observe(matching, [round % 3 == 0] * len(matching))
            except IndexError:
                expect(False, f"the step {step} goes beyond an array, with {players} players")


def plays_in_simulations(variant: Variant) -> None:
    """It proposes full matchings of any number of players, and the same ones for the same seed."""
    for players in (*range(2, 10), 16):
        problem = Problem.random(players, seed=players)
        policy = variant.policy(problem.rates)
        first, again = (simulate(problem, policy, _ROUNDS, 2).regret.tolist() for _ in range(2))
        expect_equal(again, first, f"regret of {players} players, played again")


RULES = (
    is_a_frozen_set_of_options,
    proposes_full_matchings,
    takes_all_players_by_default,
    begins_with_nobody_or_one,
    serves_what_it_simulates,
    repeats_bit_for_bit,
    draws_at_random_if_it_says_so,
    holds_at_the_extremes,
    keeps_a_state_of_bounded_size,
    saves_in_bounded_size,
    bounds_outcomes_that_never_come,
)
