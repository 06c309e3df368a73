"""What follows from reports, for every pair of them."""

import itertools

import pytest

from pairup.service.domain.game_report import InconsistentReportError, Report

SAID = (None, "accepted", "declined", "timed_out", "unknown")


def every():
    """List every report that is not refused."""
    for outcome, a, b in itertools.product((None, "played", "cancelled"), SAID, SAID):
        answers = {player: said for player, said in (("a", a), ("b", b)) if said}
        try:
            yield Report.of(outcome, answers).checked(("a", "b"))
        except InconsistentReportError:
            continue


def test_two_answers_decide_whether_a_game_was_played():
    for report in every():
        if len(report.answers) == 2:
            assert report.decision is (set(report.answers.values()) == {"accepted"})


@pytest.mark.parametrize("first", list(every()), ids=str)
def test_two_reports_contradict_each_other_or_can_be_joined(first):
    for second in every():
        assert first.contradicts(second) == second.contradicts(first)
        if first.contradicts(second):
            continue
        both = second.merged(first)
        assert both.consistent
        assert both.decision == first.merged(second).decision
        for each in (first, second):
            assert not each.contradicts(both)
            assert not each.adds_to(both)
            assert each.decision in (None, both.decision)
    assert not first.contradicts(first)
    assert not first.adds_to(first)


def test_a_missing_answer_is_never_a_decline():
    for report, strict in itertools.product(every(), (True, False)):
        heard = report.heard(timeout_declines=strict)
        for player, yes in heard.items():
            said = report.answers.get(player)
            assert said in (("accepted",) if yes else ("declined", "timed_out"))
            assert yes or said == "declined" or strict
        if report.decision is False and True in heard.values():
            assert False in heard.values()


def test_an_outcome_without_answers_tells_the_learner_no_answers():
    assert Report(True).heard(timeout_declines=True) == {}
