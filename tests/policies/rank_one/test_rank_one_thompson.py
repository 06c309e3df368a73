import numpy as np
import pytest

from pairup import Learner, PolicyError, Problem, RankOneThompson, Unimodal, simulate
from pairup.policies.rank_one.state import PRIOR_A, PRIOR_B


@pytest.mark.parametrize(
    "prior", ["flat", None, 1.0, (1,), (0, 1), (1, float("nan")), (1, 1e9), ("a", "b")]
)
def test_a_prior_that_is_not_a_law_is_refused(prior):
    with pytest.raises(PolicyError, match=r"give 'uniform', 'learned' or the two"):
        RankOneThompson(prior=prior)


@pytest.mark.parametrize("memory", [0, -3, 0.5, float("inf"), "long", True])
def test_a_memory_that_is_not_a_half_life_is_refused(memory):
    with pytest.raises(PolicyError, match="give a half-life in rounds"):
        RankOneThompson(memory=memory)


def test_options_survive_json():
    policy = RankOneThompson(prior=[2, 3], memory=10)
    assert policy == RankOneThompson(prior=(2.0, 3.0), memory=10.0)
    learner = policy.learner("abcd")
    assert Learner.from_bytes(learner.to_bytes()).policy == policy


def _played(learner, rates, rounds, rng, told=False):
    for _ in range(rounds):
        matching = learner.propose()
        accepted = {player: bool(rng.random() < rates[player]) for player in matching.players}
        if told:
            learner.observe(matching, accepted=accepted)
        else:
            learner.observe(matching, [accepted[i] and accepted[j] for i, j in matching])


@pytest.mark.parametrize("told", [False, True])
def test_the_learned_prior_is_the_law_of_the_players_and_newcomers_start_there(told):
    rng = np.random.default_rng(0)
    learner = RankOneThompson(period=1, prior="learned").learner(range(60))
    _played(learner, dict(enumerate(rng.beta(8, 2, 60))), 60, rng, told)
    a, b = learner._running.state.reals[[PRIOR_A, PRIOR_B]]
    assert a / (a + b) == pytest.approx(0.8, abs=0.05)
    assert 5 < a + b < 25
    learner.join("new")
    assert learner.rates(["new"])[0].rate == pytest.approx(a / (a + b))
    copy = Learner.from_bytes(learner.to_bytes())
    assert [copy.propose() for _ in range(3)] == [learner.propose() for _ in range(3)]


def test_partners_keep_what_they_learnt_with_a_player_who_left():
    learners = [RankOneThompson(period=1).learner("abc") for _ in range(3)]
    for learner, rate in zip(learners, (0.95, 0.05, None), strict=True):
        for _ in range(20):
            learner.observe(learner.propose(["a", "b"]), [False])
        learner.leave("a", rate=rate)
        for _ in range(60):
            learner.propose()
    blamed, excused, unknown = (learner.rates(["b"])[0].rate for learner in learners)
    assert blamed < 0.15 < 0.3 < excused < unknown + 0.1
    restored = Learner.from_evidence(learners[0].evidence())
    assert restored.evidence() == learners[0].evidence()
    assert restored.rates(["b"])[0].rate < 0.4


def test_with_a_memory_it_follows_rates_that_change_within_three_half_lives():
    """`docs/explanation/rank-one.md` has the figures of 20 players."""
    before, memory, n = 400, 50, 12
    marks = [before - 100, before, before + 3 * memory - 25, before + 3 * memory + 25]
    recovered = {}
    for policy in (RankOneThompson(memory=memory), RankOneThompson()):
        gained = np.zeros((2, 2))
        for seed in range(4):
            rng = np.random.default_rng(seed)
            old = rng.beta(2, 3, n)
            new = np.where(rng.permutation(n) % 2, old, rng.beta(2, 3, n))
            problem = Problem.piecewise([0, before], [old, new])
            run = simulate(problem, policy, marks[-1], 20, seed, checkpoints=marks)
            lost = np.diff(run.mean())[[0, 2]] / np.diff(marks)[[0, 2]]
            for piece, rates in enumerate((old, new)):
                values = np.sort(rates)
                best = (values[::2] * values[1::2]).sum()
                random = (values.sum() ** 2 - (values**2).sum()) / (n - 1) / 2
                gained[piece] += best - random - lost[piece], best - random
        share = gained[:, 0] / gained[:, 1]
        recovered[policy.memory] = share[1] / share[0]
    assert recovered[memory] >= 0.8
    assert recovered[None] < 0.8


