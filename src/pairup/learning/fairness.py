"""Fairness: a floor under each player's chance of a game, held by debts.

A policy that aims at the most games lets its least reliable players meet each other. A floor
promises each player a share of what random pairing would give it. What it lacks is its debt, and
a game counts for more, the more its players are owed.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import checked_integer, is_number
from pairup.compiled.matchings.random_pairing import new_random_pairing
from pairup.errors import PolicyError
from pairup.learning import estimates
from pairup.learning.meetings import Meetings, are_among
from pairup.learning.roster import Couples, Slots
from pairup.learning.running_policy import RunningPolicy
from pairup.policies.contract import Policy
from pairup.problem.meeting_graph import MeetingGraph

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

_WINDOW = 1_000  # proposals
_PAYBACK = 0.5  # worth of a game that a debt of one share adds, for a player of mean chance
_MIN_CHANCE = 1e-4  # of the mean chance; players with less count as if they had this one
_ALL_COUPLES = 64  # players: of more, a player in debt can meet some of the others only
_REACH = 8  # places up and down in each order
_BLOCK = 128  # players, at most, who are matched among themselves


class Fairness:
    """A floor, and what each player is owed.

    In a proposal a player gets a *share*: its chance of a game, divided by its chance under random
    pairing among those whom it may meet; 0 if it waits. Its debt grows by the floor, falls by the
    share, and is at least 0. So over any run of proposals a player's shares add up to at least the
    floor times their number, minus its debt at the end.

    A debt grows no further than `window` proposals without a game would make it. More lapses.

    In a proposal a couple counts for its chance times what its game is worth and what both debts
    add to that; see `weigh_debts`. This keeps debts small: docs/explanation/who-pays.md says how
    small, and why.

    Parameters
    ----------
    floor
        Share of random pairing's chance that is promised to each player, from 0 to 1.
    window
        Number of proposals without a game after which a debt grows no more.
    debts
        What players are owed, for example the `debts` of another one.

    Examples
    --------
    >>> fairness = Fairness(0.5)
    >>> fairness.note(["ann", "bob", "cyd"], [1.75, 0.25, 0.0])
    >>> fairness.debts
    {'bob': 0.25, 'cyd': 0.5}
    >>> fairness.note(["bob", "cyd"], [0.75, 0.25])
    >>> fairness.debts
    {'cyd': 0.75}
    """

    def __init__(
        self,
        floor: float,
        *,
        window: int = _WINDOW,
        debts: Mapping[Any, float] | Iterable[tuple[Any, float]] = (),
    ) -> None:
        self.floor = checked_floor(floor)
        self.window = checked_integer("window of a floor", window, PolicyError, minimum=1)
        self._debts: dict[Any, float] = {}
        for player, debt in dict(debts).items():
            if not is_number(debt) or not 0 <= debt <= self.max_debt:
                raise PolicyError(
                    f"a debt is from 0 to {self.max_debt:g}, the floor times the window, got "
                    f"{debt!r} for {player!r}: leave the player out"
                )
            if debt > 0:
                self._debts[player] = float(debt)

    @property
    def max_debt(self) -> float:
        """The greatest debt."""
        return self.floor * self.window

    @property
    def debts(self) -> dict[Any, float]:
        """What players are owed; players to whom nothing is owed are not listed."""
        return dict(self._debts)

    def debts_of(self, players: Sequence[Hashable]) -> Floats:
        """Return what each of some players is owed."""
        if not self._debts:
            return np.zeros(len(players))
        get = self._debts.get
        return np.array([get(player, 0.0) for player in players], np.float64)

    def note(self, players: Sequence[Hashable], shares: ArrayLike) -> None:
        """Note which share each of some players got in a proposal.

        Parameters
        ----------
        players
            The players who were available, each once.
        shares
            The share of each: a number of at least 0; NaN or None for a player who could not have
            had a game with anybody, and to whom nothing was promised.
        """
        given = _as_floats(shares)
        if given.shape != (len(players),) or np.any(given < 0):
            raise PolicyError(
                f"shares are numbers of at least 0, one for each of {len(players)} players, got "
                f"{shares!r}: give 0 for a player who waits, None for one who may meet nobody"
            )
        if self.floor == 0.0:
            return
        before = self.debts_of(players)
        after = np.clip(before + self.floor - given, 0.0, self.max_debt)
        after = np.where(np.isnan(given), before, after)
        changed = np.flatnonzero((before > 0.0) | (after > 0.0))
        for x, debt in zip(changed.tolist(), after[changed].tolist(), strict=True):
            if debt > 0.0:
                self._debts[players[x]] = debt
            else:
                self._debts.pop(players[x], None)

    def forget(self, player: Hashable) -> None:
        """Strike off what a player is owed, who left."""
        self._debts.pop(player, None)

    def copy(self) -> Fairness:
        """Return a floor with the same debts."""
        return Fairness(self.floor, window=self.window, debts=self._debts)


def _as_floats(given: ArrayLike) -> Floats:
    """Return numbers as an array, of no dimension if they are not numbers."""
    try:
        return np.array(given, np.float64)
    except (TypeError, ValueError):  # ragged, or other things
        return np.array(np.nan)


def checked_floor(floor: object) -> float:
    """Return a floor, or refuse it."""
    if is_number(floor) and 0 <= floor <= 1:
        return float(floor)
    raise PolicyError(
        f"a floor is a number from 0 to 1, the share of random pairing's chance that each player "
        f"gets at least, got {floor!r}: try 0.5, or 0 for none"
    )


def random_chances_of_all(rates: Floats, one: Places, other: Places) -> Floats:
    """Return each player's chance of a game if all are paired at random but the couples given.

    Examples
    --------
    >>> nobody = np.zeros(0, np.int64)
    >>> random_chances_of_all(np.array([0.5, 0.5, 0.25, 1.0]), nobody, nobody).round(3).tolist()
    [0.292, 0.292, 0.167, 0.417]
    """
    players = len(rates)
    partners, around = np.full(players, players - 1.0), rates.sum() - rates
    for these, those in ((one, other), (other, one)):
        partners -= np.bincount(these, minlength=players)
        around -= np.bincount(these, rates[those], minlength=players)
    mean = np.divide(around, partners, out=np.zeros(players), where=partners > 0)
    matched = 1.0 if players % 2 == 0 else 1.0 - 1.0 / max(players, 1)
    return np.maximum(matched * rates * mean, 0.0)


def check_floor(policy: Policy, floor: float) -> None:
    """Refuse a floor under a policy that cannot hold it."""
    if floor > 0.0 and not policy.plays_on_graphs:
        raise PolicyError(
            f"a floor of {floor:g} needs a policy in which games may differ in worth, and "
            f"{policy.name} is for games that are worth the same: take another policy, for example "
            "rank_one_thompson, or a floor of 0"
        )


def checked_debts(debts: ArrayLike, order: Slots) -> Floats:
    """Return what players are owed as an array, or refuse it."""
    owed = _as_floats(debts)
    if owed.shape != order.shape or not np.all((owed >= 0) & (owed < np.inf)):
        raise PolicyError(
            f"debts are numbers of at least 0, one for each of {len(order)} players, got "
            f"{debts!r}: give what debts_of(players) returned"
        )
    return owed


def fair_graph(
    running: RunningPolicy, meetings: Meetings, debts: Floats
) -> tuple[MeetingGraph, Floats | None]:
    """Return the graph of a proposal in which games count for more, the more players are owed.

    Where all may meet and there are more than 64 players with estimated rates, a player has the
    couples of `near_couples` only. Their standing, by slot, comes second.
    """
    graph, order = meetings.graph, meetings.order
    if graph is None and len(order) > _ALL_COUPLES:
        estimated = running.player_rates(order)
        if estimated is not None:
            return _near_graph(running.capacity, meetings, estimated[0], debts)
    if graph is None:
        graph = _graph_of(meetings, running.capacity, *np.triu_indices(len(order), 1))
    owed = np.zeros(running.capacity)
    owed[order] = debts
    return graph.plus(weigh_debts(owed, _mean_chances(running, graph))), None


def _near_graph(
    capacity: int, meetings: Meetings, rates: Floats, debts: Floats
) -> tuple[MeetingGraph, Floats]:
    order, added, standing = meetings.order, np.zeros(capacity), np.zeros(capacity)
    added[order] = weigh_debts(debts, rates)
    standing[order] = rates * (1.0 + added[order])
    graph = _graph_of(meetings, capacity, *near_couples(rates, standing[order]))
    return graph.plus(added), standing


def _graph_of(meetings: Meetings, capacity: int, one: Places, other: Places) -> MeetingGraph:
    """Return the graph of some couples, given by places, without those who are apart."""
    one, other = meetings.order[one], meetings.order[other]
    kept = ~are_among(one, other, meetings.apart, capacity)
    return MeetingGraph.of_couples(capacity, one[kept], other[kept], np.ones(int(kept.sum())))


def _mean_chances(running: RunningPolicy, graph: MeetingGraph) -> Floats:
    """Return the mean chance of each player's couples, 0 for players who have none."""
    chances = estimates.play_probabilities(running, graph.low, graph.high)
    if chances is None:
        return np.ones(graph.players)
    both = np.concatenate([graph.low, graph.high])
    total = np.bincount(both, np.tile(chances, 2), minlength=graph.players)
    return total / np.maximum(np.bincount(both, minlength=graph.players), 1)


