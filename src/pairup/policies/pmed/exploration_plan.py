"""Exploration plans: which matchings to play until the next plan is made.

Rounds are counted from 1. A plan is made by what is known before round t:

1. Couples that were tried less than sqrt(ln t) times are tried. So the estimates cannot stay wrong
   for want of data, at a cost that vanishes beside ln t.
2. If the information against all rates that could be confused with the estimates is at least ln t,
   the best matching of the estimates is played, until ln t has grown to what is known.
3. Otherwise the exploration is played that completes the information for the least regret, a
   little ahead of time, because a plan for each single round would be slow. The leader is played
   as often meanwhile: the limit takes for granted that the products of its couples are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.bounds.exploration import MissingExploration
from pairup.bounds.places import Places, best_matching_of_sides
from pairup.matching import Matching
from pairup.problem.rates import Floats

_AHEAD = 1.25  # rounds for which information is completed, as a multiple of those so far
_TRUSTED = 2.0  # rounds after which a leader is looked at again, likewise
_SHARE = 0.02  # plays of a matching in a plan at most, as a share of all explorations before
_FEW = 8  # ... or this many
_MIN_DISTANCE = 1e-5  # between the log-rates of successive couples, for programs to be solved


class Plan(NamedTuple):
    """The best matching by the estimates, others with how often to play them, and a last round."""

    leader: Matching
    exploration: list[tuple[Matching, int]]
    last_round: int  # in which the leader may be played; 0 if others are explored


def make_plan(
    rates: Floats,
    tries: NDArray[np.int64],
    round: int,
    columns: NDArray[np.bool_] | None = None,
    in_haste: bool = False,
) -> Plan:
    """Plan the rounds from `round` on.

    Parameters
    ----------
    rates
        Estimated rate of each player.
    tries
        How often each couple was proposed, in a row and a column for each player; symmetric.
    round
        Number of the round to come, from 1 on.
    columns
        Which players are on the second side; all are on one side by default.
    in_haste
        Whether to solve no programs, and to trust the leader for this round.

    Examples
    --------
    >>> tries = np.full((4, 4), 50) - np.diag([50] * 4)
    >>> plan = make_plan(np.array([0.9, 0.8, 0.3, 0.2]), tries, round=150)
    >>> plan.leader, plan.exploration, plan.last_round
    (Matching(0-1, 2-3), [], 300)
    """
    places = _places(rates, columns)
    leader, level = _leader(places), math.log(round)
    if len(places.rates) < 4:  # one matching only
        return Plan(leader, [], 2**62)
    allowed = _allowed(len(rates), columns)
    rare = allowed & (tries < math.sqrt(level))
    if rare.any():
        return Plan(leader, [(each, 1) for each in _cover(rare, rates, columns)], 0)
    if in_haste:
        return Plan(leader, [], round)
    missing = MissingExploration(_apart(places), tries.astype(np.float64))
    if missing.gathered >= level:
        rarest = min(int(tries[allowed].min()), 6)
        trusted = min(math.exp(min(missing.gathered, 40.0)), math.exp(rarest**2), _TRUSTED * round)
        return Plan(leader, [], max(int(trusted), round))
    explored = tries.sum() / 2 - sum(tries[couple] for couple in leader)
    # A swap plays two couples that the leader lacks.
    most = max(_FEW, int(_SHARE * explored / 2))
    wanted = missing.complete(math.log(_AHEAD * round))
    return Plan(leader, [(each, min(math.ceil(times), most)) for each, times in wanted], 0)


def leader_of(rates: Floats, columns: NDArray[np.bool_] | None = None) -> Matching:
    """Return the best matching of players with these rates, its best couple first.

    Examples
    --------
    >>> leader_of(np.array([0.2, 0.9, 0.4]))
    Matching(1-2; waiting 0)
    """
    return _leader(_places(rates, columns))


def _places(rates: Floats, columns: NDArray[np.bool_] | None) -> Places:
    if columns is None:
        return Places.on_one_side(rates)
    return Places.on_two_sides(rates, np.flatnonzero(~columns), np.flatnonzero(columns))


def _leader(places: Places) -> Matching:
    couples = [sorted(couple) for couple in places.players.reshape(-1, 2).tolist()]
    waiting = [first for first, second in couples if second >= places.real > first]
    return Matching([couple for couple in couples if couple[1] < places.real], waiting)


def _apart(places: Places) -> Places:
    """Move rates of successive couples apart that are too near to each other for programs.

    No number of rounds that anybody plays could tell them apart.
    """
    couples = np.log(np.where(places.is_phantom, 1.0, places.rates)).reshape(-1, 2)
    if places.two_sided:
        lack = _MIN_DISTANCE - (couples[:-1] - couples[1:])
    else:
        lack = np.repeat(_MIN_DISTANCE - (couples[:-1, 1:] - couples[1:, :1]), 2, axis=1)
    lack[places.is_phantom.reshape(-1, 2)[:-1, 1]] = 0.0  # the order of those who wait is free
    couples[1:] -= np.cumsum(np.maximum(lack, 0.0), axis=0)
    return replace(places, rates=np.where(places.is_phantom, 0.0, np.exp(couples.ravel())))


def _allowed(players: int, columns: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return which couples may meet, in a row and a column for each player."""
    if columns is None:
        return ~np.eye(players, dtype=np.bool_)
    return columns[:, None] != columns


def _cover(
    rare: NDArray[np.bool_], rates: Floats, columns: NDArray[np.bool_] | None
) -> Iterator[Matching]:
    """Yield matchings with all rare couples, as many of them in each as can be."""
    rare = rare.copy()
    while rare.any():
        # Of matchings with as many rare couples, the one that promises most games.
        weights = np.where(rare, float(len(rates)), 0.0) + np.outer(rates, rates)
        matching = best_matching_of_sides(weights, columns)
        for i, j in matching:
            rare[i, j] = rare[j, i] = False
        yield matching
