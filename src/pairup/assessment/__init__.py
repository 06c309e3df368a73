"""Assessment: what a history of games says about its players, and what matching would bring."""

from pairup.assessment.assessment import Assessment, assess
from pairup.assessment.simulated_history import simulate_history

__all__ = ["Assessment", "assess", "simulate_history"]