def weigh_debts(debts: Floats, chances: Floats) -> Floats:
    """Return what each player's debt adds to the worth of its games, where 1 is the mean worth.

    Parameters
    ----------
    debts
        What each player is owed.
    chances
        How likely each player is to play if its partner is drawn at random, up to a factor that
        all have in common; 0 for players who may meet nobody.

    Notes
    -----
    A debt is a number of shares, and a share is divided by the player's own chance: so is what is
    added. A player who accepts one game in fifty then needs no greater debt than any other to get
    the same partners.

    Examples
    --------
    >>> weigh_debts(np.array([0.0, 1.0, 1.0]), np.array([0.3, 0.2, 0.1])).round(2).tolist()
    [0.0, 0.5, 1.0]
    """
    can_play = chances > 0.0
    mean = chances[can_play].mean() if can_play.any() else 1.0
    return _PAYBACK * debts * mean / np.maximum(chances, _MIN_CHANCE * mean)


def near_couples(rates: Floats, standing: Floats) -> tuple[Places, Places]:
    """Return couples in which players in debt can be matched well, where players are many.

    They are neighbours in the order of the rates, and of the standing, the rate times 1 plus what
    the debt adds: to a partner to whom nothing is owed, a player in debt counts as a player of that
    rate. Each player has at most 32. Players are in blocks by their standing and have no couples
    outside their block: many rates are nearly equal, and a search through thousands of equals could
    take seconds.

    `python -m benchmarks fairness` compares it with the exact matching of all couples.
    """
    players, numbers = len(rates), []
    for values in (rates, standing):
        order = np.argsort(-values, kind="stable")
        for step in range(1, min(_REACH, players - 1) + 1):
            one, other = order[:-step], order[step:]
            numbers.append(np.minimum(one, other) * players + np.maximum(one, other))
    low, high = np.divmod(np.unique(np.concatenate(numbers)), players)
    block = _blocks(standing)
    together = block[low] == block[high]
    low, high = low[together], high[together]
    return low, high


