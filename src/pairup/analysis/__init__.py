"""Statistics, standings, claims and limits in numbers: no drawing, no disk."""
