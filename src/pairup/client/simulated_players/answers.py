"""Answers of simulated players to a proposed game, and the report that they make."""

from __future__ import annotations

from typing import NamedTuple

from pairup.client.simulated_players.crowd import Crowd
from pairup.client.simulated_players.habits import Habits
from pairup.service.api.schemas.fields import Answer, Outcome
from pairup.service.api.schemas.games import GameView, NewGameReport

_TIMES_OUT = 0.25  # probability that a player who does not accept says nothing
_UNSTATED = 0.1  # probability that nobody says why a game was cancelled


class Answered(NamedTuple):
    """What the players of a game decided, and how it is reported."""

    game: GameView
    played: bool
    report: NewGameReport

    def contradiction(self) -> NewGameReport:
        """Report the opposite."""
        return NewGameReport(game=self.game.id, outcome=_outcome(not self.played))


def answer(game: GameView, crowd: Crowd, habits: Habits) -> Answered:
    """Let the players of a game answer by their rates."""
    accepts = {player: crowd.happens(crowd.rates[player]) for player in game.players}
    played = all(accepts.values())
    if not habits.answers or (not played and crowd.happens(_UNSTATED)):
        report = NewGameReport(game=game.id, outcome=_outcome(played))
    else:
        answers = {player: _said(accepted, crowd) for player, accepted in accepts.items()}
        report = NewGameReport(game=game.id, answers=answers)
    return Answered(game, played, report)


def _said(accepted: bool, crowd: Crowd) -> Answer:
    if accepted:
        return "accepted"
    return "timed_out" if crowd.happens(_TIMES_OUT) else "declined"


def _outcome(played: bool) -> Outcome:
    return "played" if played else "cancelled"
