"""Habits of simulated players, the pace of their games, and their answers to a proposed game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pairup.client.demo.crowd import Crowd
from pairup.errors import SimulationError
from pairup.service.api.schemas.games import GameView, NewGameReport
from pairup.service.domain.events import Answer, Outcome

_TIMES_OUT = 0.25  # probability that a player who does not accept says nothing
_UNSTATED = 0.1  # probability that nobody says why a game was cancelled


@dataclass(frozen=True)
class Habits:
    """Behaviour of the players; every number but the patience is a probability."""

    churn: float = 0.0  # that a player leaves for good in a round; another one joins
    late: float = 0.0  # that a game is reported after it has expired
    twice: float = 0.0  # that a game is reported again
    contradict: float = 0.0  # that a game is reported again, with the opposite outcome
    away: float = 0.0  # that a player is away in the next round
    patience_s: float | None = None  # seconds without a game after which a player leaves for good
    answers: bool = True  # reports say what each player answered, not only the outcome

    def __post_init__(self) -> None:
        for name in ("churn", "late", "twice", "contradict", "away"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SimulationError(f"{name} is a probability in [0, 1], got {value!r}: try 0.01")
        if self.patience_s is not None and not self.patience_s > 0:
            raise SimulationError(
                f"patience is a number of seconds above 0, got {self.patience_s!r}: try 30"
            )


@dataclass(frozen=True)
class Pace:
    """Durations of a round, of a game and of a proposal, in seconds."""

    round_s: float = 0.0
    game_s: float = 0.0  # after which the players wait again; 0: they wait at once
    lifetime_s: float = 5.0  # until a proposal expires, in a pool that the simulation creates

    def __post_init__(self) -> None:
        for what, value in (("a round", self.round_s), ("a game", self.game_s)):
            if not 0 <= value < 3600:
                raise SimulationError(
                    f"{what} lasts at least 0 seconds and less than an hour, got {value!r}: try 0.5"
                )


class AnsweredGame(NamedTuple):
    """What the players of a game decided, and how it is reported."""

    game: GameView
    played: bool
    report: NewGameReport

    def contradiction(self) -> NewGameReport:
        """Report the opposite."""
        return NewGameReport(game=self.game.id, outcome=_outcome(not self.played))


def answer(game: GameView, crowd: Crowd, habits: Habits) -> AnsweredGame:
    """Draw the answers of the players of a game by their rates."""
    accepts = {player: crowd.happens(crowd.rates[player]) for player in game.players}
    played = all(accepts.values())
    if not habits.answers or (not played and crowd.happens(_UNSTATED)):
        report = NewGameReport(game=game.id, outcome=_outcome(played))
    else:
        answers = {player: _said(accepted, crowd) for player, accepted in accepts.items()}
        report = NewGameReport(game=game.id, answers=answers)
    return AnsweredGame(game, played, report)


def _said(accepted: bool, crowd: Crowd) -> Answer:
    if accepted:
        return "accepted"
    return "timed_out" if crowd.happens(_TIMES_OUT) else "declined"


def _outcome(played: bool) -> Outcome:
    return "played" if played else "cancelled"
