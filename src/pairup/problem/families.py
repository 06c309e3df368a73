"""Families of problems: rates and meeting graphs that follow from a few parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, Self

from pairup.problem.graph_families import group_graph, line_graph, random_graph
from pairup.problem.meeting_graph import MeetingGraph
from pairup.problem.rates import Floats, random_rates, rates_around, rates_from_zero
from pairup.problem.weights import CoupleWeights, ProductWeights

Draws = Literal["independent", "common"]  # of the couples of a round


class ProblemFamilies(ABC):
    """The constructors of a problem from the parameters of a family."""

    @classmethod
    @abstractmethod
    def _made(
        cls,
        name: str,
        starts: tuple[int, ...],
        weights: tuple[CoupleWeights, ...],
        graph: MeetingGraph | None,
        draws: Draws = "independent",
    ) -> Self:
        """Make a problem of its parts."""

    @classmethod
    def from_zero(cls, pairs: int, gap: float) -> Self:
        """Build a problem of the paper's first experiment: couples ``gap`` apart, down to 0.

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
        return cls._of_rates(rates_from_zero(pairs, gap), f"from_zero({pairs}, {gap:g})")

    @classmethod
    def around(cls, mean: float, pairs: int, gap: float) -> Self:
        """Build a problem of the paper's second experiment: couples ``gap`` apart around a mean.

        Both players of couple k = 1..pairs have the rate ``mean + (pairs + 1 - 2 * k) * gap / 2``.
        (The range that the paper prints for the mean excludes its own figures; this is the one of
        the experiment it repeats.)

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
        return cls._of_rates(rates_around(mean, pairs, gap), f"around({mean:g}, {pairs}, {gap:g})")

    @classmethod
    def random(
        cls, players: int, seed: int = 0, distribution: tuple[float, float] = (1.0, 1.0)
    ) -> Self:
        """Draw the rates independently from a Beta distribution.

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
        drawn = random_rates(players, seed, distribution)
        first, second = map(float, distribution)
        shape = "" if (first, second) == (1, 1) else f", distribution=({first:g}, {second:g})"
        return cls._of_rates(drawn, f"random({players}, seed={seed}{shape})")

    @classmethod
    def random_graph(
        cls, players: int, density: float, seed: int = 0, random_worth: bool = False
    ) -> Self:
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
        graph = random_graph(players, density, seed, random_worth)
        shape = ", random_worth=True" if random_worth else ""
        name = f"random_graph({players}, {density:g}, seed={seed}{shape})"
        return cls._with_random_rates(name, players, seed, graph)

    @classmethod
    def line(cls, players: int, window: float, seed: int = 0) -> Self:
        """Put players on a line from 0 to 1, a rating, who meet within a window.

        Positions and rates are uniform draws. A game is worth 1 between players at the same place,
        less in proportion to their distance, and nothing at the end of the window.

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
        graph = line_graph(players, window, seed)
        return cls._with_random_rates(
            f"line({players}, {window:g}, seed={seed})", players, seed, graph
        )

    @classmethod
    def groups(cls, players: int, groups: int, seed: int = 0) -> Self:
        """Draw uniform rates of players in groups, for example regions, who meet their own only.

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
        graph = group_graph(players, groups)
        return cls._with_random_rates(
            f"groups({players}, {groups}, seed={seed})", players, seed, graph
        )

    @classmethod
    def _with_random_rates(cls, name: str, players: int, seed: int, graph: MeetingGraph) -> Self:
        rates = random_rates(players, seed, (1.0, 1.0))
        return cls._of_rates(rates, name, None if graph.is_plain else graph)

    @classmethod
    def _of_rates(cls, rates: Floats, name: str, graph: MeetingGraph | None = None) -> Self:
        return cls._made(name, (0,), (ProductWeights(rates),), graph)
