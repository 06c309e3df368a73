"""Simulated histories: tables of past games, for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from pairup.checks import check_choice, checked_integer
from pairup.errors import AssessmentError

WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".csv": lambda frame, path: frame.write_csv(path),
    ".parquet": lambda frame, path: frame.write_parquet(path),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
}


def simulate_history(  # noqa: PLR0913 - a parameter is an option
    players: int = 300,
    rounds: int = 120,
    distribution: tuple[float, float] = (2.0, 3.0),
    *,
    rates: Sequence[float] = (),
    churn: float = 0.0,
    rating_effect: float = 0.0,
    pattern: float = 0.0,
    pairing: str = "random",
    told: bool = False,
    seed: int = 0,
) -> pl.DataFrame:
    """Simulate a table of past games.

    Parameters
    ----------
    players
        Number of players at a time, even.
    rounds
        Number of rounds, an hour apart, in which all of them are paired.
    distribution
        Parameters of the Beta distribution of the acceptance rates.
    rates
        Any other distribution: rates of which each player has one, all as likely.
    churn
        Probability that a player leaves in a round, and a new one comes.
    rating_effect
        By how much the log odds of a game fall per 200 points between two ratings.
    pattern
        Standard deviation of each player's place on a hidden scale; the product of two places is
        added to the log odds of their game, so that 0 leaves products of rates.
    pairing
        "random", or "rating": neighbours in the order of ratings, with some noise.
    told
        Whether the table says who accepted, which needs products of rates.
    seed
        Of all random draws.

    Returns
    -------
    polars.DataFrame
        Columns as `pairup assess` and `pairup import` take them, with ratings and times.

    Examples
    --------
    >>> simulate_history(players=4, rounds=2).columns
    ['player_a', 'player_b', 'played', 'time', 'rating_a', 'rating_b']
    """
    _check(players, rounds, distribution, churn, pairing)
    if not all(0.0 < each < 1.0 for each in rates):
        raise AssessmentError(f"rates lie between 0 and 1, got {list(rates)}: correct them")
    if told and (rating_effect or pattern):
        raise AssessmentError(
            "answers are told only where couples are products of rates: leave out the rating "
            "effect and the pattern, or the answers"
        )
    rng = np.random.default_rng(seed)

    def draw(count: int) -> np.ndarray:
        return rng.choice(rates, count) if len(rates) else rng.beta(*distribution, count)

    crowd = _Crowd(players, draw, pattern, rng)
    parts = []
    for round in range(rounds):
        one, other = crowd.pair(pairing)
        parts.append(crowd.meet(one, other, round, rating_effect, told))
        crowd.replace(churn)
    return pl.concat(parts)


def _check(
    players: int, rounds: int, distribution: tuple[float, float], churn: float, pairing: str
) -> None:
    checked_integer("the number of players", players, AssessmentError, minimum=2)
    checked_integer("the number of rounds", rounds, AssessmentError, minimum=1)
    if players % 2:
        raise AssessmentError(f"the number of players is even, got {players}: all are paired")
    if not all(0.0 < each < 1e6 for each in distribution):
        raise AssessmentError(
            f"parameters of a Beta distribution are positive, got {distribution}: give two such "
            "as (2, 3)"
        )
    if not 0.0 <= churn < 1.0:
        raise AssessmentError(f"churn is a probability below 1, got {churn}: give one such as 0.01")
    check_choice("pairing", pairing, ("random", "rating"), AssessmentError)


class _Crowd:
    """Players of a simulated history."""

    def __init__(
        self,
        players: int,
        draw: Callable[[int], np.ndarray],
        pattern: float,
        rng: np.random.Generator,
    ) -> None:
        self._rng, self._draw, self._pattern = rng, draw, pattern
        self._known = 0
        self._rates, self._places, self._ratings, self._names = self._newcomers(players)

    def _newcomers(self, count: int) -> tuple[np.ndarray, ...]:
        rng = self._rng
        names = np.array([f"p{self._known + x}" for x in range(count)], dtype=object)
        self._known += count
        rates = self._draw(count)
        places = rng.normal(0.0, 1.0, count) * self._pattern
        return rates, places, rng.normal(1500.0, 200.0, count).round(), names

    def pair(self, pairing: str) -> tuple[np.ndarray, np.ndarray]:
        """Pair all players, at random or by their ratings."""
        count = len(self._rates)
        keys = self._rng.random(count)
        if pairing == "rating":
            keys = self._ratings + self._rng.normal(0.0, 50.0, count)
        order = np.argsort(keys)
        return order[::2], order[1::2]

    def meet(
        self, one: np.ndarray, other: np.ndarray, round: int, rating_effect: float, told: bool
    ) -> pl.DataFrame:
        """Play the couples; returns a row for each."""
        rng, chances = self._rng, self._rates[one] * self._rates[other]
        columns = {"player_a": self._names[one], "player_b": self._names[other]}
        if told:
            accepts = [rng.random(len(one)) < self._rates[each] for each in (one, other)]
            columns |= {"accepted_a": accepts[0], "accepted_b": accepts[1]}
            columns["played"] = accepts[0] & accepts[1]
        else:
            distance = np.abs(self._ratings[one] - self._ratings[other]) / 200.0
            odds = np.log(chances / (1.0 - chances)) - rating_effect * distance
            odds += self._places[one] * self._places[other]
            columns["played"] = rng.random(len(one)) < 1.0 / (1.0 + np.exp(-odds))
        columns["time"] = np.full(len(one), np.datetime64("2026-01-01T00:00:00", "us")) + (
            np.timedelta64(round, "h")
        )
        columns |= {"rating_a": self._ratings[one], "rating_b": self._ratings[other]}
        return pl.DataFrame(
            columns, schema_overrides={"player_a": pl.String, "player_b": pl.String}
        )

    def replace(self, churn: float) -> None:
        """Replace those who leave by new players."""
        gone = np.flatnonzero(self._rng.random(len(self._rates)) < churn)
        if len(gone):
            rates, places, ratings, names = self._newcomers(len(gone))
            self._rates[gone], self._places[gone] = rates, places
            self._ratings[gone], self._names[gone] = ratings, names
