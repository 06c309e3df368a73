"""Claims: the paper's statements about its experiments, each compared with the results by a rule.

The paper's policies are found by their labels, "SAM", "V1" and "V2". Rules are about intervals, and
the docstring of each states it; nothing is decided by eye.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from scipy import stats

from pairup.analysis.comparisons import ratios
from pairup.analysis.means import final, samples
from pairup.bounds import theorem
from pairup.experiments.results import HorizonCheck
from pairup.intervals import Floats, student_interval
from pairup.policies import get_policy
from pairup.problem import Problem

Holds = Literal["holds", "holds in part", "does not hold", "not measured"]

PAPER_ROUNDS = 1_000_000
_HALF = (1.5, 2.5)  # "about half": SAM's regret is 1.5 to 2.5 times as large
_FIFTH = 5.0
_LINEAR = (0.8, 1.2)  # "linear": the exponent of a power law
_STEADY = 0.05  # "linear in t": slopes that differ by at most 5%


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, what was measured, and where and why it deviates.

    `low` and `high` are the ends of the 95% interval of the number that decides; None where the
    rule needs no number.
    """

    holds: Holds
    measured: str
    comment: str = ""
    low: float | None = None
    high: float | None = None


Rule = Callable[[pl.DataFrame, Sequence[HorizonCheck]], Finding]


def _not_measured(needed: str) -> Finding:
    """Return the finding of a claim that cannot be judged, with what is missing."""
    return Finding("not measured", "no results", needed)


def _judge_half(rows: pl.DataFrame, _: Sequence[HorizonCheck]) -> Finding:
    """Hold if SAM / V1 lies in [1.5, 2.5] for every L; in part if it lies above 1.5 overall."""
    whole = ratios(rows, "SAM", "V1", pooled=True).row(0, named=True)
    each = ratios(rows, "SAM", "V1")
    low, high = _HALF
    less, more = each.filter(pl.col("ratio") < low), each.filter(pl.col("ratio") > high)
    inside = low <= whole["low"] and whole["high"] <= high
    holds = _grade(inside and less.is_empty() and more.is_empty(), whole["low"] >= low)
    parts = [
        f"{what} at L = {_list(some)}"
        for what, some in ((f"Less than {low:g}", less), (f"more than {high:g}", more))
        if len(some)
    ]
    comment = ""
    if parts:
        text = " and ".join(parts)
        comment = (
            f"{text[0].upper()}{text[1:]}. The ratio changes with L: with many "
            "couples V1 explores in nearly every round and loses about the gap squared in it, "
            "whatever L is, while SAM's tournaments cost more the more players there are."
        )
    measured = _ratio_text("SAM / V1", whole, each)
    return Finding(holds, measured, comment, whole["low"], whole["high"])


def _judge_fifth(rows: pl.DataFrame, _: Sequence[HorizonCheck]) -> Finding:
    """Hold if the interval of SAM / V2 lies above 5, overall and for every L."""
    whole = ratios(rows, "SAM", "V2", pooled=True).row(0, named=True)
    each = ratios(rows, "SAM", "V2")
    above = each.filter(pl.col("low") > _FIFTH)
    holds = _grade(whole["low"] > _FIFTH and len(above) == len(each), len(above) > 0)
    comment = ""
    if len(above) < len(each):
        shown = f"Shown at L = {_list(above)}" if len(above) else "Shown at no L"
        comment = (
            f"{shown}; elsewhere the ratio is smaller or its interval holds 5. With few couples "
            "SAM has little to waste: at L = 2 only two of three matchings cost anything, and V2 "
            "must compare couples that seldom play, (rate times gap) apart, over most of the run."
        )
    measured = _ratio_text("SAM / V2", whole, each)
    return Finding(holds, measured, comment, whole["low"], whole["high"])


def _judge_linear_in_pairs(rows: pl.DataFrame, _: Sequence[HorizonCheck]) -> Finding:
    """Hold if the exponent of L lies in [0.8, 1.2]; in part if it lies below."""
    if rows["pairs"].n_unique() < 3:
        return _not_measured("Needs at least three values of L.")
    policy = str(rows["policy"].item(0))
    pairs, regret = _regret_by_pairs(rows, policy)
    powers = [stats.linregress(np.log(pairs), np.log(each)).slope for each in regret]
    power, low, high = map(float, student_interval(np.array(powers)))
    mean = regret.mean(axis=0)
    curves = {"L": pairs, "L log L": pairs * np.log(pairs), "log L": np.log(pairs)}
    fits = {name: stats.linregress(x, mean).rvalue ** 2 for name, x in curves.items()}
    measured = (
        f"regret grows as L to the power {power:.2f}, from {mean[0]:,.0f} at L = {pairs[0]:g} "
        f"to {mean[-1]:,.0f} at L = {pairs[-1]:g}; straight line: R² = {fits['L']:.3f} in L, "
        f"{fits['L log L']:.3f} in L log L, {fits['log L']:.3f} in log L"
    )
    holds = _grade(_LINEAR[0] <= low and high <= _LINEAR[1], high <= _LINEAR[1])
    comment = "It grows faster than linearly here." if holds == "does not hold" else ""
    if holds == "holds in part":
        comment = _explain_flatness(policy, pairs, mean, rows)
    return Finding(holds, measured, comment, low, high)


