"""ObservedCouples: what was observed of many couples, in arrays that compiled steps take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.learning.feedback import Answer, CoupleFeedback

CODES: dict[Answer, int] = {True: 1, False: 0, None: -1}  # of the compiled steps
_ANSWERS: tuple[Answer, ...] = (None, False, True)  # in the order of their codes

Codes = NDArray[np.int8]  # 1 yes, 0 no, -1 not known


class ObservedCouples(NamedTuple):
    """Couples that were decided, a row each."""

    couples: NDArray[np.int64]  # of shape (couples, 2), the slots of each ascending
    played: NDArray[np.bool_]
    answers: Codes  # of the players in the order of their slots, with those that follow
    told: NDArray[np.bool_]  # whether an answer was given, and does not merely follow


def decide(
    couples: NDArray[np.int64],
    answers: Codes,
    played: Codes,
    describe: Callable[[int], str],
) -> tuple[ObservedCouples, NDArray[np.bool_]]:
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
    observed, decided
        The couples of which it is known whether they played, and which rows those are.

    Raises
    ------
    ObservationError
        What is said of a couple contradicts itself.

    Examples
    --------
    >>> couples, answers = np.array([[0, 1], [2, 3]]), np.array([[1, -1], [1, -1]])
    >>> observed, decided = decide(couples, answers, np.array([0, -1]), str)
    >>> observed.couples.tolist(), observed.answers.tolist(), decided.tolist()
    ([[0, 1]], [[1, 0]], [True, False])
    """
    rows = 9 * (answers[:, 0] + 1) + 3 * (answers[:, 1] + 1) + (played + 1)
    if not _CONSISTENT[rows].all():
        wrong = int(np.argmin(_CONSISTENT[rows]))
        _TABLE[rows[wrong]].checked(describe(wrong))
    known = _COMPLETED[rows]
    decided = known[:, 2] >= 0
    told = (answers[:, 0] >= 0) | (answers[:, 1] >= 0)
    observed = ObservedCouples(couples, known[:, 2] == 1, known[:, :2], told)
    if not decided.all():
        observed = ObservedCouples(*(each[decided] for each in observed))
    return observed, decided


def _completed_codes(feedback: CoupleFeedback) -> tuple[int, int, int]:
    if not feedback.consistent:
        return -1, -1, -1
    (one, other), played = feedback.completed.accepted, feedback.completed.played
    return CODES[one], CODES[other], CODES[played]


_TABLE = [CoupleFeedback((a, b), p) for a in _ANSWERS for b in _ANSWERS for p in _ANSWERS]
_CONSISTENT = np.array([feedback.consistent for feedback in _TABLE])
_COMPLETED = np.array([_completed_codes(feedback) for feedback in _TABLE], np.int8)