def _drawn_before_they_met(seed):
    """Draw the rates of players of whom nothing is known, and then learn something of two."""
    learner = RankOneThompson(prior="learned").learner("abcd", seed=seed)
    learner.propose()
    learner.learn([("c", "d")] * 3, played=[True, False, False])
    return learner


def test_a_saved_learner_knows_whom_its_prior_has_counted():
    """Not all whose rates were drawn: those who had met nobody did not count."""
    for seed in range(20):
        learner = _drawn_before_they_met(seed)
        copies = (
            Learner.from_bytes(learner.to_bytes()),
            Learner.from_evidence(learner.evidence(), learner.cache()),
        )
        proposed = [learner.propose() for _ in range(3)]
        for copy in copies:
            assert [copy.propose() for _ in range(3)] == proposed
            assert copy.rates() == learner.rates()


def test_room_for_more_players_does_not_change_whom_the_prior_has_counted():
    roomy, grown = _drawn_before_they_met(0), _drawn_before_they_met(0)
    grown.join("new")
    grown.leave("new")
    for learner in (roomy, grown):
        learner.propose()
    assert grown.rates() == roomy.rates()


def _history(players=60, rows=3_000):
    """Return the players' rates, couples at random and which of them played."""
    rng = np.random.default_rng(1)
    rates = rng.beta(5, 2, players)
    couples = np.array([rng.choice(players, 2, replace=False) for _ in range(rows)])
    played = (rng.random((rows, 2)) < rates[couples]).all(axis=1)
    return rates, couples, played


def _error_of_estimates(learner, rates):
    """Return by how much estimates are off, on average and in a single player."""
    estimated = {each.player: each.rate for each in learner.rates(range(len(rates)))}
    off = np.array([estimated[player] - rate for player, rate in enumerate(rates)])
    return abs(off.mean()), np.sqrt((off**2).mean())


@pytest.mark.parametrize("unknown", ["join", "keep"])
@pytest.mark.parametrize("parts", [1, 30])
def test_estimates_right_after_a_history_are_those_of_the_learned_prior(unknown, parts):
    rates, couples, played = _history()
    learner = RankOneThompson(prior="learned").learner([])
    for rows in np.array_split(np.arange(len(played)), parts):
        learner.learn(couples[rows], played[rows], unknown=unknown)
    learners = {
        "told": learner,
        "rebuilt": Learner.from_evidence(learner.evidence()),
        "changed": Unimodal().learner([]),
    }
    learners["changed"].learn(couples, played, unknown="join")
    learners["changed"] = learners["changed"].with_policy(RankOneThompson(prior="learned"))
    for name, each in learners.items():
        bias, error = _error_of_estimates(each, rates)
        assert bias < 0.025 < 0.05 < error < 0.085, name
    # Nor do they fall back when the first proposal is to a few.
    for player in learner.kept:
        learner.join(player)
    learner.propose([0, 1])
    assert _error_of_estimates(learner, rates)[1] < 0.085


def test_a_look_between_parts_of_a_history_changes_nothing():
    _, couples, played = _history()
    looked, twin = (RankOneThompson(prior="learned").learner(range(60)) for _ in range(2))
    for turn, rows in enumerate(np.array_split(np.arange(len(played)), 10)):
        for learner in (looked, twin):
            learner.learn(couples[rows], played[rows])
            if turn == 5:
                learner.propose()
        looked.rates(), looked.leader, looked.to_bytes()
    assert looked.rates() == twin.rates()
    assert [looked.propose() for _ in range(3)] == [twin.propose() for _ in range(3)]


def test_what_has_faded_is_saved_to_the_last_bit():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        learner = RankOneThompson(prior="learned", memory=7).learner("abcdefgh", seed=seed)
        _played(learner, dict(zip("abcdefgh", rng.random(8), strict=True)), 30, rng)
        learner.leave("a")
        learner.leave("b", rate=None)
        copy = Learner.from_bytes(learner.to_bytes())
        assert copy.rates() == learner.rates()
        assert copy._running.state.unsure.tolist() == learner._running.state.unsure.tolist()
        assert [copy.propose() for _ in range(9)] == [learner.propose() for _ in range(9)]


@pytest.mark.parametrize("told", [False, True])
def test_players_of_whom_nothing_is_left_are_equals_in_a_copy_too(told):
    """In what order they were sorted before is not saved."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        learner = RankOneThompson(prior="learned", period=4).learner(range(30), seed=seed)
        _played(learner, rng.random(30), 9, rng, told)
        copy = Learner.from_bytes(learner.to_bytes())
        for each in (learner, copy):
            each.fade(2_000.0)
        assert [copy.propose() for _ in range(5)] == [learner.propose() for _ in range(5)]
