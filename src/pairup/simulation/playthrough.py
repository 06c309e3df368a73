"""A policy plays a replication of a problem from its first round on."""

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.matchings.graph_matcher import count_rows, new_graph_matcher
from pairup.compiled.matchings.random_pairing import new_random_pairing
from pairup.compiled.proposal_check import REFUSED, explain_broken_rule
from pairup.compiled.randomness import POLICY, stream_key
from pairup.compiled.simulation_loop import Replication, new_totals, play_rounds
from pairup.compiled.steps import OK, set_available_step
from pairup.compiled.third_party import for_state
from pairup.errors import PolicyError, SimulationError
from pairup.policies.contract import Interruptions, Policy, StartContext, check_fit
from pairup.problem import Problem
from pairup.problem.meeting_graph import MeetingGraph
from pairup.simulation.replication import Ground, new_replication, replicated_ground

_SLICE = 1_000_000  # players' turns between two looks at whether to stop: a hundredth of a second

Measurements = tuple[NDArray[np.float64], NDArray[np.int64]]  # regret and games, as in `Run`
ShowShare = Callable[[float], None]  # takes the share done, in [0, 1]


class Playthrough:
    """Replication `number` of a policy on a problem, played as far as asked.

    The arguments are those of `simulate`; `rounds` is the policy's horizon. `totals`
    has the rounds and games played so far, and their regret, `state` what the policy knows.

    Examples
    --------
    >>> from pairup import Problem, Uniform
    >>> playthrough = Playthrough(Problem([1, 1, 1]), Uniform(), rounds=10, seed=0, number=0)
    >>> playthrough.play_to(5)
    >>> int(playthrough.totals.games[0])
    5
    """

    def __init__(
        self, problem: Problem, policy: Policy, rounds: int, seed: int, number: int
    ) -> None:
        players = problem.players
        check_fit(policy, problem)
        self.totals = new_totals(players)
        self._policy, self._starts, self._piece = policy, problem.starts, 0
        self._replications = [new_replication(piece, seed, number) for piece in problem.pieces]
        self._ground = replicated_ground(problem, seed, number)
        self._slice = max(_SLICE // players, 1)
        self._key, self._horizon = np.uint64(stream_key(seed, number, POLICY)), rounds
        self.state, self._interruptions = self._start(), Interruptions(policy)
        # Our own steps, which may let players wait, are checked by their tests; those of others in
        # every round.
        self._checks = () if is_ours(type(self.state)) else (True,)
        self._random = -1, np.zeros(0)  # a piece, and what random pairing gives in it

    def _start(self) -> Any:
        """Make the policy's state, told the rates of the moment (which only an oracle reads)."""
        replication, players = self._replications[self._piece], len(self.totals.accepted)
        state = start_state(self._policy, self._horizon, self._key, replication, self._ground)
        for_state(set_available_step, state)(state, np.arange(players))
        return state

    def play_to(self, round: int, stop: threading.Event | None = None) -> None:
        """Play on to a round; an event that is set stops it within a hundredth of a second."""
        totals = self.totals
        loop = for_state(play_rounds, self.state)
        while totals.round[0] < round:
            if stop is not None and stop.is_set():
                raise SimulationError("the simulation was stopped before its last round")
            until = min(round, totals.round[0] + self._slice, self._next_change())
            replication = self._replications[self._piece]
            status = loop(self.state, replication, totals, until, *self._checks)
            if Interruptions.is_one(status):
                played = int(totals.round[0])
                self.state = self._interruptions.resolved(self.state, status, played)
            elif status != OK:
                self._refuse(status)

    def last_chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how likely each player was to play in the last round, and under random pairing.

        Players are in the order of the replication, which shuffles their labels.
        """
        replication, couples = self._replications[self._piece], self.totals.couples
        couples = couples[: count_rows(couples)]
        chances = np.zeros(len(self.totals.accepted))
        chances[couples] = _play_probabilities(replication, *couples.T)[:, None]
        return chances, self._random_chances()

    def _random_chances(self) -> NDArray[np.float64]:
        """Return how likely each player is to play under random pairing now."""
        if self._random[0] != self._piece:
            replication = self._replications[self._piece]
            self._random = self._piece, _random_chances(replication, self._ground)
        return self._random[1]

    def _refuse(self, status: int) -> None:
        """Raise an error that names the rule that the proposal of this round broke."""
        couples, players = self.totals.couples, np.arange(len(self.totals.accepted))
        broken = explain_broken_rule(OK if status == REFUSED else status, couples, players)
        round = self.totals.round[0] + 1
        raise PolicyError(f"{self._policy.name} broke a rule in round {round}: {broken}")

    def _next_change(self) -> int:
        """Enter the piece that is played now; returns the round in which the next one starts."""
        following = self._piece + 1
        if following == len(self._starts):
            return sys.maxsize
        if self.totals.round[0] < self._starts[following]:
            return self._starts[following]
        self._piece = following
        if self._policy.is_told_rates:
            self.state = self._start()
        return self._next_change()


def _random_chances(replication: Replication, ground: Ground) -> NDArray[np.float64]:
    columns, graph = ground
    players = len(replication.rates) or len(replication.couple_rates)
    if columns is not None:
        graph = MeetingGraph.between_sides(columns)
    if graph is not None:
        chances = _play_probabilities(replication, graph.low, graph.high)
        games: NDArray[np.float64] = new_random_pairing(
            players, graph.low, graph.high, chances
        ).games
        return games
    slots = np.arange(players)
    table = _play_probabilities(replication, slots[:, None], slots[None, :])
    matched = players // 2 * 2 / players
    return matched * (table.sum(axis=1) - table.diagonal()) / max(players - 1, 1)


def _play_probabilities(
    replication: Replication, one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    if len(replication.couple_rates):
        return replication.couple_rates[one, other]
    return replication.rates[one] * replication.rates[other]


def start_state(
    policy: Policy,
    horizon: int,
    key: np.uint64,
    replication: Replication,
    ground: Ground,
) -> Any:
    """Make a policy's state, of which nobody is available yet, where a replication is played."""
    columns, graph = ground
    rates, couple_rates = (
        each if len(each) else None for each in (replication.rates, replication.couple_rates)
    )
    players = len(replication.rates) or len(replication.couple_rates)
    order = _column_order(replication, columns) if policy.is_told_column_order else None
    context = StartContext(players, key, horizon, rates, couple_rates, columns, order)
    state = policy.start(context)
    policy.set_present(state, np.arange(players))
    if graph is not None:
        return policy.on_graph(state, new_graph_matcher(*graph.compiled()), context)
    return state if columns is None else policy.on_sides(state, context)


def _column_order(
    replication: Replication, columns: NDArray[np.bool_] | None
) -> NDArray[np.int64] | None:
    """Return the columns from the best rate of the moment to the worst; None on one side."""
    if columns is None:
        return None
    slots = np.flatnonzero(columns)
    return slots[np.argsort(-replication.rates[slots], kind="stable")]


def play_replications(
    problem: Problem,
    policy: Policy,
    rounds: int,
    replications: Sequence[int],
    seed: int,
    checkpoints: Sequence[int],
    stop: threading.Event | None = None,
) -> Measurements:
    """Play replications one after the other, in this thread; returns regret and games as in `Run`.

    The arguments are those of `simulate`, and all of them but `stop` can travel to another process.
    When `stop` is set, the call ends within a hundredth of a second with a `SimulationError`.
    """
    shape = len(replications), len(checkpoints)
    regret, games = np.zeros(shape), np.zeros(shape, np.int64)
    for row, number in enumerate(replications):
        playthrough = Playthrough(problem, policy, rounds, seed, number)
        for column, checkpoint in enumerate(checkpoints):
            playthrough.play_to(checkpoint, stop)
            regret[row, column] = playthrough.totals.regret[0]
            games[row, column] = playthrough.totals.games[0]
    return regret, games
