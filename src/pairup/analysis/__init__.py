"""Analysis: means, comparisons, standings, claims and limits in numbers; no drawing, no disk."""
