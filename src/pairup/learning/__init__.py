"""Live learning: a policy on real players, their feedback, what is learnt and how it is saved."""

from pairup.learning.estimates import CoupleEstimate, PlayerEstimate
from pairup.learning.fairness import Fairness
from pairup.learning.learner import Learner

__all__ = ["CoupleEstimate", "Fairness", "Learner", "PlayerEstimate"]
