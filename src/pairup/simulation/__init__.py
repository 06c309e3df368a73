"""A policy plays a problem, on common random numbers."""

from pairup.simulation.result import Run
from pairup.simulation.simulate import simulate

__all__ = ["Run", "simulate"]
