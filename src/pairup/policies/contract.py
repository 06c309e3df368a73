"""The contract of a policy, in one file because whoever writes a policy reads it as a whole."""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from pairup.checks import check_choice, checked_integer
from pairup.compiled.couples import leader_counts
from pairup.compiled.kernel_cache import is_ours
from pairup.compiled.matchings.graph_matcher import GraphMatcher, GraphState, new_graph_matcher
from pairup.compiled.randomness import word
from pairup.compiled.steps import FULL, STALE
from pairup.errors import PolicyError
from pairup.policies.couple_counts import CoupleCounts, Integers, checked_counts, observe_counts
from pairup.policies.deviation import ConcentrationChances
from pairup.policies.plugins import portable_class, reference_of, restored_class
from pairup.problem import Problem
from pairup.problem.meeting_graph import MeetingGraph
from pairup.saved_arrays import Arrays, forget_slot, is_declared, load_arrays, saved_arrays

if TYPE_CHECKING:
    from pairup.learning.learner import Learner

Slots = NDArray[np.int64]

_MAX_TIMES = 16  # interruptions in a row; a table that doubles is then 65,536 times as large


@dataclasses.dataclass(frozen=True)
class StartContext:
    """What a policy knows before it starts.

    Players have the slots 0 to capacity - 1. One slot more, the last, belongs to the phantom, who
    takes the odd player out.
    """

    capacity: int  # greatest number of players
    key: np.uint64  # of the policy's own random stream
    horizon: int | None = None  # number of rounds to come, if that is known
    rates: NDArray[np.float64] | None = None  # of each slot, if those are known (to an oracle)
    couple_rates: NDArray[np.float64] | None = None  # where couples have rates of their own
    columns: NDArray[np.bool_] | None = None  # which slots are columns; None: all on one side
    column_order: NDArray[np.int64] | None = None  # slots of the columns, best first, if known
    precision: type[np.floating[Any]] = np.float64  # of workspaces where seven digits would do

    @property
    def slots(self) -> int:
        """Number of slots, the phantom's included."""
        return self.capacity + 1

    def keys(self, count: int) -> NDArray[np.uint64]:
        """Return keys of as many streams of the policy's own."""
        return np.array([word(self.key, purpose) for purpose in range(count)], np.uint64)


