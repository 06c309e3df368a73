"""Run: what a simulation measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.errors import SimulationError
from pairup.html_table import html_table
from pairup.intervals import LEVEL, mean_interval
from pairup.policies.contract import Policy
from pairup.problem import Problem
from pairup.simulation.bottom_tenth import BottomTenth, measure_bottom_tenth

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

Measure = Literal["regret", "games"]

_SHOWN = 8  # checkpoints in a notebook


@dataclass(frozen=True, eq=False)
class Run:
    """Regret and games of a policy on a problem.

    Attributes
    ----------
    problem, policy, seed
        What was run.
    replications : ndarray of int, shape (replications,)
        Their numbers.
    rounds : ndarray of int, shape (checkpoints,)
        The checkpoints; the last is the last round.
    regret : ndarray of float, shape (replications, checkpoints)
        Expected games lost against the optimum, in all rounds up to the checkpoint.
    games : ndarray of int, shape (replications, checkpoints)
        Games played in all rounds up to the checkpoint.

    Examples
    --------
    >>> from pairup import Problem, Uniform, simulate
    >>> run = simulate(Problem([1, 1, 0, 0]), Uniform(), rounds=600, replications=30)
    >>> low, high = run.interval()
    >>> bool(low[-1] < 400 < high[-1])  # two of three matchings lose the one game
    True
    """

    problem: Problem
    policy: Policy
    seed: int
    replications: NDArray[np.int64]
    rounds: NDArray[np.int64]
    regret: NDArray[np.float64]
    games: NDArray[np.int64]

    @property
    def frame(self) -> pl.DataFrame:
        """A row for each replication and checkpoint, with columns as in `pairup.Results`.

        Examples
        --------
        >>> from pairup import Problem, Uniform, simulate
        >>> simulate(Problem([1, 1], "mine"), Uniform(), 10, 1, checkpoints=[5]).frame[
        ...     "games"
        ... ].to_list()
        [5, 10]
        """
        import polars as pl  # a third of pairup's import time

        rows = measured_rows(self.replications, self.rounds, self.regret, self.games)
        words = {
            "experiment": "simulate",
            "policy": str(self.policy),
            "problem": self.problem.name or self.problem.family,
        }
        numbers = {
            "players": self.problem.players,
            "pairs": self.problem.pairs,
            "seed": self.seed,
        }
        return rows.select(
            *(pl.lit(value, pl.String).alias(name) for name, value in words.items()),
            *(pl.lit(value, pl.Int64).alias(name) for name, value in numbers.items()),
            pl.all(),
        )

    def mean(self, measure: Measure = "regret") -> NDArray[np.float64]:
        """Return the mean over replications at each checkpoint.

        Parameters
        ----------
        measure
            What to average, "regret" or "games".

        Examples
        --------
        >>> from pairup import Oracle, Problem, simulate
        >>> run = simulate(Problem([1, 1]), Oracle(), rounds=100, replications=2, checkpoints=[10])
        >>> run.mean("games")
        array([ 10., 100.])
        """
        return self._values(measure).mean(axis=0)

    def interval(
        self, measure: Measure = "regret", level: float = LEVEL
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return an interval of the mean at each checkpoint: its low and its high ends.

        It is that of `pairup.intervals.mean_interval`, for skewed samples.

        Parameters
        ----------
        measure
            What to average, "regret" or "games".
        level
            Probability that an interval covers the true mean, in (0, 1).

        Raises
        ------
        SimulationError
            The run has only one replication, or an argument is invalid.

        Examples
        --------
        >>> from pairup import Problem, Uniform, simulate
        >>> run = simulate(Problem([1, 1, 0, 0]), Uniform(), rounds=600, replications=30)
        >>> low, high = run.interval(level=0.99)
        >>> bool(low[-1] < run.mean()[-1] < high[-1])
        True
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise SimulationError(f"level must lie in (0, 1), got {level!r}: try 0.95")
        values = self._values(measure)
        count = len(values)
        if count < 2:
            raise SimulationError(
                f"an interval needs at least 2 replications, got {count}: simulate more"
            )
        _, low, high = mean_interval(values, level)
        return low, high

    def plot(self, ax: Axes | None = None, measure: Measure = "regret", label: str = "") -> Axes:
        """Draw the mean against the round, with a band of 95% where there are replications.

        Parameters
        ----------
        ax
            Axes to draw on, for example those of another run, to compare the two; by default those
            of a new figure. In a notebook it is shown as the last value of a cell.
        measure
            What to draw, "regret" or "games".
        label
            Name in the legend, by default the policy's.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, to add to; those of a new figure can be saved:
            ``run.plot().savefig("run.png")``.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from pairup import Problem, Uniform, simulate
        >>> run = simulate(Problem([1, 1, 0, 0]), Uniform(), rounds=600, replications=3)
        >>> run.plot(Figure().subplots()).get_ylabel()
        'regret'
        """
        if ax is None:
            from pairup.figure_axes import new_axes  # slow to import, and only for a picture

            ax = new_axes()
        (line,) = ax.plot(self.rounds, self.mean(measure), label=label or str(self.policy))
        if len(self.replications) > 1:
            low, high = self.interval(measure)
            ax.fill_between(self.rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        ax.set(xlabel="round, t", ylabel=measure, title=self.problem.name)
        ax.legend(frameon=False)
        return ax

    def bottom_tenth(self) -> BottomTenth:
        """Measure what is left to the players with the lowest chances, in the first replication.

        It is played again. See `pairup.simulation.bottom_tenth`.

        Examples
        --------
        >>> from pairup import Problem, Uniform, simulate
        >>> run = simulate(Problem([0.9, 0.8, 0.2, 0.1]), Uniform(), rounds=600)
        >>> bool(0.7 < run.bottom_tenth().share < 1.3)
        True
        """
        number, rounds = int(self.replications[0]), int(self.rounds[-1])
        return measure_bottom_tenth(self.problem, self.policy, rounds, self.seed, number)

    def _values(self, measure: Measure) -> NDArray[np.float64]:
        if measure not in ("regret", "games"):
            raise SimulationError(f'measure must be "regret" or "games", got {measure!r}')
        return np.asarray(getattr(self, measure), np.float64)

    def __repr__(self) -> str:
        final = self.mean()[-1]
        return (
            f"Run({self.policy} on {self.problem.name or 'a problem'}: "
            f"{len(self.regret)} x {self.rounds[-1]:,} rounds, mean regret {final:,.1f})"
        )

    def _repr_html_(self) -> str:
        count = len(self.replications)
        caption = (
            f"{self.policy} on {self.problem.name or 'a problem'}\n"
            f"{count} replications of {self.rounds[-1]:,} rounds, seed {self.seed}"
        )
        places = np.unique(np.linspace(0, len(self.rounds) - 1, _SHOWN).round().astype(int))
        low, high = self.interval() if count > 1 else (self.mean(), self.mean())
        rows = [
            (
                f"{self.rounds[k]:,}",
                f"{self.mean()[k]:,.1f}",
                f"{low[k]:,.1f} to {high[k]:,.1f}" if count > 1 else "",
                f"{self.mean('games')[k]:,.1f}",
            )
            for k in places
        ]
        return html_table(caption, ("round", "mean regret", "95% interval", "mean games"), rows)


def measured_rows(
    replications: Iterable[int],
    rounds: Iterable[int],
    regret: NDArray[np.float64],
    games: NDArray[np.int64],
) -> pl.DataFrame:
    """Arrange regret and games of shape (replications, rounds) in a frame."""
    import polars as pl

    numbers, checkpoints = np.fromiter(replications, np.int64), np.fromiter(rounds, np.int64)
    return pl.DataFrame(
        {
            "replication": np.repeat(numbers, len(checkpoints)),
            "round": np.tile(checkpoints, len(numbers)),
            "regret": regret.ravel(),
            "games": games.ravel(),
        }
    )
