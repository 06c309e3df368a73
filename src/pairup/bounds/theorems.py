"""What the theorems promise: the factor of ln T in their bounds on the regret."""

from __future__ import annotations

from typing import NamedTuple

from pairup.errors import PolicyError, ProblemError
from pairup.policies import Policy
from pairup.problem import Problem


class Theorem(NamedTuple):
    """A theorem on a policy's regret, and the factor of its ln T on a problem."""

    name: str
    constant: float


def theorem(problem: Problem, policy: Policy) -> Theorem:
    """Name the theorem that bounds a policy's regret from above, and the factor of its ln T.

    - Theorem 1 of the paper, ``Unimodal("matchings")``: the sum of 8 / Delta over the neighbours
      of the optimum.
    - Theorem 2 of the paper, ``Unimodal("players")``: the sum of 8 Delta / player_gap^2.
    - That of SAM's authors: 640 L (ln L + 2) / (least Delta), for L couples.

    The first two are asymptotic and proved for the KL index; terms that grow slower than ln T are
    left out, and so is SAM's L^3. With an odd number of players the phantom counts as one.

    Raises
    ------
    PolicyError
        No theorem on this policy is known here.
    ProblemError
        The couples are in no strict order (Assumption 1 of the paper).

    Examples
    --------
    >>> from pairup import Problem, Unimodal, bounds
    >>> name, constant = bounds.theorem(Problem.around(0.5, 2, 0.1), Unimodal("matchings"))
    >>> name, round(constant)
    ('Theorem 1', 1600)
    """
    if not problem.strict_order:
        raise ProblemError(
            "the theorems need each couple of the optimum to beat the next one strictly, "
            f"got {problem!r}: move equal rates of successive couples apart"
        )
    bound = policy.regret_bound(problem)
    if bound is None:
        raise PolicyError(
            f"no theorem bounds the regret of {policy.name}: there is one for "
            'Unimodal("matchings"), Unimodal("players") and SAM()'
        )
    return Theorem(*bound)