@dataclasses.dataclass(frozen=True)
class Policy(ABC):
    """A rule that proposes matchings and learns from what was played.

    A policy is a frozen set of options. What it learns lies in a *state*, a NamedTuple of arrays
    on which the compiled steps of `pairup.compiled.steps` work; the simulator and the
    live `Learner` call the very same steps. The methods below make and reshape that state. All that
    is to be known of a policy is declared in its class.

    Attributes
    ----------
    name
        Name in the registry, in results and in saved learners. A third-party policy that gives
        none is called by its place, for example "mine:SortedMeans".
    learns_from_answers
        Whether it has the step `observe_answers`.
    draws_at_random
        Whether its proposals depend on the seed.
    draws_go_on
        Whether its draws continue from its last draws, as those of a Markov chain do. The effect of
        outcomes with a player who left then fades, instead of vanishing at once.
    serves_pools
        Whether it can serve live pools, whose players come and go.
    is_told_rates
        Whether it knows the rates. It is started again, with the new ones, when they change.
    is_told_column_order
        Whether it knows the order of the columns by their rates, as `StartContext.column_order`.
    plays_on_graphs
        Whether it plays where not all couples may meet, or their games differ in worth: its state
        has the step `propose_on_graph`.
    needs_sides
        Whether it is for two sides only: `start` makes its state from `StartContext.columns`, by
        slot, and its proposals couple rows with columns.
    max_redrawn
        Number of players known up to which a copy by `redrawn` takes little time.
    nominal_ns
        Nanoseconds per round and player, about; see `nominal_cost`.
    examples
        Options with which `pairup.testing` checks it, besides every choice of its `Literal` ones.
    """

    name: ClassVar[str]
    learns_from_answers: ClassVar[bool] = False
    draws_at_random: ClassVar[bool] = True
    draws_go_on: ClassVar[bool] = False
    serves_pools: ClassVar[bool] = True
    is_told_rates: ClassVar[bool] = False
    is_told_column_order: ClassVar[bool] = False
    plays_on_graphs: ClassVar[bool] = False
    needs_sides: ClassVar[bool] = False
    max_redrawn: ClassVar[int] = 256
    nominal_ns: ClassVar[int] = 50
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" not in vars(cls) and not is_ours(cls):
            cls.name = reference_of(cls)

    def __post_init__(self) -> None:
        for option, choices in option_choices(type(self)).items():
            check_choice(f"{option} of {self.name}", getattr(self, option), choices, PolicyError)

    def sizes(self, context: StartContext) -> dict[str, int]:
        """Return the sizes by which the fields of the state declare theirs; see `new_state`."""
        slots, leaders = context.slots, leader_counts.CAPACITY
        return {"players": context.capacity, "slots": slots, "leaders": leaders}

    @abstractmethod
    def start(self, context: StartContext) -> Any:
        """Make the state of a policy that has seen nothing; nobody is present yet."""

    def set_present(self, state: Any, present: Slots) -> None:
        """Note that the players present are now `present` (ascending), in place.

        A live learner calls it before the next step on the state, once for all players who have
        joined and left since the last: the result must follow from the players present alone.
        """
        return  # who is available is enough for most policies

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """Pick the arrays from which the whole state can be made again.

        By default these are the evidence, and what the fields of the state declare as saved.
        """
        return self.evidence(state) | saved_arrays(state)

    def load(self, state: Any, arrays: Arrays) -> Any:
        """Fill a state from saved arrays.

        The state was started with at least the same capacity, and the same players are present.
        The arrays cannot be trusted: whatever could lead a compiled step astray is refused with an
        `SavingError`. Ranges of values that fields declare are checked by default; a policy whose
        arrays have to fit each other overrides this, and checks that too.
        """
        return load_arrays(self.load_evidence(state, arrays), arrays)

    def evidence(self, state: Any) -> dict[str, NDArray[Any]]:
        """Pick the arrays that follow from what was observed and forgotten alone.

        Learners that observed the same have the same evidence, whoever proposed it: it is what must
        be kept permanently. Everything else in a state, such as the position of a sampler, can be
        made again from it; see `load_evidence`. By default it is what
        `statistics` counts.
        """
        counts = self.statistics(state)
        return {} if counts is None else counts._asdict()

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        """Fill a state from evidence alone.

        As for `load`, the state was started with at least the same capacity, the same players are
        present, and the arrays cannot be trusted, but for `low` and `high`: these are slots within
        the capacity. By default the counts are observed again.
        """
        if self.statistics(state) is not None:
            counts = checked_counts(arrays)
            state = self.reserve(state, counts.couples)
            observe_counts(state, counts)
        return state

    def catch_up(self, state: Any, rounds: int) -> Any:
        """Return the state after a total of `rounds` matchings, some of which others proposed.

        Called before the policy is asked, after matchings that it was not asked for: those of
        another process, or of the time before the state was made from evidence.
        """
        return state  # most policies are brought up to date by what they observe

    def draws_next(self, state: Any) -> bool:
        """Whether the next proposal depends on a draw."""
        return self.draws_at_random

    def couple_chance(self, players: int) -> float | None:
        """Return the probability of each couple of `players`, None unless all are equal."""
        return None

    def redrawn(self, state: Any, present: Slots, context: StartContext) -> Any:
        """Return a copy of a state whose next proposal is drawn from the stream `context.key`.

        It is another draw from the same distribution. The copy only proposes, and may share arrays
        that proposing does not change.
        """
        started = self.start(context)
        self.set_present(started, present)
        return self.load(started, self.saved(state))

    def warm_up(self, state: Any, outcomes: int) -> None:
        """Get ready for estimates and proposals after a history of `outcomes` outcomes, in place.

        Called once they were observed. A history may come in several parts.
        """
        return  # most policies are ready at once

    def on_graph(self, state: Any, matcher: GraphMatcher, context: StartContext) -> Any:
        """Put a state on a graph: on the couples who may meet, and the worth of their games.

        The result has `state` as its `inner` part, which learns, and the `matcher`, from which
        matchings are taken. A policy that `plays_on_graphs` may override it, to tell the state or
        the matcher more. `check_graph` refuses other graphs for a policy that is for complete ones.
        Only states of pairup's own have steps on graphs.
        """
        if not is_ours(type(state)):
            raise PolicyError(
                f"{self.name} is for complete graphs, because the state {type(state).__name__} is "
                "not one of pairup's own: leave out plays_on_graphs, or derive it from a policy "
                "that plays on graphs, for example rank_one_thompson"
            )
        return GraphState(state, matcher)

    def check_graph(self) -> None:
        """Refuse, with a `PolicyError`, graphs that are not complete, if it is not for them."""
        if not self.plays_on_graphs:
            raise PolicyError(
                f"{self.name} is for complete graphs on which all games are worth the same: where "
                "not all couples may meet, or worth differs, take another policy, for example "
                "rank_one_thompson"
            )

    def on_sides(self, state: Any, context: StartContext) -> Any:
        """Put a state on two sides: on the couples of a row and a column, all worth the same.

        By default it is put on the graph of these couples; a policy that makes use of sides
        overrides this. `context.columns` says which slots are columns.
        """
        if self.needs_sides:
            return state
        assert context.columns is not None
        matcher = new_graph_matcher(
            *MeetingGraph.between_sides(context.columns).compiled(), context.columns
        )
        return self.on_graph(state, matcher, context)

    def check_sides(self, sides: tuple[int, int] | None) -> None:
        """Refuse, with a `PolicyError`, numbers of rows and columns that it is not for.

        None stands for players on one side.
        """
        if sides is None and self.needs_sides:
            raise PolicyError(
                f"{self.name} is for two sides, whose players meet only the other side: pose "
                "Problem.two_sided(rows, columns), or take another policy, for example "
                "rank_one_thompson"
            )
        by_graph = type(self).on_sides is Policy.on_sides and not self.needs_sides
        if sides is not None and by_graph:
            self.check_graph()

    def needs(self) -> tuple[str, ...]:
        """Name the options that must still be given before it starts: "horizon", "rates".

        A simulation supplies its own; a live learner is refused until the option is given.
        """
        return ()

    def check_players(self, count: int) -> None:
        """Refuse, with a `PolicyError`, more players than the policy can match."""
        return  # any number, unless a policy says otherwise

    def nominal_cost(self) -> int:
        """Return about how many nanoseconds a round takes per player, with these options.

        It decides how an experiment is cut into units of work. It is declared and never measured,
        because the same experiment must be cut in the same way everywhere.
        """
        return self.nominal_ns

    def regret_bound(self, problem: Problem) -> tuple[str, float] | None:
        """Return the name of the theorem that bounds its regret and the factor of ln T, if any.

        The couples of the problem's optimum are in strict order.
        """
        return None

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        """Erase what was learnt of the player in `slot`, who left, in place.

        By default a slot is erased in the arrays that fields declare as by couple, and in those
        that they declare as saved. A policy that lets partners keep what they learnt in common
        games does so against `rate`, the player's acceptance rate. Without it, or if the policy
        does not, those outcomes are forgotten too. If a field of the state declares nothing, or the
        policy overrides `saved`, a newcomer could inherit the record of the player who left, so the
        policy must say what to erase, or that nothing is learnt of players:
        ``def forget(self, state, slot, rate=None): pass``.
        """
        if not is_declared(state) or type(self).saved is not Policy.saved:
            raise PolicyError(
                f"{self.name} does not say how to forget a player who leaves: override "
                "forget(state, slot, rate=None) to erase the slot in each array, or to do nothing "
                "if nothing is learnt of players"
            )
        forget_slot(state, slot)

    def fade(self, state: Any, half_lives: float) -> None:
        """Fade all evidence to the share 2**-half_lives of its weight, in place."""
        raise PolicyError(
            f"{self.name} has no memory that fades: take a policy that follows rates which change, "
            "for example rank_one_thompson with the option memory"
        )

    @property
    def learns_prior(self) -> bool:
        """Whether newcomers start at what others have shown, those who left included."""
        return False

    @property
    def half_lives_per_round(self) -> float:
        """How far evidence fades with each round, by the options; live, `fade` is called for it."""
        return 0.0

    def reserve(self, state: Any, couples: NDArray[np.int64]) -> Any:
        """Return the state with room for outcomes of `couples`, rows of two slots.

        Called before outcomes are observed: those steps cannot say that a table is full.
        """
        return state  # most tables have room for every couple

    def grow(self, state: Any) -> Any:
        """Return the state with a larger table, after `propose` found it full."""
        raise PolicyError(
            f"a step of {self.name} returned FULL, but the policy has no table that could grow: "
            "override grow(state), or return OK"
        )

    def replan(self, state: Any) -> Any:
        """Return the state with a new plan, after a step found the one it has out of date."""
        raise PolicyError(
            f"a step of {self.name} returned STALE, but the policy has no plan that could be made "
            "again: override replan(state), or return OK"
        )

    def leader(self, state: Any) -> NDArray[np.int64] | None:
        """Return the couples that look best among the players available, best first, if known."""
        return None

    def statistics(self, state: Any) -> CoupleCounts | None:
        """Return how often each couple that has met was proposed and played, if that is counted."""
        return None

    def couple_counts(
        self, state: Any, one: Integers, other: Integers
    ) -> tuple[Integers, Integers] | None:
        """Return how often some couples were proposed and played, if that is counted.

        By default they are looked up in `statistics`. The players of a couple come in any order,
        and the arrays of slots are broadcast against each other.
        """
        counts = self.statistics(state)
        return None if counts is None else counts.between(one, other)

    def player_rates(
        self, state: Any, slots: Slots
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Return the estimated rates of players and their standard deviations, if known.

        Both have the shape of `slots`, an array of any shape.
        """
        return None

    def concentrations(self, state: Any) -> ConcentrationChances | None:
        """Return how closely couples follow the rates of their players, if that is learned."""
        return None

    @property
    def known_as(self) -> str:
        """What results and saved learners call it: its name, or its place if it is not of pairup.

        By its place "module:Class" it is found where it is imported, registered or not.
        """
        place = reference_of(type(self))
        return self.name if is_ours(type(self)) or "<locals>" in place else place

    @property
    def options(self) -> dict[str, Any]:
        """The options by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def learner(self, players: Iterable[Hashable], seed: int = 0, *, floor: float = 0.0) -> Learner:
        """Start to learn live about some players.

        Parameters
        ----------
        players
            Names of the players present: anything hashable.
        seed
            Seed of the policy's own random draws, at least 0.
        floor
            Share of what random pairing would give that each player gets at least, from 0 to 1;
            for policies that play on graphs.

        Examples
        --------
        >>> from pairup import Unimodal
        >>> learner = Unimodal().learner(["ann", "bob", "cyd", "dan"])
        >>> len(learner.propose())
        2
        """
        from pairup.learning.learner import Learner  # Learner needs this module

        return Learner(self, players, seed, floor=floor)

    def __reduce__(self) -> Any:
        return _restored, (portable_class(type(self)), dict(vars(self)))

    def __str__(self) -> str:
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        given = [f"{k}={value!r}" for k, value in self.options.items() if value != defaults[k]]
        return f"{type(self).__name__}({', '.join(given)})"


class Interruptions:
    """The interruptions of a policy's steps, after each of which the step is called again.

    A proposal that is interrupted too often in a row is refused: it would never end.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy, self._round, self._times = policy, -1, 0

    @staticmethod
    def is_one(status: int) -> bool:
        """Whether a step returned with an interruption."""
        return status in (FULL, STALE)

    def resolved(self, state: Any, status: int, round: int) -> Any:
        """Return the state with which the proposal of this round can continue."""
        self._times = self._times + 1 if round == self._round else 1
        self._round = round
        if self._times > _MAX_TIMES:
            self._give_up(status, round)
        return self._policy.grow(state) if status == FULL else self._policy.replan(state)

    def _give_up(self, status: int, round: int) -> None:
        cause, way_out = {
            FULL: (
                f"returns FULL in round {round + 1} even after its tables grew {_MAX_TIMES} times",
                "grow(state) must return a state with room, and propose must return OK when there "
                "is room",
            ),
            STALE: (
                f"returns STALE in round {round + 1} even after {_MAX_TIMES} new plans",
                "replan(state) must return a state with a plan for the players available, and "
                "propose must return OK when it has one",
            ),
        }[status]
        raise PolicyError(f"the step propose of {self._policy.name} {cause}: {way_out}")


def check_fit(policy: Policy, problem: Problem) -> None:
    """Refuse, with a `PolicyError`, a policy that cannot play a problem."""
    policy.check_players(problem.players)
    policy.check_sides(problem.sides)
    if problem.sides is None and not problem.is_complete:
        policy.check_graph()


def split_by_fit(
    policies: Mapping[str, Policy], problem: Problem
) -> tuple[dict[str, Policy], dict[str, str]]:
    """Return the policies that can play a problem, and why the others cannot, by label."""
    able, refused = dict(policies), {}
    for label, policy in policies.items():
        try:
            check_fit(policy, problem)
        except PolicyError as error:
            refused[label] = str(error)
            del able[label]
    return able, refused


def _restored(portable: type | bytes, values: dict[str, Any]) -> Policy:
    """Make a policy that was pickled."""
    policy: Policy = object.__new__(restored_class(portable))
    vars(policy).update(values)
    return policy


@functools.cache  # annotations are evaluated once per class, not once per policy
def option_choices(policy_class: type[Policy]) -> dict[str, tuple[Any, ...]]:
    """Return the options of a policy class that are a choice, its `Literal` ones, and the choices.

    Examples
    --------
    >>> from pairup import CombUCB
    >>> option_choices(CombUCB)
    {'index': ('ucb', 'kl')}
    """
    hints = get_type_hints(policy_class).items()
    return {option: get_args(hint) for option, hint in hints if get_origin(hint) is Literal}


def check_integer_option(policy: Policy, option: str, minimum: int, advice: str = "") -> None:
    """Refuse a value of an option that is not an integer in [minimum, 2**53)."""
    what = f"{option} of {policy.name}"
    value = checked_integer(
        what, getattr(policy, option), PolicyError, minimum=minimum, max_bits=53, advice=advice
    )
    object.__setattr__(policy, option, value)  # as a Python integer: JSON cannot write NumPy's
