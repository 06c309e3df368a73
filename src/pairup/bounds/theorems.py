"""Theorems: upper bounds on the regret of policies, as factors of ln T."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pairup.errors import PolicyError, ProblemError
from pairup.problem import Problem

if TYPE_CHECKING:
    from pairup.policies import Policy


class Theorem(NamedTuple):
    """A theorem on the regret of a policy, and its factor of ln T on a problem.

    `caveat` says how far it is proved, and for which policies.
    """

    name: str
    constant: float
    caveat: str


_CAVEATS = {
    "Theorem 1": "proved in part: from lemmas whose proofs the paper defers; asymptotic",
    "Theorem 2": "conjectured: the paper states it without a proof; asymptotic",
    "SAM's theorem": "proved by SAM's authors, for a known horizon",
}


def theorem(problem: Problem, policy: Policy) -> Theorem:
    """Return the theorem that bounds the regret of a policy from above, with its factor of ln T.

    - Theorem 1 of the paper, ``Unimodal("matchings")``: the sum of 8 / Delta over the neighbours
      of the optimum.
    - Theorem 2 of the paper, ``Unimodal("players")``: the sum of 8 Delta / player_gap^2.
    - The theorem of SAM's authors: 640 L (ln L + 2) / (least Delta), for L couples.

    The first two are asymptotic and stated for the KL index: with ``index="ucb"`` the factor is the
    same and nothing is proved. The paper proves Theorem 1 from lemmas whose proofs it defers, and
    does not prove Theorem 2. Terms that grow slower than ln T are left out, and so is SAM's L^3.
    With an odd number of players the phantom counts as one.

    Raises
    ------
    PolicyError
        No theorem on this policy is known here.
    ProblemError
        The couples are not in strict order (Assumption 1 of the paper).

    Examples
    --------
    >>> from pairup import Problem, Unimodal, bounds
    >>> found = bounds.theorem(Problem.around(0.5, 2, 0.1), Unimodal("matchings", index="ucb"))
    >>> found.name, round(found.constant)
    ('Theorem 1', 1600)
    >>> print(found.caveat.partition("; ")[2])
    asymptotic; for the KL index: nothing is proved for index="ucb"
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
    name, constant = bound
    index = policy.options.get("index", "kl")
    other = f'; for the KL index: nothing is proved for index="{index}"' if index != "kl" else ""
    return Theorem(name, constant, _CAVEATS[name] + other)
