from itertools import combinations
from random import Random

import numpy as np
import pytest

from pairup import RankOneThompson
from pairup.compiled.logarithm import log
from pairup.compiled.stable_sort import sort_by_values
from pairup.compiled.steps import observe_answers_step, observe_step
from pairup.policies.contract import StartContext
from pairup.policies.rank_one.couple_layouts import DenseCouples, SparseCouples
from pairup.policies.rank_one.posterior import _accepts, _gain
from pairup.policies.rank_one.state import ANSWERED, EXPLORING, OUTCOMES, PRIOR_A, PRIOR_B
from tests.support.twins import streams
from tests.support.twins.compiled import Compiled
from tests.support.twins.rank_one import RankOneThompson as Twin
from tests.support.twins.rate_families import FAMILIES


class Duel:
    """The compiled steps and their twin, who see the same outcomes."""

    def __init__(self, rates, seed, period=2, prior="uniform", memory=None):
        self.rates, self.key = (
            streams.shuffled(seed, rates),
            streams.stream_key(seed, 0, streams.POLICY),
        )
        policy = RankOneThompson(period, prior, memory)
        self.compiled = Compiled(policy, len(rates), self.key, horizon=1_000)
        self.twin = Twin(len(rates), period, self.key, prior, memory)
        self.random = Random(seed)

    def propose(self, available=None):
        expected, proposed = self.twin.propose(available), self.compiled.propose()
        assert proposed == expected
        rates = self.compiled.state.rates[: len(self.rates)]
        assert rates == pytest.approx(self.twin.rates, rel=1e-7)
        assert self.compiled.state.mean[: len(rates)] == pytest.approx(self.twin.mean, rel=1e-7)
        prior = self.compiled.state.reals[[PRIOR_A, PRIOR_B]]
        assert prior == pytest.approx([self.twin.a, self.twin.b], rel=1e-7)
        return proposed

    def accepts(self, i):
        return int(self.random.random() < self.rates[i])

    def observe(self, matching):
        played = [bool(self.accepts(i) and self.accepts(j)) for i, j in matching]
        self.compiled.observe(matching, played)
        self.twin.observe(matching, played)

    def observe_answers(self, matching):
        answers = [(self.accepts(i), self.accepts(j)) for i, j in matching]
        # Of couples that did not play, what the first answered may be unknown.
        answers = [(-1, b) if b == 0 and self.random.random() < 0.5 else (a, b) for a, b in answers]
        couples = np.array(matching, np.int64).reshape(-1, 2)
        observe_answers_step(
            self.compiled.state, couples, np.array(answers, np.int64).reshape(-1, 2)
        )
        self.twin.observe_answers(matching, answers)

    def forget(self, player, rate):
        self.compiled.policy.forget(self.compiled.state, player, rate)
        self.twin.forget(player, rate)

    def play(self, rounds, learn):
        for _ in range(rounds):
            learn(self.propose())


@pytest.mark.parametrize("family", FAMILIES)
def test_equals_its_twin_step_for_step(family):
    for n in (2, 3, 4, 7):
        duel = Duel(FAMILIES[family](n), seed=n, period=1 + n % 3)
        duel.play(12, duel.observe)


def test_learns_from_answers_as_its_twin_does():
    duel = Duel([0.9, 0.7, 0.5, 0.3, 0.0, 1.0], seed=3)
    duel.play(8, duel.observe_answers)
    duel.play(8, duel.observe)
    duel.play(8, duel.observe_answers)


@pytest.mark.parametrize("prior", [(2.0, 3.0), (0.5, 0.7), "learned"])
def test_starts_from_its_prior_as_its_twin_does(prior):
    duel = Duel([0.9, 0.8, 0.6, 0.5, 0.3], seed=5, prior=prior)
    duel.play(12, duel.observe)
    duel.play(8, duel.observe_answers)


