"""Reports: what is said about a game, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, NamedTuple

from pairup.learning.feedback import CoupleFeedback
from pairup.service.domain.states import Answer, CancelCause, Outcome

ACCEPTED: Final = "accepted"
DECLINED: Final = "declined"
TIMED_OUT: Final = "timed_out"
UNKNOWN: Final = "unknown"
_ACCEPTS: dict[Answer, bool] = {ACCEPTED: True, DECLINED: False, TIMED_OUT: False}
_PLAYED: dict[Outcome | None, bool | None] = {None: None, "played": True, "cancelled": False}
_OUTCOMES = {played: outcome for outcome, played in _PLAYED.items()}


class InconsistentReportError(Exception):
    """A report contradicts itself."""


class Told(NamedTuple):
    """What is said or known of a game, with the answers of its players in order."""

    played: bool | None
    one: Answer | None  # None: not known
    other: Answer | None

    @property
    def answers(self) -> tuple[Answer | None, Answer | None]:
        """The answers of the two players."""
        return self.one, self.other


class Judgement(NamedTuple):
    """What follows from a report together with what was known before."""

    contradicts: bool  # the two cannot both be true; nothing else follows then
    adds: bool  # the report says something that was not known
    decision: bool | None  # whether the game was played, as far as it is known now
    cause: CancelCause | None
    known: Told
    heard: tuple[bool | None, bool | None]  # what the learner is told of the players


@dataclass(frozen=True)
class Report:
    """Whether a game was played, what its players answered, or both, as far as it is known.

    What one request says, or all that was said so far. Its logic is that of `CoupleFeedback`;
    beside it, a report tells a player who declined from one who timed out.

    Examples
    --------
    >>> Report(answers={"ann": "accepted", "bob": "declined"}).decision
    False
    """

    played: bool | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @classmethod
    def of(cls, outcome: Outcome | None, answers: Mapping[str, Answer]) -> Report:
        """Make a report from its JSON."""
        return cls(_PLAYED[outcome], answers)

    def checked(self, players: Sequence[str]) -> Report:
        """Check a report about a game of `players`, and return it without unknown answers."""
        said = self.told(players)
        known = zip(players, said.answers, strict=True)
        return Report(self.played, {player: each for player, each in sorted(known) if each})

    def told(self, players: Sequence[str]) -> Told:
        """Check a report about a game of `players`, and return it in their order."""
        for player in self.answers:
            if player not in players:
                raise InconsistentReportError(
                    f"player {player!r} is not in this game: answer for {players[0]!r} and "
                    f"{players[1]!r}, the players who were proposed"
                )
        if self.played is None and not self.answers:
            raise InconsistentReportError(
                "the report has neither `outcome` nor `answers`: say whether the game was played, "
                "or what its players answered, if only unknown"
            )
        one, other = players
        told = Told(self.played, _known(self.answers.get(one)), _known(self.answers.get(other)))
        if not _is_consistent(told):
            said = "a player did not accept" if self.played else "both players accepted"
            raise InconsistentReportError(
                f"the outcome is {_OUTCOMES[self.played]} although {said}: a game is played when "
                "both accept, correct one of the two"
            )
        return told

    def _feedback(self, *others: Report) -> CoupleFeedback:
        """Return the report as feedback of a couple, whose players `others` may name too."""
        names = sorted(self.answers.keys() | {name for each in others for name in each.answers})
        accepted = [_ACCEPTS.get(self.answers.get(name, UNKNOWN)) for name in names]
        one, other, *_ = [*accepted, None, None]
        return CoupleFeedback((one, other), self.played)

    @property
    def consistent(self) -> bool:
        """Whether the answers and the outcome can both be true."""
        return self._feedback().consistent

    @property
    def decision(self) -> bool | None:
        """Whether the game was played, None if that does not follow."""
        return self._feedback().decision

    def contradicts(self, known: Report) -> bool:
        """Whether this and what is known cannot both be true."""
        both = self.answers.keys() & known.answers.keys()
        if any(self.answers[player] != known.answers[player] for player in both):
            return True
        return self._feedback(known).contradicts(known._feedback(self))

    def adds_to(self, known: Report) -> bool:
        """Whether it says anything that is not known."""
        return self._feedback(known).adds_to(known._feedback(self))

    def merged(self, known: Report) -> Report:
        """Return what is known together with this report, which does not contradict it."""
        played = self.played if self.played is not None else known.played
        return Report(played, dict(sorted({**known.answers, **self.answers}.items())))

    @property
    def cause(self) -> CancelCause | None:
        """Why the game was not played, as far as it is known."""
        if self.decision is not False:
            return None
        answers = self.answers.values()
        if DECLINED in answers:
            return DECLINED
        return TIMED_OUT if TIMED_OUT in answers else "unstated"

    def heard(self, timeout_declines: bool) -> dict[str, bool]:
        """Return what a learner may conclude about the players.

        A player who declined, declined; one who timed out did so only if the pool's rules say it.
        Of a game that was not played, an acceptance is told only together with the other player's
        decline: alone it would turn a missing answer into a decline.
        """
        declines = {DECLINED, TIMED_OUT} if timeout_declines else {DECLINED}
        heard = {player: False for player, said in self.answers.items() if said in declines}
        if heard or self.decision:
            heard |= {player: True for player, said in self.answers.items() if said == ACCEPTED}
        return dict(sorted(heard.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as it is sent and stored."""
        return {"outcome": _OUTCOMES[self.played], "answers": dict(sorted(self.answers.items()))}


@cache  # there are few words, and so few reports
def judge(said: Told, known: Told, timeout_declines: bool) -> Judgement:
    """Judge a report that was checked, given what is known of the game.

    Examples
    --------
    >>> found = judge(Told(None, "accepted", "declined"), Told(None, None, None), False)
    >>> found.decision, found.cause, found.heard
    (False, 'declined', (True, False))
    """
    one, other = _named(said), _named(known)
    both, adds = one.merged(other), one.adds_to(other)
    if one.contradicts(other):
        return Judgement(True, adds, None, None, known, (None, None))
    answers = {name: both.answers.get(name) for name in _NAMES}
    heard = both.heard(timeout_declines)
    first, second = (heard.get(name) for name in _NAMES)
    merged = Told(both.played, *answers.values())
    return Judgement(False, adds, both.decision, both.cause, merged, (first, second))


_NAMES = ("a", "b")  # stand for the two players


def _named(told: Told) -> Report:
    named = zip(_NAMES, told.answers, strict=True)
    return Report(told.played, {name: said for name, said in named if said is not None})


@cache
def _is_consistent(told: Told) -> bool:
    return _named(told).consistent


def outcome_of(played: bool | None) -> Outcome | None:
    """Return the word for whether a game was played, None if it is not known."""
    return _OUTCOMES[played]


def _known(said: Answer | None) -> Answer | None:
    return None if said == UNKNOWN else said
