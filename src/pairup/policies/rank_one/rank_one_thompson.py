"""Thompson sampling of one rate per player.

In one file because the policy, the state that it makes and the saved form of that state must agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pairup.checks import is_number
from pairup.compiled.state_fields import AVAILABLE, ROUND, new_counters, new_reals, new_state
from pairup.compiled.steps import set_available_step
from pairup.errors import PolicyError
from pairup.policies.contract import Policy, Slots, StartContext, check_integer_option
from pairup.policies.couple_counts import CoupleCounts, Integers
from pairup.policies.couple_policies import couples_in_order
from pairup.policies.rank_one import couple_tables as tables
from pairup.policies.rank_one import steps
from pairup.policies.rank_one.couple_layouts import LANES, new_dense_couples
from pairup.policies.rank_one.fading import MAX_WEIGHT, fade_step, part_step
from pairup.policies.rank_one.sides import RankOneSidesState, new_sides_state
from pairup.policies.rank_one.state import (
    ANSWERED,
    COUNTERS,
    FADED,
    FROZEN_RATES,
    LEARNS_PRIOR,
    MAX_DRAWS,
    MAX_PRIOR,
    MAX_RATE,
    MIN_PRIOR,
    OUTCOMES,
    OWED,
    PERIOD,
    PRIOR_A,
    PRIOR_B,
    REALS,
    TOLD,
    UNTOLD,
    WEIGHT,
    WEIGHT_GROWTH,
    RankOneState,
)
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, load_array, load_arrays, numbers, real_numbers, require

_GOLDEN = 0.6180339887498949  # its multiples spread evenly: not all are refreshed in one round
_FEW_DRAWS = 10.0
_MAX_WARM_UP_DRAWS = 8  # after a history: from a start near the posterior they are enough
_MAX_DENSE = 64  # players; of more, live, only the couples that met are kept
_MIN_MEMORY, _MAX_MEMORY = 1.0, 1e9  # rounds
_MAX_FADING = 1_000.0  # half-lives at once: nothing is left of what is known
_GONE = ("gone", "frozen_slot", "frozen_rate", "frozen_missed")  # saved if players left

Prior = str | tuple[float, float]


@register
@dataclass(frozen=True)
class RankOneThompson(Policy):
    """Draw every player's rate from what all games say of it, and couple neighbours.

    A couple plays with the product of its players' rates, so each game says something of both, and
    through them of all others they met. Every `period`-th round the rates are drawn from their
    joint posterior, exactly, by a Markov chain; the players are sorted by the draw and neighbours
    coupled. In between, they are sorted by their posterior means. See
    docs/explanation/rank-one.md.

    Parameters
    ----------
    period : int
        1 is plain Thompson sampling. With 2, every other round plays what looks best, which loses
        less in the beginning and is as good in the long run.
    prior : {"uniform", "learned"} or (float, float)
        What is believed of a player who is new: that all rates are equally likely, what the rates
        of the other players suggest, or the Beta distribution with these
        parameters.
    memory : float, optional
        Half-life of what was observed, in rounds, at least 1: for rates that change. By default
        nothing fades.

    Notes
    -----
    Live, `Learner.observe` may be given who accepted: a player's rate is then learnt directly. The
    more answers are known, the less is explored, since all matchings then teach the same.

    On two sides both sides are sorted, and the best row meets the best column.

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
    prior: Prior = "uniform"
    memory: float | None = None

    name: ClassVar[str] = "rank_one_thompson"
    plays_on_graphs: ClassVar[bool] = True
    learns_from_answers: ClassVar[bool] = True
    draws_go_on: ClassVar[bool] = True
    max_redrawn: ClassVar[int] = 20_000
    nominal_ns: ClassVar[int] = 35
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"prior": "learned", "period": 4},
        {"prior": (2.0, 3.0), "period": 1},
    )

    def __post_init__(self) -> None:
        check_integer_option(self, "period", minimum=1, advice="give 1 to draw in every round")
        object.__setattr__(self, "prior", _checked_prior(self.name, self.prior))
        object.__setattr__(self, "memory", _checked_memory(self.name, self.memory))

    def sizes(self, context: StartContext) -> dict[str, int]:
        return super().sizes(context) | {"width": -(-context.capacity // LANES) * LANES}

    def start(self, context: StartContext) -> RankOneState:
        capacity, sizes = context.capacity, self.sizes(context)
        width = sizes["width"]
        dense = is_dense(context)
        options = {PERIOD: self.period, LEARNS_PRIOR: self.learns_prior}
        state = new_state(
            RankOneState,
            sizes,
            couples=new_dense_couples(capacity, width) if dense else tables.new_table(capacity),
            terms=np.zeros(width, context.precision),
            counters=new_counters(options, COUNTERS),
            reals=self._first_reals(context),
            key=np.array([context.key, context.key]),
        )
        _begin(state, np.arange(width))
        return state

    def _first_reals(self, context: StartContext) -> NDArray[np.float64]:
        # Live, rounds are recorded: there `fade` is called for each.
        simulated = self.memory is not None and context.horizon is not None
        growth = 2.0 ** (1.0 / self.memory) if simulated and self.memory else 1.0
        a, b = self.prior if isinstance(self.prior, tuple) else (1.0, 1.0)
        first = {WEIGHT: 1.0, OUTCOMES: 1.0, WEIGHT_GROWTH: growth, PRIOR_A: a, PRIOR_B: b}
        return new_reals(first, REALS)

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        # What others answered remains theirs. Of their shared outcomes they keep what was learnt
        # against the rate of the player who leaves; if it is not given, those outcomes go.
        partners = tables.partners_of(state.couples, slot)
        frozen = -1 if rate is None else min(int(rate * FROZEN_RATES), FROZEN_RATES - 1)
        part_step(state, slot, frozen)
        known = state.met[partners] + state.accepted[partners] + state.declined[partners]
        _begin(state, np.append(partners[known == 0.0], slot))

    def fade(self, state: Any, half_lives: float) -> None:
        if half_lives > 0.0:
            fade_step(state, 2.0 ** min(half_lives, _MAX_FADING))

    @property
    def learns_prior(self) -> bool:
        return self.prior == "learned"

    @property
    def half_lives_per_round(self) -> float:
        return 0.0 if self.memory is None else 1.0 / self.memory

    def reserve(self, state: Any, couples: NDArray[np.int64]) -> RankOneState:
        return state._replace(couples=tables.with_room(state.couples, couples))

    def grow(self, state: Any) -> RankOneState:
        players = state.available[: state.counters[AVAILABLE]]
        return state._replace(couples=tables.with_next_partners(state.couples, players))

    def on_sides(self, state: Any, context: StartContext) -> RankOneSidesState:
        assert context.columns is not None  # on two sides
        return new_sides_state(state, context.columns)

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        players = {
            "accepted": state.accepted[: _capacity(state)],
            "declined": state.declined[: _capacity(state)],
        }
        answered = {"answered": state.counters[[ANSWERED]]}
        # What older versions did not know is left out where it says nothing: the same facts have
        # the same evidence.
        gone = _gone(state) if state.gone.any() else {}
        faded = {"weight": state.reals[[WEIGHT]], "met": state.met[: _capacity(state)]}
        return (
            tables.picked(state.couples)._asdict()
            | players
            | answered
            | gone
            | (faded if state.counters[FADED] else {})
        )

    def load_evidence(self, state: Any, arrays: Arrays) -> RankOneState:
        state = load_observed(state, arrays)
        _estimate_answered(state)
        self.warm_up(state, int(state.met.sum()))
        return state

    def catch_up(self, state: Any, rounds: int) -> RankOneState:
        # The chain continues as it would have in those rounds, when the next matching is proposed.
        first = int(state.counters[ROUND])
        missed = range(first + -first % self.period, rounds, self.period)
        state.counters[OWED] = min(state.counters[OWED] + len(missed), MAX_DRAWS)
        state.counters[ROUND] = max(first, rounds)
        return state

    def draws_next(self, state: Any) -> bool:
        return bool(state.counters[OWED] or state.counters[ROUND] % self.period == 0)

    def redrawn(self, state: Any, present: Slots, context: StartContext) -> RankOneState:
        # Proposals read what is known of couples, and move the chain.
        shared = {"couples": state.couples, "frozen_missed": state.frozen_missed}
        copied = {
            name: shared[name] if name in shared else array.copy()
            for name, array in state._asdict().items()
        }
        copied["key"][:] = context.key
        return RankOneState(**copied)

    def warm_up(self, state: Any, outcomes: int) -> None:
        # Players of whom nothing was known start near their posterior. The chain runs longer the
        # more is new to it, and as long for a history in parts as for all of it.
        players = np.flatnonzero(state.met > 0.0)
        new = players[state.drawn[players] == 0.0]
        state.rates[new] = state.mean[new] = _at_first_sight(state, new)
        state.square[new] = state.mean[new] ** 2
        known = state.met.sum() / 2 * state.reals[OUTCOMES]
        last = _draws_to_settle(known)
        first = max(_draws_to_settle(known - outcomes), last - _MAX_WARM_UP_DRAWS)
        if first < last:
            set_available_step(state, players)
            steps.settle(state, first, last)

    def load(self, state: Any, arrays: Arrays) -> RankOneState:
        loaded: RankOneState = load_arrays(load_observed(state, arrays), arrays)
        return loaded

    def leader(self, state: Any) -> NDArray[np.int64]:
        # Neighbours by posterior mean.
        players = state.available[: state.counters[AVAILABLE]]
        means = _means(state, players)
        return couples_in_order(players[np.argsort(-means, kind="stable")])

    def statistics(self, state: Any) -> CoupleCounts:
        couples = tables.picked(state.couples)
        return CoupleCounts(couples.low, couples.high, couples.tries, couples.games)

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers]:
        return tables.counts_between(state.couples, one, other)

    def player_rates(
        self, state: Any, slots: Slots
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        mean, drawn = state.mean[slots], state.drawn[slots] * state.reals[OUTCOMES]
        first, settled = _at_first_sight(state, slots), _is_settled(state, slots)
        # A few draws show neither their mean nor their spread: what was observed stands in for the
        # mean, and the prior's variance for theirs.
        few = np.maximum(1.0 - drawn / _FEW_DRAWS, 0.0)
        a, b, outcomes = state.reals[[PRIOR_A, PRIOR_B, OUTCOMES]]
        variance = (1.0 - few) * np.maximum(state.square[slots] - mean**2, 0.0)
        variance += few * (a * b / ((a + b) ** 2 * (a + b + 1)))
        answers = a + b + (state.accepted[slots] + state.declined[slots]) * outcomes
        exact = first * (1.0 - first) / (answers + 1.0)
        rates = np.where(settled, first, (1.0 - few) * mean + few * first)
        return rates, np.sqrt(np.where(settled, exact, variance))


def is_dense(context: StartContext) -> bool:
    """Whether all couples are kept, and not only those that met."""
    # In a simulation, whose horizon is known, sooner or later most couples meet.
    return context.capacity <= _MAX_DENSE or context.horizon is not None


def _checked_prior(name: str, prior: Any) -> Prior:
    if isinstance(prior, str) and prior in ("uniform", "learned"):
        return prior
    if isinstance(prior, list | tuple) and len(prior) == 2 and all(map(is_number, prior)):
        a, b = (float(each) for each in prior)
        if MIN_PRIOR <= a <= MAX_PRIOR and MIN_PRIOR <= b <= MAX_PRIOR:
            return a, b
    raise PolicyError(
        f"prior of {name} cannot be {prior!r}: give 'uniform', 'learned' or the two parameters "
        f"of a Beta distribution, numbers from {MIN_PRIOR} to {MAX_PRIOR:,.0f}, for "
        "example (2, 3)"
    )


def _checked_memory(name: str, memory: Any) -> float | None:
    if memory is None:
        return None
    if is_number(memory) and _MIN_MEMORY <= memory <= _MAX_MEMORY:
        return float(memory)
    raise PolicyError(
        f"memory of {name} must be from {_MIN_MEMORY:.0f} to {_MAX_MEMORY:,.0f} rounds, "
        f"got {memory!r}: give a half-life in rounds, or None to let nothing fade"
    )


def _capacity(state: RankOneState) -> int:
    return tables.capacity(state.couples)


def _begin(state: RankOneState, slots: NDArray[np.int64]) -> None:
    """Start players of whom nothing is known in the middle of their prior, in place."""
    a, b = state.reals[[PRIOR_A, PRIOR_B]]
    state.rates[slots] = state.mean[slots] = a / (a + b)
    state.square[slots] = a * (a + 1) / ((a + b) * (a + b + 1))
    state.reach[slots] = state.couple_reach[slots] = MAX_RATE
    state.credit[slots] = slots * _GOLDEN % 1
    state.counted[slots] = False
    for name in ("accepted", "declined", "met", "gone", "unsure", "drawn", "fitted"):
        getattr(state, name)[slots] = 0.0


def _at_first_sight(
    state: RankOneState, slots: NDArray[np.int64] | slice = slice(None)
) -> NDArray[np.float64]:
    """Return each player's mean rate if its partners' rates are 1/2.

    In a game that was missed it had then accepted with a chance of about 1/3.
    """
    a, b, outcomes = state.reals[[PRIOR_A, PRIOR_B, OUTCOMES]]
    accepted, declined = state.accepted[slots] * outcomes, state.declined[slots] * outcomes
    missed = state.unsure[slots] * outcomes
    return (a + accepted + missed / 3) / (a + b + accepted + declined + missed)


def _draws_to_settle(outcomes: float) -> int:
    """Return how many draws histories of this many outcomes get, if they come one by one."""
    return int(_MAX_WARM_UP_DRAWS * np.log1p(max(outcomes, 0.0)))


def _is_settled(state: RankOneState, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which players have answered each time, so that their rates are Beta distributed."""
    return (state.unsure[slots] == 0.0) & (state.counters[ANSWERED] == 1)


def _means(state: RankOneState, slots: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the means by which players are sorted, as the next proposal would."""
    new = (state.drawn[slots] == 0.0) & (state.met[slots] == 0.0)
    return np.where(
        new | _is_settled(state, slots), _at_first_sight(state, slots), state.mean[slots]
    )


def _gone(state: RankOneState) -> dict[str, NDArray[Any]]:
    """Pick what is known from outcomes with players who left."""
    slots, bins = np.nonzero(state.frozen_missed)
    missed = state.frozen_missed[slots, bins].astype(np.float64)
    return dict(zip(_GONE, (state.gone[: _capacity(state)], slots, bins, missed), strict=True))


def load_observed(state: RankOneState, arrays: Arrays) -> RankOneState:
    """Fill in all that was observed, and what follows from it."""
    (answered,) = numbers(arrays, "answered")
    require(answered <= 1, "it must say whether answers were observed")
    state.counters[ANSWERED] = answered
    require(("weight" in arrays) == ("met" in arrays), "what has faded is incomplete")
    if "weight" in arrays:
        weight = real_numbers(arrays, "weight", 1.0, MAX_WEIGHT)
        require(len(weight) == 1, "it must have one weight")
        state.reals[[WEIGHT, OUTCOMES]] = weight[0], 1.0 / weight[0]
        state.counters[FADED] = 1
    _load_players(state, arrays, "accepted", "declined")
    couples = tables.checked_couples(arrays, _capacity(state))
    state = state._replace(couples=tables.filled(state.couples, couples))
    tries, state.unsure[:] = tables.row_sums(couples, len(state.met))
    if not arrays.keys().isdisjoint(_GONE):
        _load_players(state, arrays, "gone")
        _load_frozen(state, arrays)
    if "weight" in arrays:
        _load_players(state, arrays, "met")
    else:
        state.met[:] = tries + state.gone
    state.usual[:] = tables.usual_partners(couples, len(state.met))
    return state


def _load_frozen(state: RankOneState, arrays: Arrays) -> None:
    slots, bins = numbers(arrays, "frozen_slot"), numbers(arrays, "frozen_rate")
    missed = real_numbers(arrays, "frozen_missed", 0.0, float(np.finfo(np.float32).max))
    require(len(slots) == len(bins) == len(missed), "its frozen rates are incomplete")
    known = np.all(slots < _capacity(state)) and np.all(bins < FROZEN_RATES)
    require(known, "it has frozen rates of unknown players")
    require(np.all(state.gone[slots] > 0.0), "it has outcomes with players who never left")
    state.frozen_missed[slots, bins] = missed
    np.add.at(state.unsure, slots, state.frozen_missed[slots, bins])


def _estimate_answered(state: RankOneState) -> None:
    """Estimate how many outcomes come with answers, from what was observed."""
    if state.counters[ANSWERED]:
        couples = tables.picked(state.couples)
        untold = couples.missed.sum() / state.reals[WEIGHT]
        told = (couples.tries - couples.games).sum() - couples.missed.sum()
        share = untold / max(untold + max(told, 0.0), 1e-9)
        state.counters[[TOLD, UNTOLD]] = [100 - round(100 * share), round(100 * share)]


def _load_players(state: RankOneState, arrays: Arrays, *names: str) -> None:
    for name in names:
        load_array(state, name, arrays)
        known = len(arrays[name]) <= _capacity(state)
        require(known, f"{name} is not one number per player")