def _blocks(standing: Floats) -> Places:
    """Return the block of each player: as many in each, an even number, by their standing."""
    players = len(standing)
    size = 2 * math.ceil(players / math.ceil(players / _BLOCK) / 2)
    block = np.empty(players, np.int64)
    block[np.argsort(-standing, kind="stable")] = np.arange(players) // size
    return block


def matched_shares(running: RunningPolicy, meetings: Meetings, couples: Couples) -> Floats | None:
    """Return the share that each player gets in a matching, in the order of `meetings`.

    NaN for players who could not have had a game. None if the policy estimates nothing.
    """
    chances = estimates.play_probabilities(running, couples[:, 0], couples[:, 1])
    if chances is None:
        return None
    given, random = np.zeros(running.capacity), _random_chances(running, meetings)
    given[couples] = chances[:, None]
    possible = np.full(len(random), np.nan)
    return np.divide(given[meetings.order], random, out=possible, where=random > 0)


def _random_chances(running: RunningPolicy, meetings: Meetings) -> Floats:
    order, graph = meetings.order, meetings.graph
    place = np.zeros(running.capacity, np.int64)
    place[order] = np.arange(len(order))
    if graph is None and (rates := running.player_rates(order)) is not None:
        both = np.isin(meetings.apart, order).all(axis=1)
        return random_chances_of_all(rates[0], *place[np.unique(meetings.apart[both], axis=0)].T)
    if graph is None:
        graph = _graph_of(meetings, running.capacity, *np.triu_indices(len(order), 1))
    chances = estimates.play_probabilities(running, graph.low, graph.high)
    assert chances is not None  # couples of the matching have them
    return new_random_pairing(len(order), place[graph.low], place[graph.high], chances).games
