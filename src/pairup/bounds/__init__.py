"""Bounds on the regret: what no policy can beat, and what the theorems promise."""

from pairup.bounds.limit import Certificate, LowerBound, lower
from pairup.bounds.theorems import Theorem, theorem

__all__ = ["Certificate", "LowerBound", "Theorem", "lower", "theorem"]
