"""Panels of the page of a pool."""

from pairup.service.api.schemas.insight import GameCounts, ReleasedCounts, ReportCounts, StatsView
from pairup.service.dashboard.panels import feedback_bars


def test_each_kind_of_report_is_a_share_of_what_it_is_about():
    released = ReleasedCounts(released=1, left=1, deleted=0)
    stats = StatsView.model_construct(
        reports=40,
        games=GameCounts.model_construct(proposed=10, expired=4, released=released),
        feedback=ReportCounts(late=3, repeated=30, contradicting=1, missing=2, noted=0),
    )
    shares = {each.name: each.share for each in feedback_bars(stats)}
    expected = {"late": 3 / 6, "repeated": 30 / 40, "contradicting": 1 / 40, "missing": 2 / 4}
    assert shares == {**expected, "added later": 0.0}
