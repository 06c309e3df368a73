"""PMED: rounds by a plan, which the host makes again when it is out of date.

A plan is a leader and some other matchings, each with the rounds in which it is still to be played.
When these are played, or the leader was played for as long as it can be trusted, or other players
are available, the step says so. Between two plans a round takes as long as writing a matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.couples.rows import mark_available
from pairup.compiled.couples.statistics import CoupleStatistics, count_outcomes
from pairup.compiled.kernels import kernel
from pairup.compiled.matchings.graph_matcher import write_nobody
from pairup.compiled.state_fields import OWN, ROUND, Flags, Integers, Players, new_state
from pairup.compiled.steps import OK, STALE, provide
from pairup.errors import PolicyError
from pairup.policies.contract import Slots, StartContext
from pairup.policies.couple_policies import CouplePolicy
from pairup.policies.pmed.exploration_plan import Plan, leader_of, make_plan
from pairup.policies.pmed.fitted_rates import FittedRates, fit_rates
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, require

# Places of counters.
(
    CHANGED,  # the players available are not those of the plan
    COUPLE_COUNT,  # couples of a matching
    COUNT,  # matchings of the plan
    TURNS,  # rounds in which they are still to be played
    LAST_ROUND,  # for which the plan is made
    _COUNTERS,  # how many there are
) = range(OWN, OWN + 6)

_MAX_PLAYERS = 40  # beyond, a plan takes seconds
_PERIOD = 25  # rounds with other players than before, of which one solves programs


@register
@dataclass(frozen=True)
class PMED(CouplePolicy):
    """Explore no more than the limit asks for, computed at the estimates of all players' rates.

    The policy that is optimal in the long run: its regret grows as ``bounds.lower(problem).constant
    * ln(T)``, and no policy that is good everywhere grows slower. It estimates every player's rate
    by maximum likelihood. As long as the couples seen rule out, with information of ln t, all rates
    under which another matching would be the best, it plays the best matching by the estimates;
    otherwise it plays what completes this information for the least regret, by the linear program
    of the limit. See docs/explanation/limit.md.

    It is Permutation Minimum Empirical Divergence (Komiyama, Honda and Takeda, 2017), which was
    made and proved for two sides, and works on one side as well. OSSB (Combes, Magureanu and
    Proutiere, 2017) has the same idea for bandits of any structure.

    Notes
    -----
    Programs are solved when the last plan is played, not in every round: hundreds of times in ten
    million rounds, in some milliseconds each for ten players. For at most 40 players. If other
    players are available than those whom the plan was made for, a new plan is made for them, but
    programs are solved in every 25th such round only; in between they are coupled best with best.

    Examples
    --------
    >>> from pairup import PMED, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), PMED(), rounds=2_000, replications=4)
    >>> bool(run.mean()[-1] < 60)
    True
    """

    name: ClassVar[str] = "pmed"
    draws_at_random: ClassVar[bool] = False
    serves_pools: ClassVar[bool] = False  # a plan may take a second, and other requests wait
    nominal_ns: ClassVar[int] = 100

    def check_players(self, count: int) -> None:
        if count > _MAX_PLAYERS:
            raise PolicyError(
                f"pmed solves programs that are for at most {_MAX_PLAYERS} players, got {count}: "
                "take RankOneThompson(), which loses little more"
            )

    def start(self, context: StartContext) -> PMEDState:
        return new_state(PMEDState, self.sizes(context))

    def on_sides(self, state: Any, context: StartContext) -> PMEDState:
        assert context.columns is not None
        return PMEDState(*state)._replace(columns=np.append(context.columns, False))

    def replan(self, state: Any) -> PMEDState:
        players, counters = np.flatnonzero(state.available), state.counters
        tries = (state.stats.tries + state.stats.tries.T)[np.ix_(players, players)]
        plan = make_plan(
            self._fitted(state).rates[players],
            tries,
            int(counters[ROUND]) + 1,
            state.columns[players] if len(state.columns) else None,
            in_haste=bool(counters[CHANGED] and counters[ROUND] % _PERIOD),
        )
        _write_plan(state, plan, players)
        return PMEDState(*state)

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        for part in (state.planned_for, state.matchings, state.plays):
            part[:] = 0
        state.counters[[COUNT, COUPLE_COUNT, TURNS, LAST_ROUND]] = 0

    def load(self, state: Any, arrays: Arrays) -> PMEDState:
        state = super().load(state, arrays)
        count, couples, turns = state.counters[[COUNT, COUPLE_COUNT, TURNS]]
        players = np.flatnonzero(state.planned_for)
        require(np.all(players < len(state.available) - 1), "its plan is for unknown players")
        require(count <= len(state.plays), "its plan has too many matchings")
        require(state.plays[:count].sum() == turns, "its plan has other rounds to play")
        require(couples == len(players) // 2, "its plan has matchings of other players")
        for each in state.matchings[:count, :couples]:
            fits = np.all(each[:, 0] < each[:, 1]) and len(np.unique(each)) == 2 * couples
            require(fits and np.all(np.isin(each, players)), "its plan couples players wrongly")
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        players = np.flatnonzero(state.available)
        if len(players) < 2:
            return np.zeros((0, 2), np.int64)
        best = leader_of(self._fitted(state).rates[players])
        return players[np.array(best.couples)]

    def player_rates(self, state: Any, slots: Slots) -> FittedRates:
        return FittedRates(*(each[slots] for each in self._fitted(state)))

    def _fitted(self, state: Any) -> FittedRates:
        """Fit the rates of all slots; those of whom nothing was seen are 1/2, give or take 1/2."""
        tries, games = state.stats.tries, state.stats.games
        seen = (tries + tries.T).any(axis=1)
        fitted = FittedRates(np.full(len(tries), 0.5), np.full(len(tries), 0.5))
        fitted.rates[seen], fitted.deviations[seen] = fit_rates(
            tries[np.ix_(seen, seen)], games[np.ix_(seen, seen)]
        )
        return fitted


def _write_plan(state: PMEDState, plan: Plan, players: NDArray[np.int64]) -> None:
    """Write a plan of players by their numbers among those available into a state, in place."""
    explored = sorted(plan.exploration, key=lambda each: -each[1])[: len(state.plays) - 1]
    state.matchings[:] = 0
    for row, matching in enumerate([plan.leader, *(matching for matching, _ in explored)]):
        state.matchings[row, : len(matching)] = players[np.array(matching.couples)]
    state.plays[:] = 0
    state.plays[1 : 1 + len(explored)] = [times for _, times in explored]
    state.plays[0] = state.plays.sum()
    state.planned_for[:] = state.available
    state.counters[[COUNT, COUPLE_COUNT]] = 1 + len(explored), len(plan.leader)
    state.counters[[TURNS, LAST_ROUND]] = state.plays.sum(), plan.last_round
    state.counters[CHANGED] = False


class PMEDState(NamedTuple):
    """State of `PMED`: statistics of couples, and the plan."""

    stats: CoupleStatistics
    available: np.ndarray = Flags("slots")  # by slot
    # By slot: who was available when the plan was made.
    planned_for: np.ndarray = Flags("slots", saved=True)
    columns: np.ndarray = Flags(0)  # by slot: who is a column; empty on one side
    # Of the plan, the leader first.
    matchings: np.ndarray = Players("slots + 1, slots // 2, 2", saved=True)
    # Rounds in which each is still to be played.
    plays: np.ndarray = Integers("slots + 1", saved=True)
    counters: np.ndarray = Integers(
        _COUNTERS, saved=(COUNT, COUPLE_COUNT, TURNS, LAST_ROUND), most=2**62
    )


def _set_available(state, players):
    mark_available(state, players)
    state.counters[CHANGED] = False
    for i in range(len(state.available)):
        state.counters[CHANGED] |= state.available[i] != state.planned_for[i]


def _propose(state, couples):
    counters = state.counters
    if counters[CHANGED] or (counters[TURNS] == 0 and counters[ROUND] >= counters[LAST_ROUND]):
        return STALE
    choice = _most_wanted(state) if counters[TURNS] > 0 else 0
    for c in range(counters[COUPLE_COUNT]):
        couples[c, 0] = state.matchings[choice, c, 0]
        couples[c, 1] = state.matchings[choice, c, 1]
    write_nobody(couples, counters[COUPLE_COUNT])
    counters[ROUND] += 1
    return OK


provide(PMEDState, set_available=_set_available, propose=_propose, observe=count_outcomes)


@kernel
def _most_wanted(state):
    """The matching that is furthest behind the plan; it is played now."""
    choice = 0
    for k in range(1, state.counters[COUNT]):
        if state.plays[k] > state.plays[choice]:
            choice = k
    state.plays[choice] -= 1
    state.counters[TURNS] -= 1
    return choice
