"""Bounds on the regret: the limit that no policy can beat, and the theorems on some policies."""

from pairup.bounds.lower_bound import Certificate, LowerBound, lower
from pairup.bounds.theorems import Theorem, theorem

__all__ = ["Certificate", "LowerBound", "Theorem", "lower", "theorem"]
