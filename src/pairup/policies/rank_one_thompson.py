"""Thompson sampling of one rate per player."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import rank_one_thompson as kernel
from pairup.kernels.allocation import new_arrays
from pairup.kernels.graph_matcher import GraphMatcher
from pairup.kernels.rank_one_posterior import LANES
from pairup.kernels.runtime.dispatch import propose_step, set_available_step
from pairup.kernels.runtime.foreign_steps import for_state
from pairup.kernels.state_layout import ANSWERED, PERIOD, PRESENT, ROUND, USED, new_counters
from pairup.policies.base import Policy, Slots, StartContext, check_integer_option, register
from pairup.policies.couple_counts import CoupleCounts, pick_counts
from pairup.policies.couples import couples_in_order
from pairup.saved_arrays import Arrays, numbers, require

_GOLDEN = 0.6180339887498949  # its multiples spread evenly: not all are refreshed in one round
_FEW_DRAWS, _PRIOR_VARIANCE = 10.0, 1 / 12
_MIN_GAP = 2.0**-53  # of a rate to 1
_MAX_DRAWS = 32  # with which the chain catches up: the means are then over several draws
_ANSWERS = ("accepted", "declined")  # what was observed of each player
# Arrays of one number per player, and the range in which each of them must lie.
_OF_PLAYERS = {
    "accepted": (0.0, np.inf),
    "declined": (0.0, np.inf),
    "rates": (0.0, 1.0 - _MIN_GAP),
    "mean": (0.0, 1.0 - _MIN_GAP),
    "square": (0.0, 1.0),
    "drawn": (0.0, np.inf),
    "credit": (0.0, 1.0),
    "reach": (0.0, 1.0 - _MIN_GAP),
    "couple_reach": (0.0, 1.0 - _MIN_GAP),
    "fitted": (0.0, np.inf),
}


@register
@dataclass(frozen=True)
class RankOneThompson(Policy):
    """Draw every player's rate from what all games say of it, and couple neighbours.

    A couple plays with the product of its players' rates, so each game says something of both, and
    through them of all others they met. Every `period`-th round the rates are drawn from their
    joint posterior under a uniform prior, exactly, by a Markov chain; the players are sorted by the
    draw and neighbours coupled. In between, they are sorted by their posterior means. See
    docs/explanation/rank-one.md.

    Parameters
    ----------
    period : int
        1 is plain Thompson sampling. With 2, every other round plays what looks best, which loses
        less in the beginning and is as good in the long run.

    Notes
    -----
    Live, `Learner.observe` may be told who accepted: a player's rate is then learnt directly.

    Examples
    --------
    >>> from pairup import Problem, RankOneThompson, simulate
    >>> problem = Problem.around(0.5, 4, 0.1)
    >>> run = simulate(problem, RankOneThompson(), rounds=2_000, replications=4)
    >>> bool(run.mean()[-1] < 40)
    True
    """

    # A draw makes up for the rounds since the last one: in a pool it must not take too long.
    period: int = field(default=2, metadata={"max_in_pools": 100})

    name: ClassVar[str] = "rank_one_thompson"
    learns_from_answers: ClassVar[bool] = True
    draws_go_on: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 35

    def __post_init__(self) -> None:
        check_integer_option(self, "period", minimum=1, advice="give 1 to draw in every round")

    def start(self, context: StartContext) -> kernel.RankOneState:
        slots = context.slots
        width = -(-slots // LANES) * LANES
        state = kernel.RankOneState(
            **new_arrays(("tries", "games", "missed", "told"), (slots, width), np.int32),
            **new_arrays(_OF_PLAYERS, width),
            met=np.zeros(slots),
            usual=np.full(slots, -1, np.int64),
            **new_arrays(("moved", "terms"), width),
            **new_arrays(("present", "by_rate", "by_mean"), slots, np.int64),
            available=np.zeros(slots, np.bool_),
            now=new_counters({PERIOD: self.period}),
            key=np.array([context.key, context.key]),
            draws=np.zeros(1, np.int64),
        )
        for i in range(width):
            _begin(state, i)
        return state

    def set_present(self, state: Any, present: Slots) -> None:
        count = state.now[PRESENT] = len(present)
        state.present[:count] = present
        # Capacity doubles when it runs out: without this, up to half of each row would be wasted.
        state.now[USED] = -(-(present[-1] + 1) // LANES) * LANES if count else 0
        state.by_rate[:count] = present[np.argsort(-state.rates[present], kind="stable")]
        state.by_mean[:count] = present[np.argsort(-state.mean[present], kind="stable")]

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        # What others answered remains theirs, their shared outcomes go.
        partners = np.flatnonzero(state.tries[slot, : len(state.met)])
        low, high = np.minimum(partners, slot), np.maximum(partners, slot)
        state.accepted[partners] -= state.games[low, high] - state.told[low, high]
        state.met[partners] -= state.tries[slot, partners]
        state.fitted[partners] = 0.0
        for couples in (state.tries, state.games, state.missed, state.told):
            # Not the whole column: to write zeros takes memory that was never touched.
            couples[slot, partners] = couples[partners, slot] = 0
        for i in [slot, *partners.tolist()]:
            if i == slot or state.usual[i] == slot:
                state.usual[i] = _most_met(state, i)
            if i == slot or state.met[i] + state.accepted[i] + state.declined[i] == 0:
                _begin(state, i)

    def on_graph(
        self, state: Any, matcher: GraphMatcher, context: StartContext
    ) -> kernel.RankOneGraphState:
        return kernel.RankOneGraphState(state, matcher)

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        used = state.now[USED]
        rows, columns = np.nonzero(state.tries[:used, :used] > 0)
        low, high = rows[rows < columns], columns[rows < columns]
        couples = {"low": low, "high": high}
        for name in ("tries", "games", "missed", "told"):
            couples[name] = getattr(state, name)[low, high].astype(np.int64)
        players = {name: getattr(state, name)[: len(state.met) - 1] for name in _ANSWERS}
        return couples | players | {"answered": state.now[[ANSWERED]]}

    def load_evidence(self, state: Any, arrays: Arrays) -> kernel.RankOneState:
        _load_couples(state, arrays)
        _load_players(state, arrays, _ANSWERS)
        (answered,) = numbers(arrays, "answered")
        self._set_observed(state, answered)
        # The chain starts near the posterior, and `catch_up` lets it run.
        state.rates[:] = state.moved[:] = state.mean[:] = _at_first_sight(state)
        state.square[:] = state.mean**2
        self._sort_present(state)
        return state

    def catch_up(self, state: Any, rounds: int) -> kernel.RankOneState:
        first = int(state.now[ROUND])
        missed = range(first + -first % self.period, rounds, self.period)
        if missed and state.now[PRESENT]:
            # A round that draws and couples nobody: the chain moves as it does in any round.
            for_state(set_available_step, state)(state, np.zeros(0, np.int64))
            for draw in missed[-_MAX_DRAWS:]:
                state.now[ROUND] = draw
                for_state(propose_step, state)(state, np.zeros((0, 2), np.int64))
        state.now[ROUND] = max(first, rounds)
        return state

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        evidence = self.evidence(state)
        del evidence["answered"]  # beside the round, as it always was
        players = {name: getattr(state, name)[: len(state.met) - 1] for name in _OF_PLAYERS}
        return evidence | players | {"now": state.now[[ROUND, ANSWERED]]}

    def load(self, state: Any, arrays: Arrays) -> kernel.RankOneState:
        _load_couples(state, arrays)
        _load_players(state, arrays, _OF_PLAYERS)
        state.moved[:] = state.rates
        state.now[ROUND], answered = numbers(arrays, "now")
        self._set_observed(state, answered)
        self._sort_present(state)
        return state

    def _set_observed(self, state: kernel.RankOneState, answered: np.int64) -> None:
        """Fill in what follows from the couples, and whether answers were observed."""
        state.met[:] = state.tries.sum(axis=1)
        state.usual[:] = [_most_met(state, i) for i in range(len(state.met))]
        require(answered <= 1, "it must say whether answers were observed")
        state.now[ANSWERED] = answered

    def _sort_present(self, state: kernel.RankOneState) -> None:
        self.set_present(state, state.present[: state.now[PRESENT]].copy())

    def leader(self, state: Any) -> NDArray[np.int64]:
        # Neighbours by posterior mean.
        order = state.by_mean[: state.now[PRESENT]]
        return couples_in_order(order[state.available[order]])

    def statistics(self, state: Any) -> CoupleCounts:
        used = _used(state)
        return pick_counts(np.triu(state.tries[used]), state.games[used])

    def player_rates(
        self, state: Any, slots: Slots
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        variance = np.maximum(state.square - state.mean**2, 0.0)
        # A few draws show neither their mean nor their spread: what was observed stands in for the
        # mean, and the prior's variance for theirs.
        few = np.maximum(1.0 - state.drawn / _FEW_DRAWS, 0.0)
        deviations = np.sqrt((1.0 - few) * variance + few * _PRIOR_VARIANCE)
        rates = (1.0 - few) * state.mean + few * _at_first_sight(state)
        return rates[slots], deviations[slots]


def _used(state: kernel.RankOneState) -> tuple[slice, slice]:
    """Return which rows and columns are in use; the rest may be large, and was never touched."""
    slots = slice(min(state.now[USED], len(state.met)))
    return slots, slots


def _at_first_sight(state: kernel.RankOneState) -> NDArray[np.float64]:
    """Return each player's mean rate if its partners' rates are 1/2.

    In a game that was missed it had then accepted with a chance of about 1/3.
    """
    by_slot = state.missed[_used(state)].sum(axis=1)
    missed = np.pad(by_slot, (0, len(state.mean) - len(by_slot)))
    return (1 + state.accepted + missed / 3) / (2 + state.accepted + state.declined + missed)


def _begin(state: kernel.RankOneState, slot: int) -> None:
    """Put a player of whom nothing is known, in place, into the middle of its prior."""
    state.rates[slot] = state.moved[slot] = state.mean[slot] = 0.5
    state.square[slot] = 1 / 3
    state.reach[slot] = state.couple_reach[slot] = 1 - _MIN_GAP
    state.credit[slot] = slot * _GOLDEN % 1
    for name in ("accepted", "declined", "drawn", "fitted"):
        getattr(state, name)[slot] = 0.0
    if slot < len(state.met):
        state.met[slot] = 0.0


def _most_met(state: kernel.RankOneState, slot: int) -> int:
    return int(state.tries[slot].argmax()) if state.tries[slot].any() else -1


def _load_players(state: kernel.RankOneState, arrays: Arrays, names: Iterable[str]) -> None:
    capacity = len(state.met) - 1
    for name in names:
        values, (least, most) = arrays[name], _OF_PLAYERS[name]
        real = values.dtype == np.float64 and values.ndim == 1 and len(values) <= capacity
        require(real, f"{name} are not one number per player")
        require(np.all((values >= least) & (values <= most)), f"{name} are out of range")
        getattr(state, name)[: len(values)] = values


def _load_couples(state: kernel.RankOneState, arrays: Arrays) -> None:
    low, high = numbers(arrays, "low"), numbers(arrays, "high")
    tries, games = numbers(arrays, "tries", minimum=1), numbers(arrays, "games")
    missed, told = numbers(arrays, "missed"), numbers(arrays, "told")
    lengths = {len(each) for each in (low, high, tries, games, missed, told)}
    require(len(lengths) == 1, "its couples are incomplete")
    used = min(state.now[USED], len(state.met) - 1)
    require(np.all((low < high) & (high < used)), "it has couples of unknown players")
    require(np.all(tries <= np.iinfo(np.int32).max), "it has more proposals than it can count")
    require(np.all(games + missed <= tries), "it has more outcomes than proposals")
    require(np.all(told <= games), "it was told of more games than were played")
    state.tries[low, high] = state.tries[high, low] = tries
    state.missed[low, high] = state.missed[high, low] = missed
    state.games[low, high], state.told[low, high] = games, told
