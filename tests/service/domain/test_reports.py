"""What follows from reports, for every pair of them."""

import itertools

import pytest

from pairup.service.domain.reports import InconsistentReportError, Report, judge, read_report

SAID = (None, "accepted", "declined", "timed_out", "unknown")


def every():
    """List every report that is not refused."""
    for outcome, a, b in itertools.product((None, "played", "cancelled"), SAID, SAID):
        answers = {player: said for player, said in (("a", a), ("b", b)) if said}
        try:
            yield read_report(outcome, answers, ("a", "b"))
        except InconsistentReportError:
            continue


def test_two_answers_decide_whether_a_game_was_played():
    for report in every():
        if None not in report.answers:
            assert report.decision is (set(report.answers) == {"accepted"})


@pytest.mark.parametrize("first", list(every()), ids=str)
def test_two_reports_contradict_each_other_or_can_be_joined(first):
    for second in every():
        assert first.contradicts(second) == second.contradicts(first)
        found = judge(second, first, timeout_declines=False)
        assert found.contradicts == first.contradicts(second)
        if first.contradicts(second):
            assert found.known == first
            continue
        both = second.merged(first)
        assert (found.known, found.decision) == (both, both.decision)
        assert both.feedback.consistent
        assert both.decision == first.merged(second).decision
        for each in (first, second):
            assert not each.contradicts(both)
            assert not judge(each, both, timeout_declines=False).adds
            assert each.decision in (None, both.decision)
    assert not first.contradicts(first)
    assert not judge(first, first, timeout_declines=False).adds


def test_a_missing_answer_is_never_a_decline():
    for report, strict in itertools.product(every(), (True, False)):
        heard = report.heard(timeout_declines=strict)
        for said, yes in zip(report.answers, heard, strict=True):
            if yes is not None:
                assert said in (("accepted",) if yes else ("declined", "timed_out"))
                assert yes or said == "declined" or strict
        if report.decision is False and True in heard:
            assert False in heard


def test_an_outcome_without_answers_tells_the_learner_no_answers():
    assert Report(True).heard(timeout_declines=True) == (None, None)


def test_answers_stand_in_the_order_of_the_players_whatever_the_order_sent():
    for players in (("a", "b"), ("b", "a")):
        sent = {"b": "declined", "a": "accepted"}
        assert read_report(None, sent, players).answers == tuple(sent[each] for each in players)