@pytest.mark.parametrize("told", [False, True])
def test_keeps_evidence_with_players_who_left_as_its_twin_does(told):
    duel = Duel([0.9, 0.8, 0.6, 0.5, 0.3, 0.2], seed=6, period=1, prior="learned")
    learn = duel.observe_answers if told else duel.observe
    for rate in (0.95, None, 0.31, 1.0, 0.0):
        duel.play(5, learn)
        duel.forget(duel.random.randrange(6), rate)
    duel.play(5, duel.observe)


@pytest.mark.parametrize("prior", ["uniform", "learned"])
def test_evidence_fades_as_that_of_its_twin_does(prior):
    duel = Duel([0.9, 0.8, 0.6, 0.5, 0.3], seed=7, prior=prior, memory=3.0)
    duel.play(24, duel.observe)


def test_a_draw_is_played_the_less_the_more_answers_are_told():
    explored = {}
    for told in (0.0, 0.5, 1.0):
        duel, draws = Duel([0.9, 0.7, 0.5, 0.3], seed=8, period=1), 0
        for round in range(40):
            matching = duel.propose()
            draws += matching == _neighbours(duel.twin.rates)
            answers = round * told % 1 >= 0.5 or told == 1.0
            (duel.observe_answers if answers else duel.observe)(matching)
        explored[told] = duel.compiled.state.reals[EXPLORING], draws
    assert explored[1.0][0] == 0.0
    assert explored[0.0][1] == 40


def _neighbours(rates):
    order = sorted(range(len(rates)), key=lambda i: -rates[i])
    return sorted(tuple(sorted(order[x : x + 2])) for x in range(0, len(order) - 1, 2))


PRECISIONS = pytest.mark.parametrize("precision", [np.float64, np.float32])


