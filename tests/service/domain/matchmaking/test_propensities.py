"""Proposals record how likely their games were to be proposed."""

import numpy as np
import pytest

from pairup.service.domain.matchmaking import propensities
from tests.support.service.held_pool import HeldPool


@pytest.mark.parametrize("rules", [{}, {"fairness": {"floor": 0.5}}, {"max_wait_s": 1.0}])
@pytest.mark.parametrize("holdout", [0.0, 0.4])
def test_what_is_recorded_changes_no_proposal(monkeypatch, holdout, rules):
    pools = [HeldPool(2, players=13, holdout=holdout, **rules) for _ in range(2)]
    for _ in range(8):
        event = pools[0].play_round()
        with monkeypatch.context() as patch:
            patch.setattr(propensities, "MAX_REDRAWS", 0)
            plain = pools[1].play_round()
        assert (event.games, event.waiting) == (plain.games, plain.waiting)


def test_rounds_that_are_not_left_to_chance_store_nothing():
    pool = HeldPool(2, players=12, holdout=0.0, options={"period": 4, "prior": "learned"})
    stored = ["propensities" in pool.play_round().as_json() for _ in range(8)]
    assert stored == [True, False, False, False] * 2


def test_a_couple_of_many_draws_counts_for_all_of_them():
    """On average, one over the chances of the games is the number of couples in any draw."""
    weights, drawn = [], []
    for seed in range(60):
        pool = HeldPool(seed, players=6, holdout=0.0, options={"period": 1})
        for _ in range(6):
            pool.play_round()
        players = list(pool.pool.players.waiting)
        made = pool.pool.choose(pool.now, players, [])
        chosen = [game["players"] for game in made.games]
        found = propensities.propensities(chosen, made.others) or [1.0] * len(chosen)
        assert all(1 / 8 <= each <= 1 for each in found)
        weights.append(sum(1 / each for each in found))
        both = [chosen, *([list(couple) for couple in each] for each in made.others)]
        drawn.append(len({tuple(sorted(couple)) for each in both for couple in each}))
    difference = np.array(weights) - drawn
    assert abs(difference.mean()) < 4 * difference.std() / np.sqrt(len(drawn))
    assert np.mean(drawn) > 6  # there is something to choose


def test_pairing_at_random_needs_no_draws():
    pool = HeldPool(2, players=9, holdout=0.0, policy="uniform")
    assert pool.play_round().propensities == [pytest.approx(1 / 9, rel=1e-3)] * 4
    held = HeldPool(2, players=40, holdout=0.4)
    event = held.play_round()
    inside = [set(game["players"]) <= set(event.control) for game in event.games]
    count = len(event.control)
    chance = pytest.approx(1 / (count - 1 + count % 2), rel=1e-3)
    assert [each for each, both in zip(event.propensities, inside, strict=True) if both] == [
        chance
    ] * (count // 2)


def test_large_pools_are_not_kept_waiting(monkeypatch):
    pool = HeldPool(2, players=12, holdout=0.0)
    monkeypatch.setattr(propensities, "_MAX_PLAYERS", 25)
    assert min(pool.play_round().propensities) == pytest.approx(1 / 3, rel=1e-3)
    monkeypatch.setattr(propensities, "_MAX_PLAYERS", 11)
    pool = HeldPool(2, players=12, holdout=0.0)
    assert pool.play_round().propensities is None
