"""Reports: what is said about a game, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from pairup.learning.feedback import CoupleFeedback
from pairup.service.domain.events import Answer, CancelCause, Outcome

ACCEPTED: Final = "accepted"
DECLINED: Final = "declined"
TIMED_OUT: Final = "timed_out"
UNKNOWN: Final = "unknown"
AnswerPair = tuple[Answer | None, Answer | None]
_ACCEPTS: dict[Answer | None, bool] = {ACCEPTED: True, DECLINED: False, TIMED_OUT: False}
_PLAYED: dict[Outcome | None, bool | None] = {None: None, "played": True, "cancelled": False}
_OUTCOMES = {played: outcome for outcome, played in _PLAYED.items()}


class InconsistentReportError(Exception):
    """A report contradicts itself."""


class Judgement(NamedTuple):
    """What follows from a report together with what was known before."""

    contradicts: bool  # the two cannot both be true; nothing else follows then
    adds: bool  # the report says something that was not known
    decision: bool | None  # whether the game was played, as far as it is known now
    cause: CancelCause | None
    known: Report
    heard: tuple[bool | None, bool | None]  # what the learner is given of the players


class Report(NamedTuple):
    """Whether a game was played and what its players answered, as far as it is known.

    What one request says, or all that was said so far; answers are in the order of the players. Its
    logic is that of `CoupleFeedback`; beside it, a report tells a player who declined from one who
    timed out.

    Examples
    --------
    >>> Report(None, ("accepted", "declined")).decision
    False
    """

    played: bool | None = None
    answers: AnswerPair = (None, None)

    @property
    def feedback(self) -> CoupleFeedback:
        """The report as feedback of a couple."""
        one, other = (_ACCEPTS.get(each) for each in self.answers)
        return CoupleFeedback((one, other), self.played)

    @property
    def decision(self) -> bool | None:
        """Whether the game was played, None if that does not follow."""
        return self.feedback.decision

    def contradicts(self, known: Report) -> bool:
        """Return whether this and what is known cannot both be true."""
        both = zip(self.answers, known.answers, strict=True)
        if any(new and old and new != old for new, old in both):
            return True
        return self.feedback.contradicts(known.feedback)

    def merged(self, known: Report) -> Report:
        """Return what is known together with this report, which does not contradict it."""
        one, other = (new or old for new, old in zip(self.answers, known.answers, strict=True))
        return Report(known.played if self.played is None else self.played, (one, other))

    @property
    def cause(self) -> CancelCause | None:
        """Why the game was not played, as far as it is known."""
        if self.decision is not False:
            return None
        if DECLINED in self.answers:
            return DECLINED
        return TIMED_OUT if TIMED_OUT in self.answers else "unstated"

    def heard(self, timeout_declines: bool) -> tuple[bool | None, bool | None]:
        """Return what a learner may conclude about the players.

        A player who declined, declined; one who timed out did so only if the pool's rules say it.
        Of a game that was not played, an acceptance is told only together with the other player's
        decline: alone it would turn a missing answer into a decline.
        """
        declines = {DECLINED, TIMED_OUT} if timeout_declines else {DECLINED}
        told = self.decision or any(each in declines for each in self.answers)
        one, other = (
            False if each in declines else True if told and each == ACCEPTED else None
            for each in self.answers
        )
        return one, other


@cache  # there are few words, and so few reports
def judge(said: Report, known: Report, timeout_declines: bool) -> Judgement:
    """Judge a report that was checked, given what is known of the game.

    Examples
    --------
    >>> found = judge(Report(None, ("accepted", "declined")), Report(), False)
    >>> found.decision, found.cause, found.heard
    (False, 'declined', (True, False))
    """
    adds = said.feedback.adds_to(known.feedback)
    if said.contradicts(known):
        return Judgement(True, adds, None, None, known, (None, None))
    both = said.merged(known)
    return Judgement(False, adds, both.decision, both.cause, both, both.heard(timeout_declines))


def read_report(
    outcome: Outcome | None, answers: Mapping[str, Answer], players: Sequence[str]
) -> Report:
    """Read what was sent about a game of two players, given by name, or refuse it.

    Examples
    --------
    >>> read_report(None, {"bob": "declined"}, ("ann", "bob"))
    Report(played=None, answers=(None, 'declined'))
    """
    if not answers and outcome is None:
        raise InconsistentReportError(
            "the report has neither `outcome` nor `answers`: say whether the game was played, "
            "or what its players answered, if only unknown"
        )
    first, second = players
    for player in answers:
        if player not in players:
            raise InconsistentReportError(
                f"player {player!r} is not in this game: answer for {first!r} and {second!r}, the "
                "players who were proposed"
            )
    return _read(outcome, answers.get(first, UNKNOWN), answers.get(second, UNKNOWN))


@cache
def _read(outcome: Outcome | None, *said: Answer) -> Report:
    one, other = (None if each == UNKNOWN else each for each in said)
    report = Report(_PLAYED[outcome], (one, other))
    if not report.feedback.consistent:
        why = "a player did not accept" if report.played else "both players accepted"
        raise InconsistentReportError(
            f"the outcome is {outcome} although {why}: a game is played when both accept, "
            "correct one of the two"
        )
    return report


def outcome_of(played: bool | None) -> Outcome | None:
    """Return the word for whether a game was played, None if it is not known."""
    return _OUTCOMES[played]
