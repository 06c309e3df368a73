import polars as pl

from pairup.cli.output import draw_sparklines
from tests.support.experiments.frames import rows


def test_curves_of_a_problem_share_their_scale():
    ends = {("p", "a"): 10, ("p", "b"): 1000, ("q", "a"): 10}
    results = pl.concat(
        [
            rows(policy, [[0, end], [0, end]], problem, (1, 99))
            for (problem, policy), end in ends.items()
        ]
    )
    drawn = draw_sparklines(results)
    assert {key: (line[0], line[-1]) for key, line in drawn.items()} == {
        ("p", "a"): ("▁", "▃"),
        ("p", "b"): ("▁", "█"),
        ("q", "a"): ("▁", "█"),
    }
    assert {len(line) for line in drawn.values()} == {16}
