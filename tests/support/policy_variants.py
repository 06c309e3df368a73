"""Every registered policy with every choice of its options, and two ways to let it play.

`served` and `simulated` give the same numbers round by round: one from a live learner, one from
the compiled loop.
"""

import dataclasses
import itertools
import typing
from dataclasses import dataclass

import numpy as np

from pairup import get_policy, policy_names
from pairup.kernels.runtime.dispatch import FULL, set_available_step
from pairup.kernels.runtime.randomness import POLICY, stream_key
from pairup.kernels.simulation_loop import accept, new_totals, play_rounds
from pairup.policies.base import StartContext

# What policies may need to be told, from the rates of the players in their order.
KNOWLEDGE = {"horizon": lambda rates: 1_000, "rates": tuple}


@dataclass(frozen=True)
class Variant:
    """A registered policy and a choice of its options."""

    name: str
    options: tuple[tuple[str, str], ...]

    def policy(self, rates):
        """Make the policy, told what it must know of players with these rates."""
        policy = get_policy(self.name, **dict(self.options))
        return dataclasses.replace(
            policy, **{what: KNOWLEDGE[what](rates) for what in policy.needs()}
        )

    def learner(self, players, seed=0):
        """Start it live; where it must know rates, the players given first accept most."""
        players = list(players)
        return self.policy(np.linspace(0.9, 0.1, len(players))).learner(players, seed)

    def __str__(self):
        return "-".join([self.name, *(value for _, value in self.options)])


def variants():
    """List every registered policy with every combination of its `Literal` options."""
    found = []
    for name in policy_names():
        hints = typing.get_type_hints(type(get_policy(name)))
        choices = {
            option: typing.get_args(hint)
            for option, hint in hints.items()
            if typing.get_origin(hint) is typing.Literal
        }
        for values in itertools.product(*choices.values()):
            found.append(Variant(name, tuple(zip(choices, values, strict=True))))
    return found


def outcomes(replication, round, matching):
    """Say which couples of a matching play in a round of a replication; players are its labels."""
    accepted = np.zeros(len(replication.rates), np.bool_)
    accept(replication, round, accepted)
    return [bool(accepted[i] and accepted[j]) for i, j in matching]


def served(learner, replication, rounds):
    """Yield matching, regret and games so far after each round of a live learner."""
    regret, games = 0.0, 0
    for t in rounds:
        matching = learner.propose()
        played = outcomes(replication, t, matching)
        learner.observe(matching, played)
        gap = float(replication.best_games[0])
        expected = 0.0
        for i, j in matching:
            expected += float(replication.rates[i] * replication.rates[j])
        gap -= expected
        regret += gap if gap > 1e-12 else 0.0
        games += sum(played)
        yield matching, regret, games


def started(policy, players, seed=0):
    """Make the state of a policy that meets `players` players."""
    state = policy.start(StartContext(players, np.uint64(stream_key(seed, 0, POLICY))))
    present = np.arange(players)
    policy.set_present(state, present)
    set_available_step(state, present)
    return state


def simulated(policy, replication, rounds, seed=0):
    """Yield couples, regret, games and state after each of `rounds` of the compiled loop."""
    players = len(replication.rates)
    state, totals = started(policy, players, seed), new_totals(players)
    for t in rounds:
        while play_rounds(state, replication, totals, t + 1) == FULL:
            state = policy.grow(state)
        couples = [tuple(couple) for couple in totals.couples.tolist()]
        yield couples, float(totals.regret[0]), int(totals.games[0]), state


def size(state):
    """Count the bytes of all arrays of a state."""
    return sum(size(part) for part in state) if isinstance(state, tuple) else state.nbytes
