"""Matchings drawn at random: what is reached without any knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pairup.compiled.couples.rows import draw_matching, set_players
from pairup.compiled.matchings.graph_matcher import draw_graph_matching
from pairup.compiled.randomness import word
from pairup.compiled.state_fields import AVAILABLE, OWN, ROUND, Integers, Keys, new_state
from pairup.compiled.steps import OK, learn_nothing, provide
from pairup.matching import chance_of_couple
from pairup.policies.contract import Policy, StartContext
from pairup.policies.registry import register


@register
@dataclass(frozen=True)
class Uniform(Policy):
    """Propose a matching drawn uniformly at random, whatever was played.

    Examples
    --------
    >>> from pairup import Uniform
    >>> Uniform().learner("abcd").propose() == Uniform().learner("abcd").propose()
    True
    """

    name: ClassVar[str] = "uniform"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 10

    def start(self, context: StartContext) -> UniformState:
        return new_state(UniformState, self.sizes(context), key=np.array([context.key]))

    def couple_chance(self, players: int) -> float:
        return chance_of_couple(players)

    def catch_up(self, state: Any, rounds: int) -> UniformState:
        state.counters[ROUND] = max(state.counters[ROUND], rounds)
        return state


class UniformState(NamedTuple):
    """State of `Uniform`: the players available (the first of `players`), and their shuffle."""

    players: np.ndarray = Integers("slots")
    shuffled: np.ndarray = Integers("slots")
    counters: np.ndarray = Integers(OWN, saved=(ROUND,))
    key: np.ndarray = Keys(1)


def _propose(state, couples):
    players = state.players[: state.counters[AVAILABLE]]
    draw_matching(word(state.key[0], state.counters[ROUND]), players, state.shuffled, couples)
    state.counters[ROUND] += 1
    return OK


def _propose_on_graph(state, matcher, couples):
    draw_graph_matching(word(state.key[0], state.counters[ROUND]), matcher, couples)
    state.counters[ROUND] += 1
    return OK


provide(
    UniformState,
    set_available=set_players,
    propose=_propose,
    observe=learn_nothing,
    propose_on_graph=_propose_on_graph,
)