def _explain_flatness(policy: str, pairs: Floats, regret: Floats, rows: pl.DataFrame) -> str:
    start = "No more than linear, which is what the theorem bounds, but flatter: "
    gap, rounds = float(rows["param_gap"].item(0)), float(max(rows["round"]))
    if policy == "V1":
        share = regret / (rounds * gap**2 * (2 * pairs - 2) / (2 * pairs - 1))
        return start + (
            "exploring a neighbour loses the gap squared whatever L is, so that exploring all the "
            "time loses T gap² (2L − 2) / (2L − 1). V1 loses "
            f"{100 * share[0]:.0f}% of that at L = {pairs[0]:g} and {100 * share[-1]:.0f}% at "
            f"L = {pairs[-1]:g}."
        )
    first, last = (
        theorem(Problem.from_zero(int(each), gap), get_policy("unimodal")).constant
        for each in (pairs[0], pairs[-1])
    )
    return start + (
        "a couple of rate r costs about 1 / r² to tell from the next, and the couples that are "
        "added with L are better ones. The bound of Theorem 2 itself grows only "
        f"{last / first:.2f} times from L = {pairs[0]:g} to {pairs[-1]:g} on these problems."
    )


def _judge_below_sam(rows: pl.DataFrame, _: Sequence[HorizonCheck]) -> Finding:
    """Hold if the interval of V2 / SAM lies below 1 for every mean."""
    each = ratios(rows, "V2", "SAM").sort("param_mean")
    below = each.filter(pl.col("high") < 1)
    worst, low, high = each.row(int(each["high"].arg_max() or 0))[-3:]
    points = each.select("param_mean", "ratio").iter_rows()
    texts = (f"{ratio:.2f} at {mean:g}" for mean, ratio in points)
    measured = f"V2 / SAM: {', '.join(texts)}; largest {worst:.2f} ({low:.2f} to {high:.2f})"
    holds = _grade(len(below) == len(each), len(below) > 0)
    comment = "" if holds == "holds" else f"Shown at {len(below)} of {len(each)} means."
    return Finding(holds, measured, comment, low, high)


def _judge_linear_in_time(rows: pl.DataFrame, _: Sequence[HorizonCheck]) -> Finding:
    """Hold if the slope of the second half is within 5% of that of the first."""
    half = rows.filter((pl.col("param_mean") - 0.5).abs() < 1e-9)
    if half.is_empty():
        return _not_measured("Needs the mean 0.5.")
    late, early = _slopes(half, "V1")
    slope, low, high = map(float, student_interval(late))
    pairs, gap = int(half["pairs"].item(0)), float(half["param_gap"].item(0))
    expected = gap**2 * (2 * pairs - 2) / (2 * pairs - 1)
    steady, close = slope / early.mean(), slope / expected
    measured = (
        f"{slope:.6f} games lost per round in the second half of the run, "
        f"{100 * steady:.1f}% of the first half's; exploring all the time loses {expected:.6f}"
    )
    holds = _grade(
        abs(steady - 1) <= _STEADY and abs(close - 1) <= _STEADY, abs(steady - 1) <= 2 * _STEADY
    )
    comment = (
        "To tell two matchings apart whose games differ by the gap squared takes about "
        f"8 ln(T) / gap⁴ = {8 * math.log(PAPER_ROUNDS) / gap**4:,.0f} plays of each neighbour, "
        "more than there are rounds; until then every round that may explore does."
    )
    return Finding(holds, measured, comment if holds == "holds" else "", low, high)


def _judge_no_horizon(rows: pl.DataFrame, checks: Sequence[HorizonCheck]) -> Finding:
    """Hold if the start of a long run equals, bit for bit, a run of that length."""
    problems = set(rows["problem"])
    same = {check.policy: check.same for check in checks if check.problem in problems}
    if not {"V1", "V2", "SAM"} <= set(same):
        return _not_measured("Needs the horizon check of SAM, V1 and V2: run the experiment again.")
    rounds = next(check.rounds for check in checks if check.problem in problems)
    equal = [policy for policy in ("V1", "V2") if same[policy]]
    yes = [f"{policy} {'yes' if same[policy] else 'no'}" for policy in ("V1", "V2", "SAM")]
    what = f"the first {rounds:,} rounds of the run equal a run of that length, bit for bit"
    comment = (
        "SAM is told the horizon, but had not split within these rounds, so nothing shows yet."
        if same["SAM"]
        else "SAM is told the horizon, and plays differently under another one."
    )
    return Finding(_grade(len(equal) == 2, bool(equal)), f"{what}: {', '.join(yes)}", comment)


