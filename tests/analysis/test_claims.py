import numpy as np
import polars as pl
import pytest

from pairup import Problem, simulate
from pairup.analysis.claims import CLAIMS, PAPER_ROUNDS, check
from tests.support.experiments.frames import POLICIES, rows, simulated

PAIRS = range(2, 12)


def growing(policy, law, spread=0.01):
    """Final regret by a law of L, over the paper's number of rounds."""
    noise = 1 + spread * np.random.default_rng(len(policy)).normal(0, 1, 8)
    return pl.concat(
        [
            rows(policy, law(pairs) * noise, f"from_zero({pairs})", (PAPER_ROUNDS,))
            .with_columns(pl.lit("from_zero").alias("family"), pairs=pl.lit(pairs, pl.Int64))
            .with_columns(mean=pl.lit(None, pl.Float64))
            for pairs in PAIRS
        ]
    )


def verdicts(frame):
    return {verdict.claim.text: verdict for verdict in check(frame)}


def judge(text, *frames):
    return verdicts(pl.concat(frames))[text]


HALF, FIFTH, V1_IN_L, V2_IN_L, BELOW, IN_TIME, HORIZON = (claim.text for claim in CLAIMS)


def test_without_results_nothing_is_judged():
    found = verdicts(rows("SAM", [1.0, 2.0]))
    assert {verdict.holds for verdict in found.values()} == {"not measured"}
    assert "V1" in found[HALF].comment


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 500 * pairs, "holds"),
        (lambda pairs: 300 * pairs, "holds in part"),
        (lambda pairs: 1000 * pairs, "does not hold"),
    ],
)
def test_half(law, holds):
    verdict = judge(HALF, growing("SAM", lambda pairs: 1000 * pairs), growing("V1", law))
    assert verdict.holds == holds
    assert verdict.low < 1000 * 65 / sum(map(law, PAIRS)) * 65 / 65 < verdict.high


def test_where_the_half_deviates_is_said():
    sam = growing("SAM", lambda pairs: 1000 if pairs == 2 else 2000)
    verdict = judge(HALF, sam, growing("V1", lambda pairs: 1000))
    assert verdict.holds == "holds in part"
    assert "Less than 1.5 at L = 2." in verdict.comment


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 100, "holds"),
        (lambda pairs: 100 if pairs > 5 else 400, "holds in part"),
        (lambda pairs: 400, "does not hold"),
    ],
)
def test_fifth(law, holds):
    verdict = judge(FIFTH, growing("SAM", lambda pairs: 1000), growing("V2", law))
    assert verdict.holds == holds
    if holds == "holds in part":
        assert "Shown at L = 6, 7, 8, 9, 10, 11" in verdict.comment


@pytest.mark.parametrize(("text", "policy"), [(V1_IN_L, "V1"), (V2_IN_L, "V2")])
@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 10 * pairs, "holds"),
        (lambda pairs: 100 * (1 - 1 / (2 * pairs - 1)), "holds in part"),
        (lambda pairs: pairs**2, "does not hold"),
    ],
)
def test_linear_in_pairs(text, policy, law, holds):
    verdict = judge(text, growing(policy, law))
    assert verdict.holds == holds
    assert "R² = " in verdict.measured


@pytest.mark.parametrize(
    ("factors", "holds"),
    [((0.2, 0.3), "holds"), ((0.2, 1.0), "holds in part"), ((1.1, 1.2), "does not hold")],
)
def test_below_sam(factors, holds):
    noise = np.array([0.98, 1.0, 1.02, 1.01])
    frames = []
    for mean, factor in zip((0.5, 0.8), factors, strict=True):
        given = {"problem": f"around({mean})", "rounds": (PAPER_ROUNDS,), "mean": mean}
        frames += [
            rows("SAM", 100 * noise, **given),
            rows("V2", 100 * factor * noise[::-1], **given),
        ]
    verdict = judge(BELOW, *frames)
    assert verdict.holds == holds
    assert verdict.low < max(factors) < verdict.high


@pytest.mark.parametrize(
    ("late", "holds"), [(1.0, "holds"), (0.92, "holds in part"), (0.2, "does not hold")]
)
def test_linear_in_time(late, holds):
    slope = 0.01 * 6 / 7
    half = PAPER_ROUNDS // 2
    curve = [slope * half / 5, slope * half, slope * half * (1 + late)]
    regret = [curve, [1.001 * each for each in curve]]
    verdict = judge(IN_TIME, rows("V1", regret, rounds=(half // 5, half, PAPER_ROUNDS)))
    assert verdict.holds == holds


def test_v1_really_is_linear_in_time():
    problem = Problem.around(0.5, 4, 0.1)
    run = simulate(problem, POLICIES["V1"], rounds=30_000, replications=4)
    verdict = judge(IN_TIME, rows("V1", run.regret, rounds=run.rounds))
    assert verdict.holds == "holds"
    assert "Measured over 30,000 rounds" in verdict.comment


def test_no_policy_of_the_paper_knows_the_horizon():
    verdict = judge(HORIZON, simulated(pairs=(4,), rounds=5_000))
    assert verdict.holds == "holds"
    assert "V1 yes, V2 yes" in verdict.measured


def test_a_policy_that_changes_with_the_horizon_is_found_out():
    results = simulated(pairs=(4,), rounds=5_000)
    first = pl.col("policy") == "V2", pl.col("round") < 100
    changed = results.with_columns(regret=pl.when(*first).then(0.0).otherwise("regret"))
    verdict = judge(HORIZON, changed)
    assert verdict.holds == "holds in part"
    assert "V2 no" in verdict.measured
