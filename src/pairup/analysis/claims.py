"""Claims: what the paper says of its experiments, each held against the results.

A claim about the paper's policies is looked for under their labels, "SAM", "V1" and "V2". Verdicts
are rules on intervals, written beside each claim; nothing is decided by eye.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from pairup.analysis.statistics import Floats, final, interval, line, ratios, samples
from pairup.bounds import theorem
from pairup.policies import Policy, get_policy
from pairup.problem import Problem
from pairup.simulation.simulate import simulate

Holds = Literal["holds", "holds in part", "does not hold", "not measured"]

PAPER_ROUNDS = 1_000_000
_HALF = (1.5, 2.5)  # "about half": SAM's regret is 1.5 to 2.5 times as large
_FIFTH = 5.0
_LINEAR = (0.8, 1.2)  # "linear": the exponent of a power law
_STEADY = 0.05  # "linear in t": slopes that differ by at most 5%
_PART = 10  # a run of a tenth of the rounds shows whether the horizon matters


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, and where it is said to hold."""

    text: str
    where: str


@dataclass(frozen=True)
class Verdict:
    """A claim held against results.

    Attributes
    ----------
    claim
        What the paper says.
    measured
        What came out, in words.
    low, high
        Ends of the 95% interval of the number that decides; None where none is needed.
    holds
        "holds", "holds in part", "does not hold"; "not measured" where results are missing.
    comment
        Where and why it deviates.
    """

    claim: Claim
    measured: str
    low: float | None
    high: float | None
    holds: Holds
    comment: str


Test = Callable[[Claim, pl.DataFrame], Verdict]


def check(frame: pl.DataFrame) -> list[Verdict]:
    """Hold every claim of the paper against results.

    Parameters
    ----------
    frame
        Results of one or several experiments, as `pairup.load_results` gives them.

    Returns
    -------
    list of Verdict
        One for each claim, in the paper's order. Results of fewer rounds than the paper's are
        judged by the same rules, and the comment says so.

    Examples
    --------
    >>> from pairup import load_results
    >>> from pairup.analysis.claims import check
    >>> for verdict in check(load_results("results")):  # doctest: +SKIP
    ...     print(verdict.holds, verdict.claim.text)
    """
    return [
        _verdict(claim, family, policies, test, frame) for claim, family, policies, test in _ALL
    ]


def _verdict(
    claim: Claim, family: str, policies: Sequence[str], test: Test, frame: pl.DataFrame
) -> Verdict:
    rows = _rows(frame, family, policies)
    if rows is None:
        comment = f"Needs results of {', '.join(policies)} on problems of the family {family}."
        return Verdict(claim, "no results", None, None, "not measured", comment)
    verdict = test(claim, rows)
    rounds = int(max(rows["round"]))
    if rounds == PAPER_ROUNDS:
        return verdict
    note = f"Measured over {rounds:,} rounds; the paper's claim is about {PAPER_ROUNDS:,}."
    comment = f"{verdict.comment} {note}".strip()
    return Verdict(claim, verdict.measured, verdict.low, verdict.high, verdict.holds, comment)


def _rows(frame: pl.DataFrame, family: str, policies: Sequence[str]) -> pl.DataFrame | None:
    """Keep the first experiment on this family with all of these policies."""
    for (_,), rows in frame.filter(family=family).group_by("experiment", maintain_order=True):
        chosen = rows.filter(pl.col("policy").is_in(list(policies)))
        if chosen["policy"].n_unique() == len(policies) and chosen["replication"].n_unique() > 1:
            return chosen
    return None


def _half(claim: Claim, rows: pl.DataFrame) -> Verdict:
    """Judge: holds where SAM / V1 lies in [1.5, 2.5] for every L; in part where above overall."""
    whole = ratios(rows, "SAM", "V1", pooled=True).row(0, named=True)
    each = ratios(rows, "SAM", "V1")
    low, high = _HALF
    less, more = each.filter(pl.col("ratio") < low), each.filter(pl.col("ratio") > high)
    inside = low <= whole["low"] and whole["high"] <= high
    holds = _three(inside and less.is_empty() and more.is_empty(), whole["low"] >= low)
    parts = [
        f"{what} at L = {_list(some)}"
        for what, some in ((f"Less than {low:g}", less), (f"more than {high:g}", more))
        if len(some)
    ]
    comment = ""
    if parts:
        comment = (
            f"{_sentence(' and '.join(parts))}. The ratio changes with L: with many "
            "couples V1 explores in nearly every round and loses about the gap squared in it, "
            "whatever L is, while SAM's tournaments cost more the more players there are."
        )
    return Verdict(claim, _ratio_text("SAM / V1", whole, each), *_ends(whole), holds, comment)


