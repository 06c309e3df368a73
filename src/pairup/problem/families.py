"""Families of problems, each declared once: a function that makes a problem of a few parameters.

To add one, write its function here: see `pairup.problem.declaration` for what follows from it.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairup.checks import checked_list
from pairup.errors import ProblemError, did_you_mean
from pairup.problem.declaration import (
    BETA,
    COUPLES,
    RATES,
    STARTS,
    SWITCH,
    TABLE,
    WORD,
    Draws,
    ProblemParts,
    choice,
    count,
    family,
    number,
)
from pairup.problem.meeting_graph import Allowed, MeetingGraph
from pairup.problem.rates import Floats, checked_starts
from pairup.problem.weights import MatrixWeights, ProductWeights, SideWeights

_DECIMALS = 12  # rates are rounded, so that 3 * 0.1 is the 0.3 that a reader expects
_GRAPH_STREAM = 1  # of graphs, apart from the draws of rates by the same seed

# A text after the kind is what figures call the parameter, instead of its name.
Pairs = Annotated[int, count(1, "try 4"), "couples, L"]
Gap = Annotated[float, number("try 0.1"), "gap between successive couples"]
Mean = Annotated[float, number("try 0.5"), "mean acceptance rate"]
Density = Annotated[float, number("try 0.5", "lie in [0, 1]", lambda value: 0 <= value <= 1)]
Window = Annotated[
    float, number("try 0.1", "be a positive number", lambda value: 0 < value < math.inf)
]
Players = Annotated[int, count(2, "try 4")]
Seed = Annotated[int, count(0)]
Beta = Annotated[tuple[float, float], BETA, "distribution of the rates"]
Rates = Annotated[ArrayLike, RATES]
AllowedCouples = Annotated[Allowed, COUPLES]
Worth = Annotated[ArrayLike | None, TABLE]


@family
def from_zero(pairs: Annotated[int, count(2, "try 4"), "couples, L"], gap: Gap) -> ProblemParts:
    """Space couples a gap apart, down to a rate of 0: the paper's first experiment.

    Both players of couple k = 1..pairs have the rate ``(pairs - k) * gap``.

    Parameters
    ----------
    pairs
        Number of couples, at least 2.
    gap
        Distance between successive couples, with ``0 < (pairs - 1) * gap <= 1``.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.from_zero(3, 0.1)
    Problem([0.2, 0.2, 0.1, 0.1, 0.0, 0.0], name='from_zero(3, 0.1)')
    """
    top = round((pairs - 1) * gap, _DECIMALS)
    if not 0 < top <= 1:  # false for NaN as well
        raise ProblemError(
            f"(pairs - 1) * gap must lie in (0, 1], got {pairs - 1} * {gap!r}: "
            f"take a gap of at most {1 / (pairs - 1):.4g}"
        )
    return _of_rates(_steps(pairs, 0.0, gap))


@family
def around(mean: Mean, pairs: Pairs, gap: Gap) -> ProblemParts:
    """Space couples a gap apart around a mean rate: the paper's second experiment.

    Both players of couple k = 1..pairs have the rate ``mean + (pairs + 1 - 2 * k) * gap / 2``.
    (The range that the paper prints for the mean excludes its own figures; this is the one of the
    experiment it repeats.)

    Parameters
    ----------
    mean
        Mean of all rates; all of them must lie in [0, 1].
    pairs
        Number of couples, at least 1.
    gap
        Distance between successive couples, not negative.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.around(0.5, 3, 0.1)
    Problem([0.6, 0.6, 0.5, 0.5, 0.4, 0.4], name='around(0.5, 3, 0.1)')
    """
    if not 0 <= gap < math.inf:
        raise ProblemError(f"gap must be a number of at least 0, got {gap!r}: try 0.1")
    half = round((pairs - 1) * gap / 2, _DECIMALS)
    if not round(half - mean, _DECIMALS) <= 0 <= round(1 - half - mean, _DECIMALS):
        way_out = (
            f"take a mean in [{half:.4g}, {1 - half:.4g}]"
            if half <= 0.5
            else f"take a gap of at most {1 / (pairs - 1):.4g}"
        )
        raise ProblemError(
            f"all rates must lie in [0, 1], got mean {mean!r} with {pairs} pairs "
            f"{gap!r} apart: {way_out}"
        )
    return _of_rates(_steps(pairs, mean - half, gap))


@family
def random(players: Players, seed: Seed = 0, distribution: Beta = (1, 1)) -> ProblemParts:
    """Draw the rates independently from a Beta distribution, uniform by default.

    Parameters
    ----------
    players
        Number of players, at least 2.
    seed
        Seed of the draws; the same seed gives the same problem.
    distribution
        The two parameters of the Beta distribution, both positive; (1, 1) is uniform.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.random(100, seed=7) == Problem.random(100, seed=7)
    True
    """
    return _of_rates(np.random.default_rng(seed).beta(*distribution, players))


@family
def rates(rates: Rates, allowed: AllowedCouples = None, worth: Worth = None) -> ProblemParts:
    """Take the acceptance rates as they are given.

    Parameters
    ----------
    rates
        Acceptance rate of each player.
    allowed
        The couples who may meet, such as ``[[0, 1], [1, 2]]``; all by default.
    worth
        What a game of each couple is worth, a symmetric matrix; 1 by default.
    """
    weights = ProductWeights(rates)
    return ProblemParts((weights,), _read_graph(weights.players, allowed, worth))


@family
def matrix(
    couple_rates: Annotated[ArrayLike, TABLE], allowed: AllowedCouples = None, worth: Worth = None
) -> ProblemParts:
    """Take the probability that each couple plays, a symmetric matrix.

    Parameters
    ----------
    couple_rates
        Probability that each couple plays, a symmetric matrix whose diagonal is ignored.
    allowed, worth
        As for `rates`.
    """
    weights = MatrixWeights(couple_rates)
    return ProblemParts((weights,), _read_graph(weights.players, allowed, worth))


@family
def piecewise(
    starts: Annotated[Sequence[int], STARTS], rates: Annotated[Sequence[ArrayLike], TABLE]
) -> ProblemParts:
    """Change the acceptance rates after given numbers of rounds.

    Regret is counted against the best matching of the moment.

    Parameters
    ----------
    starts
        Number of rounds before each piece, ascending from 0.
    rates
        Acceptance rates of the players in each piece.
    """
    pieces = checked_list("rates of a piecewise problem", rates, ProblemError, items="rates")
    weights = tuple(map(ProductWeights, pieces))
    return ProblemParts(weights, starts=checked_starts(starts, [each.players for each in weights]))


@family
def two_sided(
    rows: Rates, columns: Rates, draws: Annotated[Draws, choice(get_args(Draws))] = "independent"
) -> ProblemParts:
    """Make two sides, rows and columns, that meet only each other, as items meet positions.

    Parameters
    ----------
    rows, columns
        Acceptance rates of the players of each side.
    draws
        ``"independent"``, or ``"common"``, by which one number per round decides all couples.
    """
    return ProblemParts((SideWeights(rows, columns),), draws=draws)


@family
def click_model(setting: Annotated[str, WORD]) -> ProblemParts:
    """Take the items and positions of a public click model.

    An item is clicked with its rate times that of its position.

    Parameters
    ----------
    setting
        Name of the model, such as ``"std"`` or ``"kdd-2"``; `click_model_settings` has all.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.click_model("std").sides
    (10, 5)
    """
    models = _click_models()
    if setting not in models:
        near = did_you_mean(setting, tuple(models))
        raise ProblemError(f"no click model is called {setting!r}{near}")
    return ProblemParts((SideWeights(models[setting]["items"], models[setting]["positions"]),))


@family
def random_graph(
    players: Players,
    density: Density,
    seed: Seed = 0,
    random_worth: Annotated[bool, SWITCH] = False,
) -> ProblemParts:
    """Draw uniform rates, and for each couple whether it may meet.

    Parameters
    ----------
    players
        Number of players, at least 2.
    density
        Probability that a couple may meet, in [0, 1].
    seed
        Seed of the draws; the same seed gives the same problem, and the same rates for every
        density.
    random_worth
        Whether the worth of each game is drawn from [0, 1] as well, instead of 1.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.random_graph(10, 0.5).graph.is_complete
    False
    """
    drawn, worth = _graph_draws(seed).random((2, players * (players - 1) // 2))
    values = worth if random_worth else np.ones(len(drawn))
    return _with_random_rates(players, seed, drawn < density, values)


@family
def line(players: Players, window: Window, seed: Seed = 0) -> ProblemParts:
    """Put players on a line from 0 to 1, a rating, where they meet within a window.

    Positions and rates are uniform draws. A game is worth 1 between players at the same place, less
    in proportion to their distance, and nothing at the end of the window.

    Parameters
    ----------
    players
        Number of players, at least 2.
    window
        Greatest distance of players who may meet, positive.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from pairup import Problem
    >>> Problem.line(6, 0.2, seed=1).name
    'line(6, 0.2, seed=1)'
    """
    positions = _graph_draws(seed).random(players)
    low, high = np.triu_indices(players, 1)
    distance = np.abs(positions[low] - positions[high])
    return _with_random_rates(players, seed, distance <= window, 1.0 - distance / window)


@family
def groups(players: Players, groups: Annotated[int, count(1)], seed: Seed = 0) -> ProblemParts:
    """Draw uniform rates of players in groups, for example regions, who meet only inside them.

    Parameters
    ----------
    players
        Number of players, at least 2; player i is in group ``i % groups``.
    groups
        Number of groups, at least 1.
    seed
        Seed of the draws.

    Examples
    --------
    >>> from pairup import Matching, Problem
    >>> Problem.groups(4, 2).optimum == Matching([(0, 2), (1, 3)])
    True
    """
    low, high = np.triu_indices(players, 1)
    return _with_random_rates(players, seed, low % groups == high % groups, np.ones(len(low)))


def click_model_settings() -> tuple[str, ...]:
    """Return the names of the click models: simulated ones, and queries of a search engine."""
    return tuple(_click_models())


@functools.cache
def _click_models() -> dict[str, dict[str, list[float]]]:
    file = resources.files("pairup.problem").joinpath("click_models.toml")  # it names its sources
    return tomllib.loads(file.read_text("utf-8"))


def _of_rates(rates: Floats, graph: MeetingGraph | None = None) -> ProblemParts:
    return ProblemParts((ProductWeights(rates),), graph)


def _with_random_rates(
    players: int, seed: int, allowed: NDArray[np.bool_], worth: Floats
) -> ProblemParts:
    """Draw uniform rates, with a Boolean and the worth of a game for each couple, ascending."""
    low, high = (each[allowed] for each in np.triu_indices(players, 1))
    graph = MeetingGraph.of_couples(players, low, high, worth[allowed])
    drawn = np.random.default_rng(seed).beta(1.0, 1.0, players)
    return _of_rates(drawn, None if graph.is_plain else graph)


def _graph_draws(seed: int) -> np.random.Generator:
    return np.random.default_rng([_GRAPH_STREAM, seed])


def _read_graph(players: int, allowed: Allowed, worth: ArrayLike | None) -> MeetingGraph | None:
    """Read who may meet and what games are worth; None if all may and every game is worth 1."""
    if allowed is None and worth is None:
        return None
    graph = MeetingGraph(players, allowed, worth, ProblemError)
    return None if graph.is_plain else graph


def _steps(pairs: int, bottom: float, gap: float) -> Floats:
    """Return rates `gap` apart down to `bottom`, each twice, rounded to hide float noise."""
    levels = bottom + np.arange(pairs - 1, -1, -1) * gap
    return np.repeat(np.clip(np.round(levels, _DECIMALS), 0.0, 1.0), 2)
