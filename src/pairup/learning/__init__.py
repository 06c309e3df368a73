"""Live learning: a policy on real players, their feedback, what is learnt and how it is saved."""

from pairup.learning.estimates import CoupleEstimate, PlayerEstimate
from pairup.learning.fairness import Fairness
from pairup.learning.learner import Learner
from pairup.policies.deviation import CoupleDeviation

__all__ = ["CoupleDeviation", "CoupleEstimate", "Fairness", "Learner", "PlayerEstimate"]
