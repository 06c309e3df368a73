"""Claims: the paper's statements about its experiments, each compared with the results.

The paper's policies are found by their labels, "SAM", "V1" and "V2".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from pairup.analysis import claim_rules
from pairup.analysis.claim_rules import PAPER_ROUNDS, Finding, Rule
from pairup.experiments.results import HorizonCheck


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
        claim_rules.judge_half,
    ),
    Claim(
        "V2 has less than a fifth of SAM's regret",
        "experiment 1, over L",
        "from_zero",
        ("SAM", "V2"),
        claim_rules.judge_fifth,
    ),
    Claim(
        "The regret of V1 is linear in L",
        "experiment 1",
        "from_zero",
        ("V1",),
        claim_rules.judge_linear_in_pairs,
    ),
    Claim(
        "The regret of V2 is linear in L",
        "experiment 1",
        "from_zero",
        ("V2",),
        claim_rules.judge_linear_in_pairs,
    ),
    Claim(
        "V2 has less regret than SAM for every mean",
        "experiment 2",
        "around",
        ("SAM", "V2"),
        claim_rules.judge_below_sam,
    ),
    Claim(
        "The regret of V1 is linear in t",
        "experiment 2, mean 0.5",
        "around",
        ("V1",),
        claim_rules.judge_linear_in_time,
    ),
    Claim(
        "V1 and V2 need not know the horizon",
        "both policies; tried on experiment 1",
        "from_zero",
        ("SAM", "V1", "V2"),
        claim_rules.judge_no_horizon,
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
    >>> from pairup.experiments.storage import read_results
    >>> results = read_results("results/experiment-1")  # doctest: +SKIP
    >>> findings = check_claims(results.frame, results.horizon_checks)  # doctest: +SKIP
    >>> for claim, finding in findings.items():  # doctest: +SKIP
    ...     print(finding.holds, claim.text)
    """
    return {claim: _check(claim, frame, horizon_checks) for claim in CLAIMS}


def _check(claim: Claim, frame: pl.DataFrame, checks: Sequence[HorizonCheck]) -> Finding:
    rows = _rows(claim, frame)
    if rows is None:
        return claim_rules.not_measured(
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
