"""Points of the curve over time."""

from pairup.service.api.schemas.insight import Course
from pairup.service.dashboard.charts import course_points


def test_points_join_buckets_until_they_mean_something():
    def bucket(index, games, played, random, best=0.5):
        counted = {"index": index, "games": games, "played": played, "explored": 0}
        share = {"estimate": played / games, "low": 0, "high": 1}
        return {**counted, "share": share, "expected": None, "random": random, "best": best}

    assert course_points(Course(width=1, buckets=[])) == []
    buckets = [bucket(k, 1, k % 2, None if k < 5 else 0.5) for k in range(12)]
    (only,) = course_points(Course(width=1, buckets=buckets))
    assert (only.first, only.last, only.played, only.share, only.random) == (1, 12, 6, 0.5, 0.5)
    assert only.best == 0.5
    many = [bucket(64 * k, 64, 16, 0.1) for k in range(128)]
    points = course_points(Course(width=64, buckets=many))
    assert [each.first for each in points[:3]] == [
        1,
        513,
        1025,
    ]  # 5 square roots of 8,192
    assert {(each.played, each.share) for each in points} == {(128, 0.25)}
    huge = [bucket(4096 * k, 4096, 1024, 0.1) for k in range(128)]
    assert len(course_points(Course(width=4096, buckets=huge))) <= 24
