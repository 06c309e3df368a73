"""What a third-party policy proposes is checked in every round, and by a live learner."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from pairup import PolicyError, Problem, Uniform, simulate
from pairup.compiled.proposal_check import broken_row, explain_broken_rule
from pairup.extending import (
    FULL,
    OK,
    STALE,
    Players,
    Policy,
    Reals,
    learn_nothing,
    new_state,
    provide,
)


class State(NamedTuple):
    plan: np.ndarray  # couples of each round
    counters: np.ndarray  # round, the round that returns a status of its own, and that status


def set_available(state, players):
    pass


def propose(state, couples):
    round = state.counters[0]
    if round == state.counters[1]:
        return state.counters[2]
    state.counters[0] += 1
    for row in range(len(couples)):
        couples[row, 0], couples[row, 1] = state.plan[round, row, 0], state.plan[round, row, 1]
    return OK


provide(State, set_available=set_available, propose=propose, observe=learn_nothing)

FIRST, SECOND = ((0, 1), (2, 3)), ((0, 2), (1, 3))


@dataclass(frozen=True)
class Planned(Policy):
    """Proposes what it is told, round by round."""

    plan: tuple = (FIRST, SECOND)
    status: tuple = (-1, 0)
    name = "planned"

    def start(self, context):
        return State(np.array(self.plan, np.int64), np.array([0, *self.status]))

    def grow(self, state):
        return state

    def replan(self, state):
        return state

    def saved(self, state):
        return {}

    def load(self, state, arrays):
        return state


BROKEN = {
    "the same couple in every row": (((0, 1), (0, 1)), r"couple \(0, 1\) in row 1 has slot 0, wh"),
    "a player twice": (((0, 1), (1, 3)), "has slot 1, which row 0 has too: couple each player"),
    "a player with himself": (((2, 2), (0, 1)), r"couple \(2, 2\) in row 0 is not ascending"),
    "descending": (((0, 1), (3, 2)), r"couple \(3, 2\) in row 1 is not ascending: write \(i, j\)"),
    "the phantom": (((0, 1), (2, 4)), r"has slot 4: write slots of players who are available \(0,"),
    "a negative slot": (((0, 1), (-1, 2)), "row 1 has slot -1"),
    "a slot far away": (((0, 2**40), (2, 3)), f"row 0 has slot {2**40}"),
}


@pytest.mark.parametrize(("couples", "says"), BROKEN.values(), ids=BROKEN)
def test_a_broken_rule_is_told_with_policy_round_couple_and_rule(couples, says):
    policy = Planned((FIRST, SECOND, couples))
    with pytest.raises(PolicyError, match=rf"^planned broke a rule in round 3: .*{says}"):
        simulate(Problem([1, 1, 0, 0]), policy, rounds=3, replications=2)
    with pytest.raises(PolicyError, match=f"^planned broke a rule: .*{says}"):
        Planned((couples,)).learner(range(4)).propose()


def test_what_keeps_the_rules_is_counted():
    run = simulate(Problem([1, 1, 1, 1]), Planned(), rounds=2, replications=2)
    assert run.games[:, -1].tolist() == [4, 4]


@pytest.mark.parametrize("status", [3, -1, 77])
def test_another_status_is_refused(status):
    policy = Planned(status=(1, status))
    says = rf"the step propose returned {status}: return OK \(0\), FULL \(1\) or STALE \(2\)"
    with pytest.raises(PolicyError, match=f"planned broke a rule in round 2: {says}"):
        simulate(Problem([1, 1, 0, 0]), policy, rounds=2, replications=1)
    with pytest.raises(PolicyError, match=f"planned broke a rule: {says}"):
        Planned(status=(0, status)).learner(range(4)).propose()


def test_a_table_that_is_full_forever_is_refused():
    says = "planned returns FULL in round 2 even after its tables grew 16 times"
    with pytest.raises(PolicyError, match=says):
        simulate(Problem([1, 1, 0, 0]), Planned(status=(1, FULL)), rounds=2, replications=1)
    with pytest.raises(PolicyError, match="returns FULL in round 1"):
        Planned(status=(0, FULL)).learner(range(4)).propose()


def test_a_plan_that_is_stale_forever_is_refused():
    says = "planned returns STALE in round 2 even after 16 new plans"
    with pytest.raises(PolicyError, match=says):
        simulate(Problem([1, 1, 0, 0]), Planned(status=(1, STALE)), rounds=2, replications=1)
    with pytest.raises(PolicyError, match="returns STALE in round 1"):
        Planned(status=(0, STALE)).learner(range(4)).propose()


def test_only_the_players_who_are_available_may_be_coupled():
    learner = Planned(((((0, 1),)),)).learner(range(4))
    with pytest.raises(PolicyError, match=r"slot 1: write slots .* available \(0, 2\), not"):
        learner.propose([0, 2])


def test_a_player_cannot_leave_a_policy_that_does_not_say_how_to_forget():
    learner = Planned().learner(range(4))
    with pytest.raises(PolicyError, match="planned does not say how to forget a player who leaves"):
        learner.leave(2)
    assert learner.players == (0, 1, 2, 3)


class Record(NamedTuple):
    games: np.ndarray = Reals("slots", 0.5, saved=True)
    last: np.ndarray = Players("slots", -1, saved=True)


@dataclass(frozen=True)
class Recording(Policy):
    """Knows something of each player, declared as saved."""

    name = "recording"

    def start(self, context):
        return new_state(Record, self.sizes(context))

    def player_rates(self, state, slots):
        return state.games[slots], np.zeros(slots.shape)


class SavedByHand(Recording):
    name = "saved_by_hand"

    def saved(self, state):
        return {"games": state.games}


def test_a_newcomer_does_not_inherit_what_is_declared_as_saved():
    learner = Recording().learner(range(4))
    state = learner._running.state
    state.games[:] = 0.9
    state.last[:4] = 1, 0, 3, 2
    learner.leave(0)
    learner.join(4)
    assert learner.rate_array([4, 1])[0].tolist() == [0.5, 0.9]
    assert state.last.tolist() == [-1, -1, 3, 2, -1]


def test_a_policy_that_saves_by_hand_must_say_how_to_forget():
    learner = SavedByHand().learner(range(4))
    with pytest.raises(PolicyError, match="saved_by_hand does not say how to forget a player"):
        learner.leave(0)
    assert learner.players == (0, 1, 2, 3)


class GraphRecord(NamedTuple):
    games: np.ndarray = Reals("slots")


@dataclass(frozen=True)
class OnGraphs(Policy):
    """Says that it plays on graphs."""

    name = "on_graphs"
    plays_on_graphs = True
    has_step: bool = False

    def start(self, context):
        return new_state(GraphRecord if self.has_step else Record, self.sizes(context))


def propose_on_graph(state, matcher, couples):
    return OK


STEPS = {"set_available": set_available, "propose": propose, "observe": learn_nothing}
provide(Record, **STEPS)
provide(GraphRecord, **STEPS, propose_on_graph=propose_on_graph)


def test_third_party_states_are_refused_on_graphs():
    says = r"on_graphs is for complete graphs, because the state Record is not one of pairup's own"
    with pytest.raises(PolicyError, match=says):
        OnGraphs().learner("abcd").propose(allowed=[("a", "b")])
    with pytest.raises(PolicyError, match=says):
        simulate(Problem.two_sided([0.5, 0.4], [0.9, 0.1]), OnGraphs(), 10, 1)


def test_steps_on_graphs_of_third_party_states_are_refused():
    says = "the state GraphRecord has the step propose_on_graph, which only states of pairup's own"
    with pytest.raises(PolicyError, match=says):
        OnGraphs(has_step=True).learner("abcd").propose()


class Overridden(Uniform):
    """Ours, but for its name: our steps, on a state that somebody else made."""

    name = "overridden"


def test_a_policy_that_builds_on_ours_is_checked_and_plays_the_same():
    problem = Problem.random(6, seed=1)
    ours, theirs = (simulate(problem, each, 200, 2) for each in (Uniform(), Overridden()))
    assert np.array_equal(ours.regret, theirs.regret)


def test_the_compiled_check_agrees_with_its_explanation():
    draw = np.random.default_rng(0)
    seen, found = np.zeros(5, np.uint8), set()
    for number in range(400):
        couples = draw.integers(-1, 6, (2, 2))
        if number % 2:
            couples = np.sort(draw.permutation(5)[:4].reshape(2, 2), axis=1)
        row = broken_row(couples, seen)
        said = explain_broken_rule(OK, couples, np.arange(5))
        assert f"in row {row}" in said if row >= 0 else said == ""
        found.add(row)
    assert found == {-1, 0, 1}
