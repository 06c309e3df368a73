import numpy as np
import pytest

from pairup import Problem
from pairup.compiled.simulation_loop import accept
from pairup.simulation.replication import new_replication

PROBLEM = Problem(np.linspace(0, 1, 11))


def acceptances(replication, rounds):
    accepted = np.zeros((rounds, len(replication.rates)), np.bool_)
    for t in range(rounds):
        accept(replication, t, accepted[t])
    return accepted


def test_the_same_seed_and_replication_are_the_same_players():
    one, again = (new_replication(PROBLEM, 3, 1) for _ in range(2))
    assert np.array_equal(one.rates, again.rates)
    assert np.array_equal(acceptances(one, 50), acceptances(again, 50))


@pytest.mark.parametrize("other", [(3, 2), (4, 1), (1, 3)])
def test_another_seed_or_replication_has_other_players(other):
    one, another = new_replication(PROBLEM, 3, 1), new_replication(PROBLEM, *other)
    assert not np.array_equal(one.rates, another.rates)
    assert not np.array_equal(acceptances(one, 50), acceptances(another, 50))


def test_labels_are_shuffled_alike():
    places = np.array([np.argsort(new_replication(PROBLEM, 0, r).rates) for r in range(2_000)])
    shares = np.array([np.bincount(column, minlength=11) for column in places.T]) / 2_000
    assert np.abs(shares - 1 / 11).max() < 0.03


def test_players_accept_at_their_rates():
    replication = new_replication(PROBLEM, 0, 0)
    shares = acceptances(replication, 20_000).mean(axis=0)
    assert np.abs(shares - replication.rates).max() < 0.02
    assert set(shares[(replication.rates == 0) | (replication.rates == 1)]) == {0.0, 1.0}


def test_the_best_games_do_not_depend_on_labels():
    assert {float(new_replication(PROBLEM, 0, r).best_games[0]) for r in range(20)} == {
        PROBLEM.best_games
    }
