import numpy as np
import pytest

from pairup import CombThompson, Problem, simulate
from pairup.errors import PolicyError
from tests.support.twins import comb as naive_comb
from tests.support.twins import streams
from tests.support.twins.duel import ExactDuel
from tests.support.twins.rate_families import FAMILIES

every_prior = pytest.mark.parametrize("prior", ["beta", "gaussian"])


def duel(prior, rates, seed=0, draws="independent"):
    key = streams.stream_key(seed, 0, streams.POLICY)
    twin = naive_comb.CombThompson(len(rates), key, prior, draws)
    return ExactDuel(CombThompson(prior, draws), twin, rates, seed)


@every_prior
@pytest.mark.parametrize("family", FAMILIES)
def test_plays_the_best_matching_by_its_twin_step_for_step(prior, family):
    for n in range(2, 10):
        duel(prior, FAMILIES[family](n), seed=n).play(60)


@pytest.mark.parametrize("draws", ["independent", "common"])
@pytest.mark.parametrize("prior", ["gaussian", "clipped", "boosted"])
def test_reshaped_and_common_draws_are_those_of_the_twin(prior, draws):
    for n in (4, 7, 8):
        duel(prior, FAMILIES["random"](n), n, draws).play(80)


def test_one_draw_for_all_couples_needs_a_normal_posterior():
    with pytest.raises(PolicyError, match=r'take prior="gaussian"'):
        CombThompson(draws="common")


@every_prior
@pytest.mark.parametrize("n", [5, 6])
def test_plays_the_best_matching_in_the_long_run(prior, n):
    duel(prior, FAMILIES["around"](n), seed=1).play(600)


@every_prior
@pytest.mark.parametrize("n", [7, 8])
def test_plays_the_best_matching_when_the_available_players_change(prior, n):
    duel(prior, FAMILIES["random"](n), seed=n).play_with_some_players(60)


@every_prior
def test_plays_the_best_matching_when_outcomes_come_late_and_in_any_order(prior):
    duel(prior, FAMILIES["tied"](7), seed=2).play_late(200)


def test_unseen_couples_come_first_with_the_gaussian_prior():
    d = duel("gaussian", [0.5] * 8)
    d.play(16)
    assert len(d.twin.tries) == 28


@every_prior
def test_rounds_and_couples_have_draws_of_their_own(prior):
    """Equal players who never play: all couples come up about equally often."""
    d = duel(prior, [0.0] * 6)
    d.play(300)
    assert len(d.twin.tries) == 15
    assert max(d.twin.tries.values()) <= 1.5 * min(d.twin.tries.values())


# Regret after 1,000,000 rounds, as measured with a simulator that shares nothing with this one, and
# three standard errors of the difference between four runs there and two here: runs of "around"
# have standard deviations of some 600 (Beta) and 850 (Gaussian), of "from_zero" of 110 and 130.
KNOWN = {
    ("beta", "around"): (2_851, 1_560),
    ("beta", "from_zero"): (394, 290),
    ("gaussian", "around"): (2_950, 2_200),
    ("gaussian", "from_zero"): (2_696, 340),
}


@pytest.mark.parametrize(("prior", "family"), KNOWN)
def test_regret_is_as_known(prior, family):
    problem = Problem.around(0.5, 4, 0.1) if family == "around" else Problem.from_zero(4, 0.1)
    known, margin = KNOWN[prior, family]
    run = simulate(problem, CombThompson(prior), rounds=1_000_000, replications=2, seed=11)
    assert np.mean(run.regret[:, -1]) == pytest.approx(known, rel=0, abs=margin)
