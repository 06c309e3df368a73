"""What is reported of a game, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ACCEPTED, DECLINED, TIMED_OUT, UNKNOWN = "accepted", "declined", "timed_out", "unknown"


class InconsistentError(Exception):
    """A report contradicts itself."""


@dataclass(frozen=True)
class Report:
    """Whether a game was played, what its players answered, or both, as far as it is known.

    A game is played when both of its players accept. Whose answer is missing or unknown is not
    known to have declined.

    Examples
    --------
    >>> Report(answers={"ann": "accepted", "bob": "declined"}).decision
    False
    >>> Report(answers={"ann": "accepted"}).decision is None
    True
    """

    played: bool | None = None
    answers: Mapping[str, str] = field(default_factory=dict)  # none of them unknown

    @property
    def decision(self) -> bool | None:
        """Whether the game was played, None if that does not follow."""
        return self.played if self.played is not None else _follows(self.answers)

    def checked(self) -> Report:
        """Return the report, or refuse one that contradicts itself."""
        follows = _follows(self.answers)
        if self.played is not None and follows not in (None, self.played):
            said = "both players accepted" if follows else "a player did not accept"
            outcome = "played" if self.played else "cancelled"
            raise InconsistentError(
                f"the outcome is {outcome} although {said}: a game is played when both accept, "
                "correct one of the two"
            )
        return self

    def contradicts(self, known: Report) -> bool:
        """Whether both cannot be true."""
        both = set(self.answers) & set(known.answers)
        if any(self.answers[player] != known.answers[player] for player in both):
            return True
        follows = {self.decision, known.decision, _follows({**known.answers, **self.answers})}
        return {True, False} <= follows

    def adds_to(self, known: Report) -> bool:
        """Whether it says anything that is not known."""
        news = self.decision is not None and known.decision is None
        return news or not set(self.answers) <= set(known.answers)

    def joined(self, known: Report) -> Report:
        """Return what is known with this report, which does not contradict it."""
        played = self.played if self.played is not None else known.played
        return Report(played, {**known.answers, **self.answers})

    @property
    def cause(self) -> str | None:
        """Why the game was not played, as far as it is known."""
        if self.decision is not False:
            return None
        answers = self.answers.values()
        if DECLINED in answers:
            return DECLINED
        return TIMED_OUT if TIMED_OUT in answers else "unstated"

    def heard(self, timeout_declines: bool) -> dict[str, bool]:
        """Return what a learner may conclude about the players.

        Who declined, declined; who timed out did so only if the pool's rules say it. Of a game
        that was not played, an acceptance is told only together with the other player's decline:
        alone it would make a decline of an answer that is missing.
        """
        declines = {DECLINED, TIMED_OUT} if timeout_declines else {DECLINED}
        heard = {player: False for player, said in self.answers.items() if said in declines}
        if heard or self.decision:
            heard |= {player: True for player, said in self.answers.items() if said == ACCEPTED}
        return dict(sorted(heard.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as it is sent and stored."""
        outcome = {None: None, True: "played", False: "cancelled"}[self.played]
        return {"outcome": outcome, "answers": dict(sorted(self.answers.items()))}


def read(outcome: str | None, answers: Mapping[str, str], players: Sequence[str]) -> Report:
    """Make a report of what was sent about a game of `players`, or refuse it."""
    for player in answers:
        if player not in players:
            raise InconsistentError(
                f"player {player!r} is not in this game: answer for {players[0]!r} and "
                f"{players[1]!r}, the players who were proposed"
            )
    if outcome is None and not answers:
        raise InconsistentError(
            "the report has neither `outcome` nor `answers`: say whether the game was played, or "
            "what its players answered, if only unknown"
        )
    known = {player: said for player, said in answers.items() if said != UNKNOWN}
    played = None if outcome is None else outcome == "played"
    return Report(played, dict(sorted(known.items()))).checked()


def _follows(answers: Mapping[str, str]) -> bool | None:
    said = answers.values()
    if DECLINED in said or TIMED_OUT in said:
        return False
    return True if list(said) == [ACCEPTED, ACCEPTED] else None
