"""The truth table against its definition: a couple plays if and only if both players accept."""

from itertools import product

import pytest

from pairup import ObservationError
from pairup.learning.feedback import CoupleFeedback

VALUES = (True, False, None)
ALL = [CoupleFeedback((one, other), played) for one, other, played in product(VALUES, repeat=3)]
CONSISTENT = [feedback for feedback in ALL if feedback.consistent]


def worlds(*feedback):
    """List the answers of both players that agree with everything that was said."""
    return [
        (one, other)
        for one, other in product((True, False), repeat=2)
        if all(
            said in (None, true)
            for each in feedback
            for said, true in zip(
                (*each.accepted, each.played), (one, other, one and other), strict=True
            )
        )
    ]


def agreed(values):
    """Return the value that all have, None if there are two."""
    return values.pop() if len(values := set(values)) == 1 else None


@pytest.mark.parametrize("feedback", ALL, ids=str)
def test_feedback_is_refused_if_and_only_if_it_cannot_be_true(feedback):
    assert feedback.consistent == bool(worlds(feedback))
    if feedback.consistent:
        assert feedback.checked("ann and bob") is feedback
    else:
        with pytest.raises(ObservationError, match=r"^ann and bob .* correct one of the two$"):
            feedback.checked("ann and bob")


@pytest.mark.parametrize("feedback", CONSISTENT, ids=str)
def test_what_follows_is_what_is_true_in_every_possible_case(feedback):
    cases = worlds(feedback)
    played = agreed(one and other for one, other in cases)
    answers = agreed(one for one, _ in cases), agreed(other for _, other in cases)
    assert feedback.decision is played
    assert feedback.completed == CoupleFeedback(answers, played)


@pytest.mark.parametrize("first", CONSISTENT, ids=str)
def test_two_reports_contradict_each_other_or_can_be_merged(first):
    for second in CONSISTENT:
        assert first.contradicts(second) == (not worlds(first, second))
        if first.contradicts(second):
            continue
        both = first.merged(second)
        assert worlds(both) == worlds(first, second)
        for each in (first, second):
            assert not each.contradicts(both)
            assert not each.adds_to(both)
    assert not first.adds_to(first)


def test_an_answer_that_follows_still_adds_to_what_was_said():
    known = CoupleFeedback((True, None), played=False)
    assert CoupleFeedback((None, False)).adds_to(known)
    assert not CoupleFeedback(played=False).adds_to(CoupleFeedback((True, False)))