def _fifth(claim: Claim, rows: pl.DataFrame) -> Verdict:
    """Judge: holds where the interval of SAM / V2 lies above 5, overall and for every L."""
    whole = ratios(rows, "SAM", "V2", pooled=True).row(0, named=True)
    each = ratios(rows, "SAM", "V2")
    above = each.filter(pl.col("low") > _FIFTH)
    holds = _three(whole["low"] > _FIFTH and len(above) == len(each), len(above) > 0)
    comment = ""
    if len(above) < len(each):
        shown = f"Shown at L = {_list(above)}" if len(above) else "Shown at no L"
        comment = (
            f"{shown}; elsewhere the ratio is smaller or its interval holds 5. With few couples "
            "SAM has little to waste: at L = 2 only two of three matchings cost anything, and V2 "
            "must compare couples that seldom play, (rate times gap) apart, over most of the run."
        )
    return Verdict(claim, _ratio_text("SAM / V2", whole, each), *_ends(whole), holds, comment)


def _linear_in_pairs(policy: str) -> Test:
    def test(claim: Claim, rows: pl.DataFrame) -> Verdict:
        """Judge: holds where the exponent of L lies in [0.8, 1.2]; in part where below."""
        if rows["pairs"].n_unique() < 3:
            comment = "Needs at least three values of L."
            return Verdict(claim, "no results", None, None, "not measured", comment)
        pairs, regret = _regret_by_pairs(rows, policy)
        powers = np.array([line(np.log(pairs), np.log(each))[0] for each in regret])
        power, low, high = interval(powers)
        mean = regret.mean(axis=0)
        fits = {
            "L": line(pairs, mean)[2],
            "L log L": line(pairs * np.log(pairs), mean)[2],
            "log L": line(np.log(pairs), mean)[2],
        }
        measured = (
            f"regret grows as L to the power {power:.2f}, from {mean[0]:,.0f} at L = {pairs[0]:g} "
            f"to {mean[-1]:,.0f} at L = {pairs[-1]:g}; straight line: R² = {fits['L']:.3f} in L, "
            f"{fits['L log L']:.3f} in L log L, {fits['log L']:.3f} in log L"
        )
        holds = _three(_LINEAR[0] <= low and high <= _LINEAR[1], high <= _LINEAR[1])
        comment = "" if holds == "holds" else _why_flat(policy, pairs, mean, rows)
        if holds == "does not hold":
            comment = "It grows faster than linearly here."
        return Verdict(claim, measured, low, high, holds, comment)

    return test


def _why_flat(policy: str, pairs: Floats, regret: Floats, rows: pl.DataFrame) -> str:
    start = "No more than linear, which is what the theorem bounds, but flatter: "
    gap, rounds = float(rows["gap"].item(0)), float(max(rows["round"]))
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


def _below_sam(claim: Claim, rows: pl.DataFrame) -> Verdict:
    """Judge: holds where the interval of V2 / SAM lies below 1 for every mean."""
    each = ratios(rows, "V2", "SAM").sort("mean")
    below = each.filter(pl.col("high") < 1)
    worst = each.row(int(each["high"].arg_max() or 0), named=True)
    texts = [
        f"{row['ratio']:.2f} at {row['mean']:g}" for row in each.select("mean", "ratio").to_dicts()
    ]
    measured = f"V2 / SAM: {', '.join(texts)}; largest {_with_ends(worst)}"
    holds = _three(len(below) == len(each), len(below) > 0)
    comment = "" if holds == "holds" else f"Shown at {len(below)} of {len(each)} means."
    return Verdict(claim, measured, *_ends(worst), holds, comment)


def _linear_in_time(claim: Claim, rows: pl.DataFrame) -> Verdict:
    """Judge: holds where the slope of the second half is within 5% of that of the first."""
    half = rows.filter((pl.col("mean") - 0.5).abs() < 1e-9)
    if half.is_empty():
        return Verdict(claim, "no results", None, None, "not measured", "Needs the mean 0.5.")
    late, early = _slopes(half, "V1")
    slope, low, high = interval(late)
    pairs, gap = int(half["pairs"].item(0)), float(half["gap"].item(0))
    expected = gap**2 * (2 * pairs - 2) / (2 * pairs - 1)
    steady, close = slope / early.mean(), slope / expected
    measured = (
        f"{slope:.6f} games lost a round in the second half of the run, "
        f"{100 * steady:.1f}% of the first half's; exploring all the time loses {expected:.6f}"
    )
    holds = _three(
        abs(steady - 1) <= _STEADY and abs(close - 1) <= _STEADY, abs(steady - 1) <= 2 * _STEADY
    )
    comment = (
        "To tell two matchings apart whose games differ by the gap squared takes about "
        f"8 ln(T) / gap⁴ = {8 * math.log(PAPER_ROUNDS) / gap**4:,.0f} plays of each neighbour, "
        "more than there are rounds; until then every round that may explore does."
    )
    return Verdict(claim, measured, low, high, holds, comment if holds == "holds" else "")


