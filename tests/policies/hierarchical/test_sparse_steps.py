"""Proposals among candidates, against the best matching of all couples."""

import numpy as np
import pytest

from pairup import HierarchicalThompson, Learner, RankOneThompson, best_matching
from pairup.compiled.state_fields import named_arrays
from pairup.policies.hierarchical import sparse_steps
from pairup.policies.hierarchical.state import HierarchicalState, SparseHierarchicalState
from pairup.policies.hierarchical.steps import MEANS
from pairup.policies.rank_one import rank_one_thompson


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Live, five players are enough for couples to be kept sparse."""
    monkeypatch.setattr(rank_one_thompson, "_MAX_DENSE", 4)


def state_of(learner):
    return learner._running.state


def learnt(players, deviation, rounds=60, seed=0, **options):
    """A learner of couples whose chances are the products of rates, moved by a deviation."""
    random = np.random.default_rng(seed)
    rates = random.uniform(0.3, 0.95, players)
    moves = np.triu(random.choice([-deviation, deviation], (players, players)), 1)
    chances = np.clip(np.outer(rates, rates) + moves + moves.T, 0.0, 1.0)
    learner = HierarchicalThompson(**options).learner(range(players), seed=seed)
    one = random.integers(0, players, rounds * players // 2)
    couples = np.stack([one, (one + random.integers(1, players, len(one))) % players], axis=1)
    couples = np.repeat(couples, 4, axis=0)
    played = random.random(len(couples)) < chances[couples[:, 0], couples[:, 1]]
    learner.learn(couples, played)
    learner.suggest()
    return learner, chances


def table_of_means(state, players):
    """The mean chance of every couple, whether it is a candidate or not."""
    table = np.zeros((players, players))
    sparse_steps.write_rates(state, MEANS)
    for i in range(players):
        for j in range(i + 1, players):
            games, missed = sparse_steps.outcomes_of(state, np.uint32(i), np.uint32(j))
            table[i, j] = table[j, i] = sparse_steps.mean_of_couple(
                state, np.uint32(i), np.uint32(j), games, missed
            )
    return table


def value(table, couples):
    return sum(table[i, j] for i, j in couples)


@pytest.mark.parametrize(("players", "deviation"), [(40, 0.3), (41, 0.3), (40, 0.1)])
def test_candidates_hardly_lose_anything_against_all_couples(players, deviation):
    learner, _ = learnt(players, deviation)
    assert state_of(learner).chances[0] < 0.5
    table = table_of_means(state_of(learner), players)
    even = np.pad(table, (0, players % 2))
    best = value(even, best_matching(even))
    leader = learner.leader
    assert len(leader) == players // 2
    assert 0.99 * best < value(table, leader) <= best * (1 + 1e-9)


def test_products_are_coupled_as_rank_one_couples_them():
    one, ours = (
        policy.learner(range(40), seed=3) for policy in (RankOneThompson(), HierarchicalThompson())
    )
    for learner in (one, ours):
        random = np.random.default_rng(0)
        couples = random.permuted(np.tile(np.arange(40), (2, 1)), axis=1).T
        couples = couples[couples[:, 0] != couples[:, 1]]
        learner.learn(couples, random.random(len(couples)) < 0.4)
    state_of(ours).chances[:] = 0.0
    state_of(ours).chances[0] = 1.0
    state_of(ours).log_prior[1:] = -1e9
    for _ in range(6):
        assert list(one.propose()) == list(ours.propose())


def test_memory_follows_players_and_couples_met():
    learner = HierarchicalThompson().learner(range(3_000))
    learner.propose()
    largest = max(array.size for _, _, array in named_arrays(state_of(learner)))
    assert largest < 64 * 3_000


@pytest.mark.parametrize("players", [30, 31])
def test_a_copy_and_redraws_leave_a_learner_as_it_is(players):
    learner, chances = learnt(players, 0.3, rounds=20)
    random = np.random.default_rng(1)
    for _ in range(8):
        copy = Learner.from_bytes(learner.to_bytes())
        with learner.redrawing(stream=1):
            learner.suggest()
        matching = learner.propose()
        assert list(copy.propose()) == list(matching)
        played = [random.random() < chances[i, j] for i, j in matching]
        learner.observe(matching, played)


def test_players_who_become_many_are_still_known(monkeypatch):
    monkeypatch.setattr(rank_one_thompson, "_MAX_DENSE", 24)
    learner, chances = learnt(24, 0.3)
    assert isinstance(state_of(learner), HierarchicalState)
    before = state_of(learner).chances[0]
    learner.join("another")
    assert isinstance(state_of(learner), SparseHierarchicalState)
    assert state_of(learner).chances[0] == pytest.approx(before, abs=0.2)
    assert value(np.pad(chances, (0, 1)), learner.leader_among(range(24))) > 0.9 * value(
        chances, best_matching(chances)
    )


def test_what_the_couples_of_a_graph_played_decides_there_too():
    learner, chances = learnt(20, 0.3)
    allowed = [(i, j) for i in range(20) for j in range(i + 1, 20) if (i + j) % 3]
    found = []
    for _ in range(8):
        matching = learner.propose(allowed=allowed)
        assert {tuple(sorted(couple)) for couple in matching} <= set(allowed)
        found.append(value(chances, matching))
    forbidden = np.full((20, 20), -np.inf)
    for i, j in allowed:
        forbidden[i, j] = forbidden[j, i] = chances[i, j]
    assert np.mean(found) > 0.85 * value(chances, best_matching(forbidden))


def test_who_leaves_takes_its_fit_along():
    learner, _ = learnt(20, 0.3, rounds=20)
    learner.leave(4)
    learner.join("new")
    state = state_of(learner)
    slot = learner._roster.slot("new")
    assert slot == 4
    assert not state.parts[:, slot].any()
    np.testing.assert_allclose(state.modes[:, slot], 0.5)
    assert (state.place == -1).all()
