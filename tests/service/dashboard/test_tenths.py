"""Tenths of the players by acceptance rate, against random pairing."""

import numpy as np
import pytest

from pairup.service.dashboard.tenths import divide


def test_players_who_meet_their_like_gain_at_the_top_and_pay_at_the_bottom():
    rates = np.linspace(0.05, 0.95, 20)
    tries = np.full(20, 1_000)
    like = rates.reshape(-1, 2)[:, ::-1].ravel()  # neighbours in the order of the rates meet
    tenths = divide(rates, tries, np.round(tries * rates * like).astype(np.int64))
    assert [each.number for each in tenths] == list(range(1, 11))
    assert [each.players for each in tenths] == [2] * 10
    assert [each.games for each in tenths] == [2_000] * 10
    assert tenths[0].gain < 0 < tenths[-1].gain
    assert (tenths[0].low, tenths[-1].high) == (rates[0], rates[-1])


def test_random_pairing_gives_each_tenth_what_is_predicted():
    rates, draw = np.sort(np.random.default_rng(0).beta(2, 3, 30)), np.random.default_rng(1)
    tries, expected = np.zeros(30, np.int64), np.zeros(30)
    for _ in range(4_000):
        one, other = draw.permutation(30).reshape(2, 15)
        for these, those in ((one, other), (other, one)):
            tries[these] += 1
            expected[these] += rates[these] * rates[those]
    for each, places in zip(
        divide(rates, tries, np.zeros(30, np.int64)), np.arange(30).reshape(10, 3), strict=True
    ):
        met = expected[places].sum() / tries[places].sum()
        assert each.random == pytest.approx(met, rel=0.03)


def test_proposals_weigh_the_players_of_a_tenth():
    rates = np.concatenate([[0.1, 0.2], np.full(18, 0.5)])
    tries = np.concatenate([[0, 10], np.full(18, 10)])
    lowest, *_ = divide(rates, tries, np.zeros(20, np.int64))
    assert lowest.random == pytest.approx(0.2 * (0.1 + 18 * 0.5) / 19)
    assert lowest.games == 10


def test_a_tenth_without_games_is_left_out():
    tries = np.array([0, 0, 5, 5])
    tenths = divide(np.array([0.2, 0.3, 0.4, 0.5]), tries, np.array([0, 0, 1, 1]))
    assert [(each.number, each.low) for each in tenths] == [(3, 0.4), (4, 0.5)]
