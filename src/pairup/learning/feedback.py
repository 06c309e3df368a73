"""What is known of a proposed game: who accepted, whether it was played, and what follows.

The one truth table of accept, decline and played: `CoupleFeedback` for one couple, `decide` for the
rows of arrays. The live learner reads what it observes with it, and so does the service with the
reports that it gets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.errors import ObservationError

Answer = bool | None  # True: accepted, False: declined, None: not known
Answers = tuple[Answer, Answer]  # of the two players of a couple, in the order of the couple
Codes = NDArray[np.int8]  # 1 yes, 0 no, -1 not known

CODES: dict[Answer, int] = {True: 1, False: 0, None: -1}  # of the compiled steps
_ANSWERS: tuple[Answer, ...] = (None, False, True)  # in the order of their codes


@dataclass(frozen=True)
class CoupleFeedback:
    """What the two players of a couple answered and whether they played, as far as it is known.

    A couple plays if and only if both of its players accept. So a decline means that they did not
    play; two acceptances, that they did; and if they did not play although one accepted, then the
    other declined. A missing answer is not a decline.

    Examples
    --------
    The truth table. The last two columns are what follows from the first two:

    >>> from itertools import combinations_with_replacement
    >>> word = {True: "yes", False: "no", None: "-"}
    >>> def row(answers, played):
    ...     cells = *answers, played
    ...     return "{:>5}{:>5}{:>7}".format(*(word[cell] for cell in cells))
    >>> for accepted in combinations_with_replacement((True, False, None), 2):
    ...     for played in (True, False, None):
    ...         feedback = CoupleFeedback(accepted, played)
    ...         known = feedback.completed if feedback.consistent else None
    ...         follows = row(known.accepted, known.played) if known else "  contradiction"
    ...         print(row(accepted, played), "  =>", follows)
      yes  yes    yes   =>   yes  yes    yes
      yes  yes     no   =>   contradiction
      yes  yes      -   =>   yes  yes    yes
      yes   no    yes   =>   contradiction
      yes   no     no   =>   yes   no     no
      yes   no      -   =>   yes   no     no
      yes    -    yes   =>   yes  yes    yes
      yes    -     no   =>   yes   no     no
      yes    -      -   =>   yes    -      -
       no   no    yes   =>   contradiction
       no   no     no   =>    no   no     no
       no   no      -   =>    no   no     no
       no    -    yes   =>   contradiction
       no    -     no   =>    no    -     no
       no    -      -   =>    no    -     no
        -    -    yes   =>   yes  yes    yes
        -    -     no   =>     -    -     no
        -    -      -   =>     -    -      -
    """

    accepted: Answers = (None, None)
    played: bool | None = None

    @property
    def decision(self) -> bool | None:
        """Whether the couple played, as said or as it follows from the answers; None if neither."""
        return self.played if self.played is not None else _outcome_of(self.accepted)

    @property
    def consistent(self) -> bool:
        """Whether the answers and the outcome can both be true."""
        return self.played is None or _outcome_of(self.accepted) in (None, self.played)

    @property
    def completed(self) -> CoupleFeedback:
        """The same, with the outcome and the answers that follow."""
        played, (one, other) = self.decision, self.accepted
        if played:
            one = other = True
        elif played is False and one:
            other = False
        elif played is False and other:
            one = False
        return CoupleFeedback((one, other), played)

    def checked(self, couple: str = "the couple") -> CoupleFeedback:
        """Return the feedback itself, or refuse it if it contradicts itself.

        Examples
        --------
        >>> CoupleFeedback((True, False), played=True).checked("'ann' and 'bob'")
        Traceback (most recent call last):
        ...
        pairup.errors.ObservationError: 'ann' and 'bob' played although one of them did not accept:
        a couple plays when both accept, correct one of the two
        """
        if self.consistent:
            return self
        outcome = "played" if self.played else "did not play"
        answers = "one of them did not accept" if self.played else "both accepted"
        raise ObservationError(
            f"{couple} {outcome} although {answers}: a couple plays when both accept, correct one "
            "of the two"
        )

    def contradicts(self, known: CoupleFeedback) -> bool:
        """Whether this and what is known, each consistent in itself, cannot both be true."""
        answers = zip(self.accepted, known.accepted, strict=True)
        if any({True, False} <= set(both) for both in answers):
            return True
        together = _outcome_of(self.merged(known).accepted)
        return {True, False} <= {self.decision, known.decision, together}

    def adds_to(self, known: CoupleFeedback) -> bool:
        """Whether it decides what was open, or gives an answer that was not given before.

        An answer that merely follows counts as not given.

        Examples
        --------
        >>> CoupleFeedback((None, False)).adds_to(CoupleFeedback((True, None), played=False))
        True
        """
        answers = zip(self.accepted, known.accepted, strict=True)
        decides = self.decision is not None and known.decision is None
        return decides or any(new is not None and old is None for new, old in answers)

    def merged(self, known: CoupleFeedback) -> CoupleFeedback:
        """Return what is known together with this, which does not contradict it."""
        one, other = (
            old if new is None else new
            for new, old in zip(self.accepted, known.accepted, strict=True)
        )
        return CoupleFeedback((one, other), known.played if self.played is None else self.played)


def _outcome_of(accepted: Answers) -> bool | None:
    """Return whether a couple with these answers played, None if that does not follow."""
    if False in accepted:
        return False
    return None if None in accepted else True


# --- many couples at once -------------------------------------------------------------------------


class ObservedCouples(NamedTuple):
    """Couples that were decided, a row each, in arrays that compiled steps take."""

    couples: NDArray[np.int64]  # of shape (couples, 2), the slots of each ascending
    played: NDArray[np.bool_]
    answers: Codes  # of the players in the order of their slots, with those that follow
    told: NDArray[np.bool_]  # whether an answer was given, and does not merely follow


def decide(
    couples: NDArray[np.int64],
    answers: Codes,
    played: Codes,
    describe: Callable[[int], str],
) -> ObservedCouples:
    """Read what is known of each couple by the truth table of `CoupleFeedback`.

    Parameters
    ----------
    couples
        Slots of the players, a row of two for each couple.
    answers, played
        Codes of what they answered, of shape (couples, 2), and of whether they played.
    describe
        Names the couple of a row, for a message.

    Returns
    -------
    ObservedCouples
        The couples of which it is known whether they played.

    Raises
    ------
    ObservationError
        What is said of a couple contradicts itself.

    Examples
    --------
    >>> couples, answers = np.array([[0, 1], [2, 3]]), np.array([[1, -1], [1, -1]])
    >>> observed = decide(couples, answers, np.array([0, -1]), str)
    >>> observed.couples.tolist(), observed.answers.tolist()
    ([[0, 1]], [[1, 0]])
    """
    consistent, known = complete(answers, played)
    if not consistent.all():
        wrong = int(np.argmin(consistent))
        _TABLE[_rows(answers, played)[wrong]].checked(describe(wrong))
    decided = known[:, 2] >= 0
    told = (answers[:, 0] >= 0) | (answers[:, 1] >= 0)
    rows = slice(None) if decided.all() else decided  # a slice copies nothing
    return ObservedCouples(couples[rows], known[rows, 2] == 1, known[rows, :2], told[rows])


def complete(answers: Codes, played: Codes) -> tuple[NDArray[np.bool_], Codes]:
    """Add what follows to what is known of couples, by the truth table of `CoupleFeedback`.

    Returns whether what is said of each couple is consistent, and codes of the two answers and of
    whether they played, all -1 where it is not.

    Examples
    --------
    >>> consistent, known = complete(np.array([[1, -1], [1, 0]]), np.array([0, 1]))
    >>> consistent.tolist(), known.tolist()
    ([True, False], [[1, 0, 0], [-1, -1, -1]])
    """
    rows = _rows(answers, played)
    return _CONSISTENT[rows], _COMPLETED[rows]


def _rows(answers: Codes, played: Codes) -> NDArray[np.int64]:
    """Return the rows of the truth table."""
    return 9 * (answers[:, 0] + 1) + 3 * (answers[:, 1] + 1) + (played + 1)


def _completed_codes(feedback: CoupleFeedback) -> tuple[int, int, int]:
    if not feedback.consistent:
        return -1, -1, -1
    (one, other), played = feedback.completed.accepted, feedback.completed.played
    return CODES[one], CODES[other], CODES[played]


_TABLE = [CoupleFeedback((a, b), p) for a in _ANSWERS for b in _ANSWERS for p in _ANSWERS]
_CONSISTENT = np.array([feedback.consistent for feedback in _TABLE])
_COMPLETED = np.array([_completed_codes(feedback) for feedback in _TABLE], np.int8)