def observed(players, precision, rounds):
    """A state that observed random rounds, with a workspace of a precision."""
    random = np.random.default_rng(5)
    state = Compiled(RankOneThompson(), players, np.uint64(3), horizon=1_000).state
    for _ in range(rounds):
        couples = np.sort(random.permutation(players).reshape(-1, 2), axis=1)
        observe_step(state, couples, random.random(players // 2) < 0.3)
    return state._replace(terms=state.terms.astype(precision))


@PRECISIONS
@pytest.mark.parametrize("players", [8, 70], ids=["dense", "sparse"])
def test_what_a_move_gains_is_off_by_no_more_than_it_says(players, precision):
    random, state, worst = np.random.default_rng(5), observed(players, precision, 400), 0.0
    for _ in range(1_000):
        state.rates[:players] = random.beta(3, 1, players)
        moved = min(state.rates[2] * np.exp(random.normal() * 10.0 ** random.uniform(-4, 0)), 0.999)
        other = np.uint32(random.integers(2, 5))  # with 2: player 2 alone
        rough, error = _gain(state, np.uint32(2), moved, other, 0)
        exact, none = _gain(state, np.uint32(2), moved, other, 1)
        worst = max(worst, abs(rough - exact) / error)
        assert none == 0.0
        assert error < 0.01, "no use: nearly all moves would be unclear"
    assert worst < 1 / 3
    assert worst > 1e-3, "no use: what is rough is exact"


@PRECISIONS
@pytest.mark.parametrize("outcomes", [1.0, 2.0**-30], ids=["fresh", "faded"])
def test_a_move_is_accepted_as_if_it_was_valued_exactly(outcomes, precision):
    """Also where the luck is within a hair of the gain, and of rates next to 1."""
    random, state, near = np.random.default_rng(7), observed(8, precision, 100), 0
    state.reals[OUTCOMES] = outcomes
    for _ in range(5_000):
        state.rates[:8] = 1.0 - random.random(8) * 10.0 ** random.uniform(-9, 0, 8)
        i, j = (np.uint32(each) for each in random.integers(0, 8, 2))
        up, down = 1.0 - random.random(2) * 10.0 ** random.uniform(-9, 0, 2)
        if random.random() < 0.5:  # next to where they are
            change = np.exp(random.normal(size=2) * 10.0 ** random.uniform(-6, 0, 2))
            up, down = np.clip(1.0 - (1.0 - state.rates[[i, j]]) * change, 1e-6, 1.0 - 1e-15)
        accepted = state.accepted[i] * outcomes + state.reals[PRIOR_A]
        if i != j:
            accepted = (state.accepted[i] - state.accepted[j]) * outcomes
        missed = [_gain(state, i, up, j, 1)[0], _gain(state, j, down, i, 1)[0] if i != j else 0.0]
        luck = random.random()
        aim = np.log(luck) + random.normal() * 10.0 ** random.uniform(-16, 1) - sum(missed)
        shift = np.clip(np.tanh(aim / (2.0 * (accepted or 1.0))), -0.999, 0.999)
        gain = accepted * log((1.0 + shift) / (1.0 - shift)) + missed[0] + missed[1]
        near += abs(gain - log(luck)) < 1e-6
        expected = gain >= 0.0 or log(luck) < gain
        assert _accepts(state, i, j, up, down, shift, luck) == expected
    assert near > 100, "no use: all moves are clear-cut"


def test_some_of_the_players_are_matched():
    duel = Duel([0.9, 0.8, 0.5, 0.3, 0.1], seed=4)
    for available in ([0, 1, 2], [1, 4], [0, 1, 2, 3, 4], [0, 2, 3, 4]) * 3:
        duel.compiled.set_available(available)
        duel.observe(duel.propose(available))


# --- many players -------------------------------------------------------------------------------


class Layouts:
    """The compiled steps on the dense and on the sparse layout, which see the same."""

    def __init__(self, players, seed=0, **options):
        policy, key = RankOneThompson(**options), streams.stream_key(seed, 0, streams.POLICY)
        self.both = [Compiled(policy, players, key, horizon) for horizon in (1_000, None)]
        self.rng = np.random.default_rng(seed)
        self.rates = self.rng.random(players)

    def play(self, rounds, told=False):
        for _ in range(rounds):
            available = np.flatnonzero(self.rng.random(len(self.rates)) < 0.9)
            for each in self.both:
                each.set_available(available)
            dense, sparse = (each.propose() for each in self.both)
            assert dense == sparse
            couples = np.array(dense, np.int64)
            accepted = self.rng.random(couples.shape) < self.rates[couples]
            for each in self.both:
                each.state = each.policy.reserve(each.state, couples)
                if told:
                    observe_answers_step(each.state, couples, accepted.astype(np.int64))
                else:
                    observe_step(each.state, couples, accepted.all(axis=1))
        self.compare()

    def forget(self, slot, rate):
        for each in self.both:
            each.policy.forget(each.state, slot, rate)

    def compare(self):
        dense, sparse = (each.state for each in self.both)
        assert (type(dense.couples), type(sparse.couples)) == (DenseCouples, SparseCouples)
        for name in ("rates", "mean", "square", "reach", "couple_reach", "met", "usual", "reals"):
            assert getattr(dense, name).tobytes() == getattr(sparse, name).tobytes(), name
        kept = [each.policy.evidence(each.state) for each in self.both]
        assert kept[0].keys() == kept[1].keys()
        for name, array in kept[0].items():
            assert array.tobytes() == kept[1][name].tobytes(), name


@pytest.mark.parametrize("memory", [None, 5.0])
def test_both_layouts_draw_the_same_bits(memory):
    layouts = Layouts(70, prior="learned", period=1, memory=None)
    if memory:
        for each in layouts.both:
            each.policy.fade(each.state, 1 / memory)
    layouts.play(30)
    for slot in range(0, 70, 9):
        layouts.forget(slot, None if slot % 2 else slot / 70)
        layouts.play(1)
    layouts.play(3, told=True)
    for each in layouts.both:
        each.policy.fade(each.state, 31.0)  # all weights are divided
    layouts.play(3)


def test_a_saved_state_of_either_layout_goes_on_in_both():
    layouts = Layouts(70)
    layouts.play(5)
    layouts.forget(3, 0.5)
    dense, sparse = layouts.both
    arrays = [each.policy.saved(each.state) for each in layouts.both]
    dense.state = dense.policy.load(
        dense.policy.start(StartContext(70, dense.state.key[0], 1_000)), arrays[1]
    )
    sparse.state = sparse.policy.load(
        sparse.policy.start(StartContext(70, sparse.state.key[0])), arrays[0]
    )
    layouts.play(5)


def test_rows_that_players_left_are_used_again():
    compiled, rng = Compiled(RankOneThompson(), 100), np.random.default_rng(3)
    for round in range(400):
        couples = np.sort(rng.permutation(100).reshape(-1, 2), axis=1)
        compiled.state = compiled.policy.reserve(compiled.state, couples)
        observe_step(compiled.state, couples, rng.random(50) < 0.5)
        for slot in rng.choice(100, 10, replace=False):
            compiled.policy.forget(compiled.state, slot, 0.5)
        if round == 200:
            places = len(compiled.state.couples.partner)
    known = compiled.state.couples
    assert len(known.partner) == places
    assert known.used[0] < 4 * known.length.sum()


def test_players_are_sorted_as_python_sorts_them():
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 63, 64, 65, 1_000):
        values = rng.integers(0, 1 + count // 3, count).astype(float)
        order = rng.permutation(count)
        expected = sorted(order.tolist(), key=lambda i: -values[i])
        sort_by_values(order, values, np.zeros(count, np.int64), count)
        assert order.tolist() == expected


# --- the posterior -------------------------------------------------------------------------------

# Outcomes as (i, j): (games, missed), and answers as i: (accepted, declined).
SHARED = {
    "a couple alone": ({(0, 1): (6, 4)}, {}),
    "one always meets the other": ({(0, 1): (300, 700), (0, 2): (1, 3), (1, 2): (3, 2)}, {}),
    "never played": ({(0, 1): (0, 40), (0, 2): (0, 5), (1, 2): (2, 9)}, {}),
    "always played": ({(0, 1): (40, 0), (0, 2): (7, 1)}, {}),
    "the corner of .1 .1 0": ({(0, 1): (10, 990), (0, 2): (0, 100), (1, 2): (0, 100)}, {}),
    "answers too": ({(0, 1): (5, 5), (1, 2): (2, 6)}, {0: (9, 1), 2: (0, 4)}),
}


def grid_moments(couples, answers, points=160):
    """Means, deviations and chances to be above, of three rates, by summing over a grid.

    The grid is even in the square roots of the rates, so that it is finer near 0.
    """
    root = (np.arange(points) + 0.5) / points
    rates = np.meshgrid(*[root**2] * 3, indexing="ij")
    density = 8.0 * np.prod(np.meshgrid(*[root] * 3, indexing="ij"), axis=0)
    logs = np.log(density)
    for (i, j), (games, missed) in couples.items():
        both = rates[i] * rates[j]
        logs += games * np.log(both) + missed * np.log1p(-both)
    for i, (accepted, declined) in answers.items():
        logs += accepted * np.log(rates[i]) + declined * np.log1p(-rates[i])
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = [float((weight * rate).sum()) for rate in rates]
    deviation = [
        float(np.sqrt((weight * (rate - m) ** 2).sum()))
        for rate, m in zip(rates, mean, strict=True)
    ]
    ties = [weight[rates[i] == rates[j]].sum() / 2 for i, j in combinations(range(3), 2)]
    above = [
        float(weight[rates[i] > rates[j]].sum() + tie)
        for (i, j), tie in zip(combinations(range(3), 2), ties, strict=True)
    ]
    return mean, deviation, above


def known(players, couples, answers, seed=0):
    """The policy after some outcomes."""
    compiled = Compiled(
        RankOneThompson(period=1), players, streams.stream_key(seed, 0, streams.POLICY)
    )
    for couple, (games, missed) in couples.items():
        compiled.observe([couple] * (games + missed), [True] * games + [False] * missed)
    for i, (accepted, declined) in answers.items():
        rows = np.array([sorted((i, players - 1 - i))] * (accepted + declined), np.int64)
        said = [1] * accepted + [0] * declined
        # Of the other nothing is known; a yes of one alone is never heard, so it comes in games.
        told = [(a, -1) if rows[0][0] == i else (-1, a) for a in said]
        observe_answers_step(compiled.state, rows, np.array(told, np.int64))
    return compiled


def chain(players, couples, answers, draws):
    """Draws of the rates as the policy makes them, the outcomes known from the beginning."""
    compiled, drawn = known(players, couples, answers), np.empty((draws, players))
    for row in drawn:
        compiled.propose()
        row[:] = compiled.state.rates[:players]
    return drawn[draws // 20 :]


def assert_moments(drawn, mean, deviation, above, within):
    pairs = list(combinations(range(drawn.shape[1]), 2))
    found = [(drawn[:, i] > drawn[:, j]).mean() for i, j in pairs]
    assert np.abs((drawn.mean(axis=0) - mean) / deviation).max() < within
    assert np.abs(drawn.std(axis=0) / deviation - 1).max() < within
    assert np.abs(np.array(found) - above).max() < within / 2


@pytest.mark.parametrize("outcomes", SHARED)
def test_draws_from_the_exact_posterior_of_three(outcomes):
    couples, answers = SHARED[outcomes]
    drawn = chain(3, couples, answers, draws=30_000)
    assert_moments(drawn, *grid_moments(couples, answers), within=0.05)


@pytest.mark.parametrize("outcomes", SHARED)
def test_means_are_those_of_the_posterior_with_less_noise_where_answers_are_known(outcomes):
    couples, answers = SHARED[outcomes]
    mean, deviation, _ = grid_moments(couples, answers)
    off = {}
    for answered in (0, 1):
        compiled, errors = known(3, couples, answers), []
        compiled.state.counters[ANSWERED] = answered
        for draw in range(40_000):
            compiled.propose()
            if draw % 4_000 == 3_999:  # the means are over the last twentieth
                means, squares = compiled.state.mean[:3], compiled.state.square[:3]
                spread = np.sqrt(squares - means**2)
                errors.append([(means - mean) / deviation, spread / deviation - 1])
        off[answered] = np.array(errors)
        assert np.abs(off[answered].mean(axis=0)).max() < 0.05
    assert np.abs(off[1]).mean() < np.abs(off[0]).mean()


def metropolis(players, couples, steps, chains, seed):
    """Draws from the same posterior by plain Metropolis moves of single rates, many chains."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.2, 0.8, (chains, players))
    games, missed = np.zeros((2, players, players))
    for (i, j), (played, not_played) in couples.items():
        games[i, j] = games[j, i] = played
        missed[i, j] = missed[j, i] = not_played
    kept = []
    for step in range(steps):
        for i in range(players):
            new = rates[:, i] + rng.normal(0, 0.15, chains)
            inside = (new > 0) & (new < 1)
            new = np.where(inside, new, rates[:, i])
            gain = games[i].sum() * np.log(new / rates[:, i])
            before, after = rates * rates[:, [i]], rates * new[:, None]
            gain += (missed[i] * np.log((1 - after) / (1 - before))).sum(axis=1)
            rates[:, i] = np.where(np.log(rng.random(chains)) < gain, new, rates[:, i])
        if step > steps // 4 and step % 5 == 0:
            kept.append(rates.copy())
    return np.concatenate(kept)


def test_draws_as_a_long_metropolis_run_of_six():
    rng = np.random.default_rng(5)
    rates = [0.95, 0.8, 0.6, 0.4, 0.1, 0.02]
    couples = {}
    for i, j in combinations(range(6), 2):
        tries = int(rng.integers(0, 60))
        games = int(rng.binomial(tries, rates[i] * rates[j]))
        couples[i, j] = games, tries - games
    exact = metropolis(6, couples, steps=1_500, chains=400, seed=1)
    above = [(exact[:, i] > exact[:, j]).mean() for i, j in combinations(range(6), 2)]
    drawn = chain(6, couples, {}, draws=20_000)
    assert_moments(drawn, exact.mean(axis=0), exact.std(axis=0), above, within=0.06)
