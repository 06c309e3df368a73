"""Assessment: whether matching players by what is learnt about them is worth it, from a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from pairup.assessment.fit_checks import CHECKS, FitCheck, FitChecker, describe_fit
from pairup.assessment.game_table import GameTable, read_games
from pairup.assessment.outlook import (
    POOL_SIZES,
    TENTHS,
    FloorOutlook,
    Interval,
    LearningOutlook,
    PoolOutlook,
    PoolSampler,
    expect_floors,
    expect_learning,
    interval_of,
    sample_pool,
)
from pairup.assessment.posterior import Draw, PosteriorChain
from pairup.errors import AssessmentError
from pairup.intervals import wilson_ends

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["worth it", "not worth it", "not enough data"]
Progress = Callable[[str, float], None]  # what is being done, and its share

MIN_GAMES = 3.0  # per player, on average: fewer do not show how much players differ
WORTH = 0.02  # a gain, as a share of what random pairing gives, from which it is worth it
_MAX_CHURN = 0.2
_MAX_COUPLED = 1_000  # players, of whom couples may be learnt one by one


@dataclass(frozen=True)
class Assessment:
    """What a history says about its players, and what matching them would bring.

    Made by `pairup.assess`. Shares are of proposed games that are played.
    """

    table: GameTable
    played: Interval  # share of the history's games
    population: dict[str, Interval]  # mean rate, standard deviation, and tenths of the players
    checks: tuple[FitCheck, ...]
    pool: PoolOutlook  # of all players of the history
    pools: tuple[PoolOutlook, ...]  # of other sizes
    samples: tuple[Draw, ...]  # of the posterior, each with some of the players
    seed: int

    @cached_property
    def floors(self) -> tuple[FloorOutlook, ...]:
        """What matching gives with each floor, and to whom; simulated when asked for."""
        return expect_floors(self.samples)

    @cached_property
    def learning(self) -> LearningOutlook:
        """How a pool that knows nothing learns to match such players; simulated when asked for."""
        churn = min(self.table.churn, _MAX_CHURN)
        told = self.table.answers_told > 0.5
        return expect_learning(self.samples, churn, told, np.random.default_rng(self.seed))

    @property
    def gain(self) -> Interval:
        """What the best matching of all players gives beyond random pairing."""
        return self.pool.gain

    @property
    def fit(self) -> str:
        """Whether couples are products of rates, in words."""
        return describe_fit(self.checks)

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The checks that the history does not allow."""
        made = {each.name for each in self.checks}
        return tuple(name for name in CHECKS if name not in made)

    @property
    def verdict(self) -> Verdict:
        """Whether it is worth it."""
        wanted = WORTH * self.pool.random.estimate
        if self.rarely_seen:
            return "not enough data"
        if self.gain.low >= wanted:
            return "worth it"
        return "not worth it" if self.gain.high < wanted else "not enough data"

    @property
    def rarely_seen(self) -> bool:
        """Whether players have too few games to show how much they differ, however many they are.

        The posterior of the spread of rates is then nearly its prior, and a chain on many players
        crawls there: its draws would be too sure of the gain.
        """
        return self.table.games_per_player["mean"] < MIN_GAMES

    @property
    def games_needed(self) -> int | None:
        """How many games such as these would decide it; None where it is decided."""
        if self.verdict != "not enough data":
            return None
        if self.rarely_seen:
            return int(np.ceil(self.table.players * MIN_GAMES / 2.0))
        wanted = WORTH * self.pool.random.estimate
        half = (self.gain.high - self.gain.low) / 2.0
        away = max(abs(self.gain.estimate - wanted), half / 10.0)
        return int(np.ceil(self.table.games * (half / away) ** 2))

    @property
    def rules(self) -> dict[str, Any]:
        """A pool to begin with, as `POST /v1/pools` takes it."""
        rules: dict[str, Any] = {
            "name": "assessed",
            "policy": "rank_one_thompson",
            "options": {"period": 4, "prior": "learned"},
            "fairness": {"floor": 0.5},
        }
        alarms = {each.name: each for each in self.checks if each.alarm}
        if alarms.keys() & {"couples", "pattern"} and self.table.players <= _MAX_COUPLED:
            rules["policy"] = "hierarchical_thompson"  # which learns couple by couple what it must
        if "rating distance" in alarms and _falls(alarms["rating distance"]):
            apart = self.table.distance[self.table.distance > 0]
            half = float(np.nanmedian(apart))
            rules["worth"] = [{"kind": "distance", "attribute": "rating", "half_at": half}]
        if "same region" in alarms and not _falls(alarms["same region"]):
            rules["constraints"] = [
                {"kind": "equal", "attribute": "region", "relax": [{"after_s": 30.0}]}
            ]
        if "drift" in alarms:  # between thirds of the history
            first, last = np.nanmin(self.table.hours), np.nanmax(self.table.hours)
            rules["memory_s"] = max(float(np.round(last - first)) * 1_200.0, 3_600.0)
        if self.fit.startswith("does not"):
            rules["holdout"] = 0.1  # only an experiment can tell
        return rules

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers, as JSON takes them."""
        table = self.table
        return {
            "history": {
                "rows": table.rows,
                "games": table.games,
                "players": table.players,
                "games_per_player": table.games_per_player,
                "answers_told": table.answers_told,
                "skipped": dict(table.skipped),
                "listed": [each._asdict() for each in table.listed],
                "truncated": table.truncated,
            },
            "played": asdict(self.played),
            "population": {name: asdict(each) for name, each in self.population.items()},
            "fit": self.fit,
            "checks": [asdict(each) | {"verdict": each.verdict} for each in self.checks],
            "unchecked": list(self.unchecked),
            "pool": asdict(self.pool),
            "pools": [asdict(each) for each in self.pools],
            "floors": [asdict(each) for each in self.floors],
            "learning": asdict(self.learning),
            "gain": asdict(self.gain),
            "verdict": self.verdict,
            "games_needed": self.games_needed,
            "rules": self.rules,
        }

    def plot(self) -> Figure:
        """Draw what was found: rates, gain by size, who gains and who pays, and the checks."""
        from pairup.assessment.drawing import draw_assessment

        return draw_assessment(self)


def assess(
    history: Iterable[str | Path] | pl.DataFrame | pl.LazyFrame | str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
    progress: Progress = lambda what, share: None,
) -> Assessment:
    """Assess what matching players by their acceptance rates would bring, from past games.

    The model: each player accepts with a rate of its own, drawn from a Beta distribution, and a
    couple plays when both accept. All intervals are those of the posterior of the rates, given the
    history; whether the model holds is checked.

    Parameters
    ----------
    history
        A frame, a file or several: columns `player_a`, `player_b`, and `played` or `accepted_a` and
        `accepted_b`, as `pairup import` takes them; optionally `time`, `rating_a`, `rating_b`,
        `region_a`, `region_b`.
    columns
        What columns are called in the history, by the names above.
    seed
        Of all random draws: the same history and seed give the same assessment.
    progress
        Called with what is being done, and with the share that is done.

    Raises
    ------
    AssessmentError
        The history cannot be read, or has no games.

    Examples
    --------
    >>> from pairup.assessment.simulated_history import simulate_history
    >>> found = assess(simulate_history(players=40, rounds=60, seed=1))
    >>> found.verdict, found.fit
    ('worth it', 'fits')
    """
    files = [history] if isinstance(history, str | Path) else history
    table = read_games(files, columns, lambda rows: progress(f"{rows:,} rows read", 0.0))
    if table.players < 4:
        raise AssessmentError(
            f"the history has {table.players} players, and with fewer than 4 there is nothing to "
            "choose: give a longer one"
        )
    rng = np.random.default_rng(seed)
    chain = PosteriorChain(table, rng)
    checker, population = FitChecker(table, chain, rng), _PopulationSummary()
    pools = [PoolSampler(size, rng) for size in (None, *POOL_SIZES)]
    samples = list[Draw]()
    for draw in chain.draw(rng, lambda share: progress("rates", share)):
        population.add(draw)
        samples.append(sample_pool(draw, rng))
        for pool in pools:
            pool.add(draw)
        checker.add(draw.rates)
    share = float(table.played.mean())
    low, high = wilson_ends(share, table.games)
    everybody, *others = (each.finish() for each in pools)
    return Assessment(
        table=table,
        played=Interval(share, float(low), float(high)),
        population=population.finish(),
        checks=checker.finish(),
        pool=everybody,
        pools=tuple(others),
        samples=tuple(samples),
        seed=seed,
    )


def _falls(check: FitCheck) -> bool:
    """Return whether couples play less where the bins of a check are higher."""
    middle, beyond, _ = np.array(check.bins).T
    return bool(np.cov(middle, beyond)[0, 1] < 0)


class _PopulationSummary:
    """The players' rates: mean, spread, and the mean of each tenth, the lowest first."""

    def __init__(self) -> None:
        self._seen: dict[str, list[float]] = {}

    def add(self, draw: Draw) -> None:
        """Note a draw."""
        ordered = np.sort(draw.rates)
        seen = {"mean": ordered.mean(), "deviation": ordered.std()}
        parts = np.array_split(ordered, TENTHS)
        seen |= {f"tenth {x + 1}": part.mean() for x, part in enumerate(parts) if len(part)}
        for name, value in seen.items():
            self._seen.setdefault(name, []).append(float(value))

    def finish(self) -> dict[str, Interval]:
        """Return the intervals."""
        return {name: interval_of(values) for name, values in self._seen.items()}
