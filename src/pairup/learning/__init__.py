"""A policy on live players: who is there, what they answered, what was learnt, how it is saved."""

from pairup.learning.estimates import Estimate, Rate
from pairup.learning.learner import Learner

__all__ = ["Estimate", "Learner", "Rate"]