def _no_horizon(claim: Claim, rows: pl.DataFrame) -> Verdict:
    """Judge: holds where the start of a long run is, bit for bit, a run of that length."""
    largest = rows.filter(pl.col("pairs") == pl.col("pairs").max())
    marks = largest["round"].unique().sort()
    limit = int(marks.item(-1)) // _PART
    marks = marks.filter(marks <= limit)
    if marks.is_empty():
        return Verdict(claim, "no results", None, None, "not measured", "Needs more checkpoints.")
    same = {policy: _replayed(largest, policy, marks) for policy in ("V1", "V2", "SAM")}
    equal = [policy for policy in ("V1", "V2") if same[policy]]
    measured = (
        f"the first {int(marks.item(-1)):,} rounds of the run equal a run of that length, bit for "
        f"bit: {', '.join(f'{policy} {_yes(found)}' for policy, found in same.items())}"
    )
    comment = (
        "SAM is told the horizon, and plays differently under another one."
        if not same["SAM"]
        else "SAM is told the horizon, but had not split within these rounds, so nothing shows yet."
    )
    if len(equal) < 2:
        comment += " Results of another version of pairup may differ as well: run them again."
    return Verdict(claim, measured, None, None, _three(len(equal) == 2, bool(equal)), comment)


def _replayed(rows: pl.DataFrame, policy: str, marks: pl.Series) -> bool:
    """Whether a run that ends at the last mark repeats the start of the long run."""
    mine = rows.filter(pl.col("policy") == policy, pl.col("round").is_in(marks.implode()))
    first = mine.row(0, named=True)
    replications = sorted(mine["replication"].unique().to_list())[:2]
    numbers = range(replications[0], replications[-1] + 1, max(1, np.ptp(replications)))
    run = simulate(
        _problem(first),
        _policy(first["options"]),
        rounds=int(marks.item(-1)),
        replications=numbers,
        seed=first["seed"],
        checkpoints=marks.to_list(),
    )
    known = mine.filter(pl.col("replication").is_in(replications)).sort("replication", "round")
    return bool(np.array_equal(run.regret.ravel(), known["regret"].to_numpy()))


def _problem(row: dict[str, object]) -> Problem:
    return Problem.from_zero(int(str(row["pairs"])), float(str(row["gap"])))


def _policy(options: str) -> Policy:
    return get_policy(**json.loads(options))


def _regret_by_pairs(rows: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Give L, and the final regret of each replication at each L."""
    last = final(rows)
    pairs = last["pairs"].unique().sort()
    columns = [samples(last.filter(pairs=each), [policy])[policy] for each in pairs]
    shortest = min(map(len, columns))
    regret = np.stack([column[:shortest] for column in columns], axis=1)
    return pairs.to_numpy().astype(np.float64), np.maximum(regret, 1e-9)


def _slopes(rows: pl.DataFrame, policy: str) -> tuple[Floats, Floats]:
    """Give each replication's regret a round in the second half of the run, and before it."""
    marks = rows["round"].unique().sort().to_numpy()
    last = int(marks[-1])
    middle = int(marks[marks >= last / 2][0])
    start = int(marks[marks >= min(last / 10, middle / 2)][0])
    at = [samples(rows.filter(round=mark), [policy])[policy] for mark in (start, middle, last)]
    return (at[2] - at[1]) / max(last - middle, 1), (at[1] - at[0]) / max(middle - start, 1)


def _three(fully: bool, partly: bool) -> Holds:
    return "holds" if fully else "holds in part" if partly else "does not hold"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _yes(found: bool) -> str:
    return "yes" if found else "no"


def _list(each: pl.DataFrame) -> str:
    return ", ".join(f"{pairs}" for pairs in each["pairs"])


def _ends(row: dict[str, float]) -> tuple[float, float]:
    return row["low"], row["high"]


def _with_ends(row: dict[str, float]) -> str:
    return f"{row['ratio']:.2f} ({row['low']:.2f} to {row['high']:.2f})"


def _ratio_text(name: str, whole: dict[str, float], each: pl.DataFrame) -> str:
    parts = ", ".join(
        f"{ratio:.1f} at {pairs}" for pairs, ratio in each.select("pairs", "ratio").rows()
    )
    return f"{name}: {whole['ratio']:.2f} over all L together; {parts}"


# The claim; the family of problems and the policies that it is about; what judges it.
_ALL: tuple[tuple[Claim, str, tuple[str, ...], Test], ...] = (
    (
        Claim("V1 has about half of SAM's regret", "experiment 1, over L"),
        "from_zero",
        ("SAM", "V1"),
        _half,
    ),
    (
        Claim("V2 has less than a fifth of SAM's regret", "experiment 1, over L"),
        "from_zero",
        ("SAM", "V2"),
        _fifth,
    ),
    (
        Claim("The regret of V1 is linear in L", "experiment 1"),
        "from_zero",
        ("V1",),
        _linear_in_pairs("V1"),
    ),
    (
        Claim("The regret of V2 is linear in L", "experiment 1"),
        "from_zero",
        ("V2",),
        _linear_in_pairs("V2"),
    ),
    (
        Claim("V2 has less regret than SAM for every mean", "experiment 2"),
        "around",
        ("SAM", "V2"),
        _below_sam,
    ),
    (
        Claim("The regret of V1 is linear in t", "experiment 2, mean 0.5"),
        "around",
        ("V1",),
        _linear_in_time,
    ),
    (
        Claim("V1 and V2 need not know the horizon", "both policies; tried on experiment 1"),
        "from_zero",
        ("SAM", "V1", "V2"),
        _no_horizon,
    ),
)

CLAIMS = tuple(claim for claim, *_ in _ALL)
