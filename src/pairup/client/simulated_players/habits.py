"""Habits of simulated players, and the pace of their games."""

from __future__ import annotations

from dataclasses import dataclass

from pairup.errors import SimulationError


@dataclass(frozen=True)
class Habits:
    """Behaviour of the players; every number is a probability.

    Attributes
    ----------
    churn : float
        Probability that a player leaves for good in a round; another one joins.
    late : float
        Probability that a game is reported after it has expired.
    twice : float
        Probability that a game is reported again.
    contradict : float
        Probability that a game is reported again, with the opposite outcome.
    away : float
        Probability that a player is away in the next round.
    answers : bool
        Whether reports say what each player answered, or only whether the game was played.

    Examples
    --------
    >>> Habits(churn=0.01).churn
    0.01
    """

    churn: float = 0.0
    late: float = 0.0
    twice: float = 0.0
    contradict: float = 0.0
    away: float = 0.0
    answers: bool = True

    def __post_init__(self) -> None:
        for name in ("churn", "late", "twice", "contradict", "away"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SimulationError(f"{name} is a probability in [0, 1], got {value!r}: try 0.01")


@dataclass(frozen=True)
class Pace:
    """Durations, in seconds.

    Attributes
    ----------
    round_s : float
        Seconds per round.
    game_s : float
        Seconds that a game lasts, after which its players wait again; 0: they wait at once.
    lifetime_s : float
        Seconds until a proposal expires, in a pool that the simulation creates.
    """

    round_s: float = 0.0
    game_s: float = 0.0
    lifetime_s: float = 5.0

    def __post_init__(self) -> None:
        for what, value in (("a round", self.round_s), ("a game", self.game_s)):
            if not 0 <= value < 3600:
                raise SimulationError(
                    f"{what} lasts at least 0 seconds and less than an hour, got {value!r}: try 0.5"
                )
