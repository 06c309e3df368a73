import dataclasses

import numpy as np
import polars as pl
import pytest

from pairup import Problem, load_experiment, run_experiment, simulate
from pairup.analysis.claims import CLAIMS, PAPER_ROUNDS, check_claims
from pairup.experiments.results import HorizonCheck
from tests.support.experiments.frames import POLICIES, rows

PAIRS = range(2, 12)


def growing(policy, law, spread=0.01):
    """Final regret by a law of L, over the paper's number of rounds."""
    noise = 1 + spread * np.random.default_rng(len(policy)).normal(0, 1, 8)
    return pl.concat(
        [
            rows(policy, law(pairs) * noise, f"from_zero({pairs})", (PAPER_ROUNDS,))
            .with_columns(pl.lit("from_zero").alias("family"), pairs=pl.lit(pairs, pl.Int64))
            .with_columns(param_mean=pl.lit(None, pl.Float64))
            for pairs in PAIRS
        ]
    )


def findings(frame, checks=()):
    return {claim.text: finding for claim, finding in check_claims(frame, checks).items()}


def judge(text, *frames):
    return findings(pl.concat(frames))[text]


HALF, FIFTH, V1_IN_L, V2_IN_L, BELOW, IN_TIME, HORIZON = (claim.text for claim in CLAIMS)


def test_without_results_nothing_is_judged():
    found = findings(rows("SAM", [1.0, 2.0]))
    assert {finding.holds for finding in found.values()} == {"not measured"}
    assert "V1" in found[HALF].comment


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 500 * pairs, "holds"),
        (lambda pairs: 300 * pairs, "holds in part"),
        (lambda pairs: 1000 * pairs, "does not hold"),
    ],
)
def test_half_holds_between_a_ratio_of_1_5_and_2_5(law, holds):
    finding = judge(HALF, growing("SAM", lambda pairs: 1000 * pairs), growing("V1", law))
    assert finding.holds == holds
    true = 1000 * sum(PAIRS) / sum(map(law, PAIRS))
    assert 0.98 * true < finding.low < true < finding.high < 1.02 * true


def test_where_the_half_deviates_is_said():
    sam = growing("SAM", lambda pairs: 1000 if pairs == 2 else 2000)
    finding = judge(HALF, sam, growing("V1", lambda pairs: 1000))
    assert finding.holds == "holds in part"
    assert "Less than 1.5 at L = 2." in finding.comment


@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 100, "holds"),
        (lambda pairs: 100 if pairs > 5 else 400, "holds in part"),
        (lambda pairs: 400, "does not hold"),
    ],
)
def test_fifth_holds_above_a_ratio_of_5(law, holds):
    finding = judge(FIFTH, growing("SAM", lambda pairs: 1000), growing("V2", law))
    assert finding.holds == holds
    if holds == "holds in part":
        assert "Shown at L = 6, 7, 8, 9, 10, 11" in finding.comment


@pytest.mark.parametrize(("text", "policy"), [(V1_IN_L, "V1"), (V2_IN_L, "V2")])
@pytest.mark.parametrize(
    ("law", "holds"),
    [
        (lambda pairs: 10 * pairs, "holds"),
        (lambda pairs: 100 * (1 - 1 / (2 * pairs - 1)), "holds in part"),
        (lambda pairs: pairs**2, "does not hold"),
    ],
)
def test_linear_in_pairs_holds_for_an_exponent_near_1(text, policy, law, holds):
    finding = judge(text, growing(policy, law))
    assert finding.holds == holds
    assert "R² = " in finding.measured


@pytest.mark.parametrize(
    ("factors", "holds"),
    [((0.2, 0.3), "holds"), ((0.2, 1.0), "holds in part"), ((1.1, 1.2), "does not hold")],
)
def test_below_sam_holds_for_every_mean(factors, holds):
    noise = np.array([0.98, 1.0, 1.02, 1.01])
    frames = []
    for mean, factor in zip((0.5, 0.8), factors, strict=True):
        given = {"problem": f"around({mean})", "rounds": (PAPER_ROUNDS,), "param_mean": mean}
        frames += [
            rows("SAM", 100 * noise, **given),
            rows("V2", 100 * factor * noise[::-1], **given),
        ]
    finding = judge(BELOW, *frames)
    assert finding.holds == holds
    assert finding.low < max(factors) < finding.high


@pytest.mark.parametrize(
    ("late", "holds"), [(1.0, "holds"), (0.92, "holds in part"), (0.2, "does not hold")]
)
def test_linear_in_time_holds_for_steady_slopes(late, holds):
    slope = 0.01 * 6 / 7
    half = PAPER_ROUNDS // 2
    curve = [slope * half / 5, slope * half, slope * half * (1 + late)]
    regret = [curve, [1.001 * each for each in curve]]
    finding = judge(IN_TIME, rows("V1", regret, rounds=(half // 5, half, PAPER_ROUNDS)))
    assert finding.holds == holds


def test_a_claim_is_not_judged_on_several_problems_per_point():
    other = growing("V1", lambda pairs: 10 * pairs).with_columns(
        problem=pl.col("problem") + "'", param_gap=pl.lit(0.05)
    )
    both = pl.concat([growing("V1", lambda pairs: 10 * pairs), other])
    text = "The regret of V1 is linear in L"
    assert judge(text, both).holds == "not measured"
    assert "one for each L" in judge(text, both).comment


def test_v1_really_is_linear_in_time():
    problem = Problem.around(0.5, 4, 0.1)
    run = simulate(problem, POLICIES["V1"], rounds=30_000, replications=4)
    finding = judge(IN_TIME, rows("V1", run.regret, rounds=run.rounds))
    assert finding.holds == "holds"
    assert "Measured over 30,000 rounds" in finding.comment


def horizon(**same):
    """Judge the horizon by checks of these policies on one of the problems."""
    checks = [HorizonCheck(policy, "p", 500, found) for policy, found in same.items()]
    results = pl.concat([rows(policy, [1.0, 2.0], family="from_zero") for policy in POLICIES])
    return findings(results, [*checks, HorizonCheck("V1", "another", 9, False)])[HORIZON]


def test_policies_that_do_not_know_the_horizon_play_the_same_first_rounds():
    finding = horizon(V1=True, V2=True, SAM=False)
    assert finding.holds == "holds"
    assert "the first 500 rounds" in finding.measured
    assert "V1 yes, V2 yes, SAM no" in finding.measured
    assert "plays differently" in finding.comment
    assert "had not split" in horizon(V1=True, V2=True, SAM=True).comment


def test_a_policy_that_changes_with_the_horizon_is_found_out():
    finding = horizon(V1=True, V2=False, SAM=False)
    assert finding.holds == "holds in part"
    assert "V2 no" in finding.measured
    assert horizon(V1=False, V2=False, SAM=False).holds == "does not hold"


def test_without_its_check_the_horizon_is_not_judged():
    finding = horizon(V1=True, V2=True)
    assert finding.holds == "not measured"
    assert "run the experiment again" in finding.comment


def test_no_policy_of_the_paper_knows_the_horizon():
    experiment = dataclasses.replace(
        load_experiment("experiment-1").scaled(rounds=5_000, replications=3),
        problems=load_experiment("experiment-1").problems[:3],
        figures=(),
    )
    results = run_experiment(experiment)
    finding = findings(results.frame, results.horizon_checks)[HORIZON]
    assert finding.holds == "holds"
    assert "V1 yes, V2 yes" in finding.measured
