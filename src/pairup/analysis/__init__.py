"""Analysis: means, comparisons, standings, claims and limits in numbers; no drawing, no disk."""

from pairup.analysis.claims import Claim, Finding, check_claims
from pairup.analysis.comparisons import paired_differences, ranking, ratios
from pairup.analysis.instances import average_instances
from pairup.analysis.means import mean_intervals
from pairup.analysis.standings import Standing, divide_by_limits
from pairup.analysis.tails import tail_probabilities, tail_quantiles

__all__ = [
    "Claim",
    "Finding",
    "Standing",
    "average_instances",
    "check_claims",
    "divide_by_limits",
    "mean_intervals",
    "paired_differences",
    "ranking",
    "ratios",
    "tail_probabilities",
    "tail_quantiles",
]
