"""Problems: how likely couples are to play, who may meet whom, the best matching, the regret."""

from pairup.problem.problem import Problem

__all__ = ["Problem"]
