"""Fits player by player, against those of all players at once."""

import numpy as np
import pytest

from pairup import HierarchicalThompson
from pairup.compiled.state_fields import new_state
from pairup.policies.hierarchical import fit, local_fits
from pairup.policies.hierarchical.state import FitWorkspace
from pairup.policies.rank_one import rank_one_thompson

PLAYERS = 12


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Live, five players are enough for couples to be kept sparse."""
    monkeypatch.setattr(rank_one_thompson, "_MAX_DENSE", 4)


def learnt(memory=None, answers=False, leaves=False):
    """A learner of couples that deviate, and the state of its policy."""
    random = np.random.default_rng(0)
    learner = HierarchicalThompson(memory=memory).learner(range(PLAYERS), seed=1)
    chances = np.triu(random.random((PLAYERS, PLAYERS)), 1)
    chances += chances.T
    for _ in range(6):
        order = random.permutation(PLAYERS)
        for i, j in order.reshape(-1, 2).tolist():
            played = random.random() < chances[i, j]
            learner.learn([(i, j)] * 3, [played] * 3)
            if answers and not played:
                learner.learn([(i, j)], accepted=[(False, True)])
    if memory:
        learner.fade(0.5)
    if leaves:
        learner.leave(3)
    return learner, learner._running.state


def settled(state, sweeps=60):
    players = np.flatnonzero(state.inner.met > 0.0)
    for _ in range(sweeps):
        local_fits.fit_players(state, players)
    return players


@pytest.mark.parametrize("answers", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_players_one_by_one_reach_the_modes_and_the_marginal_likelihoods_of_all(answers, leaves):
    _, state = learnt(answers=answers, leaves=leaves)
    players, inner = settled(state), state.inner
    workspace = new_state(FitWorkspace, {"width": len(inner.met), "dense": 0})
    fit.gather(inner, workspace)
    evidence = []
    for g, concentration in enumerate(state.concentrations):
        mode = state.modes[g].astype(np.float64)
        density = fit.climb(inner, workspace, concentration, mode)
        np.testing.assert_allclose(state.modes[g][players], mode[players], atol=0.02)
        evidence.append(fit.log_evidence(inner, workspace, concentration, density))
    np.testing.assert_allclose(state.totals, np.array(evidence) - evidence[0], atol=0.05)


def test_what_players_add_to_the_likelihood_is_kept_in_their_sum():
    learner, state = learnt()
    players = settled(state, 2)
    np.testing.assert_allclose(state.totals, state.parts.sum(axis=1, dtype=float), atol=1e-4)
    learner.leave(int(players[0]), rate=None)
    state = learner._running.state
    assert not state.parts[:, players[0]].any()
    np.testing.assert_allclose(state.totals, state.parts.sum(axis=1, dtype=float), atol=1e-4)


def test_a_player_is_fitted_again_when_a_tenth_more_is_known_of_it_or_has_faded():
    learner, state = learnt(memory=100.0)
    settled(state, 1)
    assert not any(local_fits.is_due(state, i) for i in range(PLAYERS))
    learner.learn([(0, 1)] * 8, [True] * 8)
    learner._running.state.fitted[0] = state.inner.met[0] / 1.2
    assert local_fits.is_due(learner._running.state, 0)
    settled(learner._running.state, 1)
    learner.fade(1.0)
    assert all(local_fits.is_due(learner._running.state, i) for i in range(PLAYERS))


def test_fits_of_a_proposal_end_at_a_limit_and_the_next_one_goes_on():
    random, players = np.random.default_rng(0), 300
    learner = HierarchicalThompson().learner(range(players), seed=1)
    one = random.integers(0, players, 9_000)
    couples = np.stack([one, (one + random.integers(1, players, len(one))) % players], axis=1)
    learner.learn(couples, random.random(len(one)) < 0.3)
    learner._running.state.fitted[:] = 0.0
    due = []
    for _ in range(3):
        learner.suggest()
        due.append(sum(local_fits.is_due(learner._running.state, i) for i in range(players)))
    assert 0 < due[0] < players
    assert due[-1] == 0