def _regret_by_pairs(rows: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Return L, and the final regret of each replication at each L."""
    last = final(rows)
    pairs = last["pairs"].unique().sort()
    columns = [samples(last.filter(pairs=each), [policy])[policy] for each in pairs]
    shortest = min(map(len, columns))
    regret = np.stack([column[:shortest] for column in columns], axis=1)
    return pairs.to_numpy().astype(np.float64), np.maximum(regret, 1e-9)


def _slopes(rows: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Return each replication's regret per round in the second half of the run, and before it."""
    checkpoints = rows["round"].unique().sort().to_numpy()
    last = int(checkpoints[-1])
    middle = int(checkpoints[checkpoints >= last / 2][0])
    start = int(checkpoints[checkpoints >= min(last / 10, middle / 2)][0])
    at = [samples(rows.filter(round=mark), [policy])[policy] for mark in (start, middle, last)]
    return (at[2] - at[1]) / max(last - middle, 1), (at[1] - at[0]) / max(middle - start, 1)


def _grade(fully: bool, partly: bool) -> Holds:
    return "holds" if fully else "holds in part" if partly else "does not hold"


def _list(each: pl.DataFrame) -> str:
    return ", ".join(f"{pairs}" for pairs in each["pairs"])


def _ratio_text(name: str, whole: dict[str, float], each: pl.DataFrame) -> str:
    parts = (f"{ratio:.1f} at {pairs}" for pairs, ratio in each.select("pairs", "ratio").rows())
    return f"{name}: {whole['ratio']:.2f} over all L together; {', '.join(parts)}"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, its section, the problems and policies it is about, its rule."""

    text: str
    where: str
    family: str
    policies: tuple[str, ...]
    rule: Rule = field(repr=False)


CLAIMS = (
    Claim(
        "V1 has about half of SAM's regret",
        "experiment 1, over L",
        "from_zero",
        ("SAM", "V1"),
        _judge_half,
    ),
    Claim(
        "V2 has less than a fifth of SAM's regret",
        "experiment 1, over L",
        "from_zero",
        ("SAM", "V2"),
        _judge_fifth,
    ),
    Claim(
        "The regret of V1 is linear in L",
        "experiment 1",
        "from_zero",
        ("V1",),
        _judge_linear_in_pairs,
    ),
    Claim(
        "The regret of V2 is linear in L",
        "experiment 1",
        "from_zero",
        ("V2",),
        _judge_linear_in_pairs,
    ),
    Claim(
        "V2 has less regret than SAM for every mean",
        "experiment 2",
        "around",
        ("SAM", "V2"),
        _judge_below_sam,
    ),
    Claim(
        "The regret of V1 is linear in t",
        "experiment 2, mean 0.5",
        "around",
        ("V1",),
        _judge_linear_in_time,
    ),
    Claim(
        "V1 and V2 need not know the horizon",
        "both policies; tried on experiment 1",
        "from_zero",
        ("SAM", "V1", "V2"),
        _judge_no_horizon,
    ),
)


def check_claims(
    frame: pl.DataFrame, horizon_checks: Sequence[HorizonCheck] = ()
) -> dict[Claim, Finding]:
    """Compare every claim of the paper with the results of one or several experiments.

    Claims come in the paper's order. Results of fewer rounds than the paper's are judged by the
    same rules, and the comment says so.

    Examples
    --------
    >>> from pairup import load_results
    >>> results = load_results("results/experiment-1")  # doctest: +SKIP
    >>> findings = check_claims(results.frame, results.horizon_checks)  # doctest: +SKIP
    >>> for claim, finding in findings.items():  # doctest: +SKIP
    ...     print(finding.holds, claim.text)
    """
    return {claim: _check(claim, frame, horizon_checks) for claim in CLAIMS}


def _check(claim: Claim, frame: pl.DataFrame, checks: Sequence[HorizonCheck]) -> Finding:
    rows = _rows(claim, frame)
    if rows is None:
        return _not_measured(
            f"Needs results of {', '.join(claim.policies)} on problems of the family "
            f"{claim.family}, one for each {'L' if claim.family == 'from_zero' else 'mean'}."
        )
    finding = claim.rule(rows, checks)
    rounds = int(max(rows["round"]))
    if rounds == PAPER_ROUNDS:
        return finding
    note = f"Measured over {rounds:,} rounds; the paper's claim is about {PAPER_ROUNDS:,}."
    return replace(finding, comment=f"{finding.comment} {note}".strip())


def _rows(claim: Claim, frame: pl.DataFrame) -> pl.DataFrame | None:
    """Keep the first experiment that sweeps the claim's family with all of its policies."""
    for (_,), rows in frame.filter(family=claim.family).group_by("experiment", maintain_order=True):
        chosen = rows.filter(pl.col("policy").is_in(list(claim.policies)))
        several = chosen["replication"].n_unique() > 1
        # A claim is about a sweep of one parameter: a second one would mix problems of one L.
        points = chosen["pairs" if claim.family == "from_zero" else "param_mean"].n_unique()
        swept = chosen["problem"].n_unique() == points
        if chosen["policy"].n_unique() == len(claim.policies) and several and swept:
            return chosen
    return None
