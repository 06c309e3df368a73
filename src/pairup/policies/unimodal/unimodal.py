"""The paper's two policies."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pairup.compiled.couples.leader_counts import CLOCK_IS_ROUND
from pairup.compiled.couples.neighbours import BY_PLAYERS, NEIGHBOUR_PLACES
from pairup.compiled.state_fields import new_counters, new_state
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import GreedyNeighbourPolicy
from pairup.policies.registry import register
from pairup.policies.unimodal import steps
from pairup.policies.unimodal.kl_steps import UnimodalKlState
from pairup.policies.unimodal.ucb_steps import UnimodalUcbState
from pairup.problem import Problem


@register
@dataclass(frozen=True)
class Unimodal(GreedyNeighbourPolicy):
    """Play the leader or the most promising of its neighbours (Section 5 of the paper).

    The leader is the greedy matching by empirical means, its couples in the order of their choice.
    Its neighbours swap two players between successive couples. Each leader is played itself the
    first time and every (2L - 1)-th time that it leads; otherwise the neighbour with the best
    optimistic criterion is played, and the leader when none promises more than it.

    Parameters
    ----------
    compare : {"players", "matchings"}
        "matchings" is the paper's V1: the neighbour's optimistic number of games against the
        leader's. "players" is its V2: whether a swapped player could be better than the one it
        replaces.
    index : {"kl", "ucb"}
        Optimistic estimate of a couple: KL-UCB as in the paper's algorithm, or
        mean + sqrt(2 log(clock) / tries) as in its experiments. Unseen couples are at infinity.
    clock : {"leader", "round"}
        What the exploration grows with: how often this leader has led, or the rounds so far.

    Examples
    --------
    >>> from pairup import Problem, Unimodal, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), Unimodal(), rounds=2_000, replications=4)
    >>> run.regret.shape == (4, len(run.rounds))
    True
    """

    compare: Literal["players", "matchings"] = "players"
    index: Literal["kl", "ucb"] = "kl"
    clock: Literal["leader", "round"] = "leader"

    name: ClassVar[str] = "unimodal"
    nominal_ns: ClassVar[int] = 15

    def nominal_cost(self) -> int:
        # The KL index takes longer than the UCB index.
        return self.nominal_ns * (2 if self.index == "kl" else 1)

    def regret_bound(self, problem: Problem) -> tuple[str, float]:
        # The paper's theorems.
        gaps = problem.neighbour_gaps
        if self.compare == "matchings":
            return "Theorem 1", float((8 / gaps).sum())
        return "Theorem 2", float((8 * gaps / problem.player_gaps**2).sum())

    def sizes(self, context: StartContext) -> dict[str, int]:
        return super().sizes(context) | {"by_matchings": int(self.compare == "matchings")}

    def start(self, context: StartContext) -> UnimodalKlState | UnimodalUcbState:
        options = {BY_PLAYERS: self.compare == "players", CLOCK_IS_ROUND: self.clock == "round"}
        state_class = UnimodalKlState if self.index == "kl" else UnimodalUcbState
        counters = new_counters(options, NEIGHBOUR_PLACES)
        return new_state(state_class, self.sizes(context), keys=context.keys(2), counters=counters)

    def _update_leader(self, state: Any) -> None:
        steps.update_leader(state)
