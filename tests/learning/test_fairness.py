"""Floors: what players are owed, and how a learner pays it back."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from pairup import (
    CombThompson,
    Fairness,
    Learner,
    Matching,
    Oracle,
    PolicyError,
    RankOneThompson,
    SavingError,
    Unimodal,
)
from pairup.compiled.matchings.random_pairing import new_random_pairing
from pairup.learning.fairness import near_couples, weigh_debts
from pairup.learning.running_policy import RunningPolicy
from pairup.learning.serialization import pack, unpack
from pairup.problem.meeting_graph import MeetingGraph
from pairup.testing.lives import goes_on_in_any_life
from pairup.testing.variants import Variant

NAMES = ["ann", "bob", "cyd", "dan"]


def twin_debts(floor, window, notes):
    """Debts by the rule alone, player by player."""
    debts = {}
    for players, shares in notes:
        for player, share in zip(players, shares, strict=True):
            if not math.isnan(share):
                debt = debts.get(player, 0.0) + floor - share
                debts[player] = min(max(debt, 0.0), floor * window)
    return {player: debt for player, debt in debts.items() if debt > 0}


@pytest.mark.parametrize("seed", range(10))
def test_debts_are_those_of_the_rule(seed):
    draw = np.random.default_rng(seed)
    fairness = Fairness(floor := draw.choice([0.25, 0.5, 1.0]), window=3)
    notes = []
    for _ in range(30):
        players = draw.permutation(8)[: draw.integers(9)].tolist()
        shares = draw.choice([0.0, 0.5, 1.5, math.nan], len(players))
        notes.append((players, shares))
        fairness.note(players, shares)
    assert fairness.debts == pytest.approx(twin_debts(floor, 3, notes))
    assert fairness.debts_of([99, *fairness.debts])[0] == 0.0
    assert Fairness(floor, window=3, debts=fairness.debts).debts == fairness.debts


@pytest.mark.parametrize("floor", [-0.1, 1.5, math.nan, "half", True])
def test_a_floor_that_is_not_a_share_is_refused(floor):
    with pytest.raises(PolicyError, match="a floor is a number from 0 to 1"):
        RankOneThompson().learner(NAMES, floor=floor)


@pytest.mark.parametrize(
    ("players", "shares"),
    [
        (["ann"], [-0.1]),
        (["ann"], [1.0, 1.0]),
        (["ann", "bob"], [1.0]),
        (["ann"], ["much"]),
        (["ann", "bob"], [[1.0], [1.0, 2.0]]),
    ],
)
def test_shares_that_are_not_shares_are_refused(players, shares):
    with pytest.raises(PolicyError, match="shares are numbers of at least 0"):
        Fairness(0.5).note(players, shares)


def test_policies_for_complete_graphs_refuse_a_floor():
    with pytest.raises(PolicyError, match=r"a floor of 0.5 needs .* unimodal is for games"):
        Unimodal().learner(NAMES, floor=0.5)
    learner = RankOneThompson().learner(NAMES, floor=0.5)
    with pytest.raises(PolicyError, match=r"a floor of 0.5 needs"):
        learner.with_policy(Unimodal())


def live(learner, rates, rounds, seed=0, **rules):
    """Play rounds; returns how likely each player was to play, on average."""
    draw, got = np.random.default_rng(seed), np.zeros(len(rates))
    for _ in range(rounds):
        matching = learner.propose(**rules)
        accepts = draw.random(len(rates)) < rates
        learner.observe(matching, [bool(accepts[i] and accepts[j]) for i, j in matching])
        for i, j in matching:
            got[[i, j]] += rates[i] * rates[j] / rounds
    return got


def test_without_a_floor_nothing_changes():
    rates = np.linspace(0.1, 0.9, 12)
    plain, floored = (RankOneThompson().learner(range(12), **given) for given in ({}, {"floor": 0}))
    assert np.array_equal(live(plain, rates, 30), live(floored, rates, 30))
    assert plain.to_bytes() == floored.to_bytes()
    assert floored.debts == {}


def couples_of(kind, players):
    """Couples who may meet, a row for each."""
    one, other = np.triu_indices(players, 1)
    apart = other - one
    kept = {
        "complete": apart > 0,
        "ring": np.minimum(apart, players - apart) <= 3,
        "sides": (one < players // 4) & (other >= players // 4),
        "star": one == 0,
    }[kind]
    return np.stack([one, other], axis=1)[kept]


class Ledger:
    """What players are owed by their true rates: over any run of rounds, nobody lacks more."""

    def __init__(self, floor, rates, couples):
        self.floor, self.rates = floor, rates
        players, chances = len(rates), rates[couples].prod(axis=1)
        self.random = new_random_pairing(players, *couples.T.copy(), chances).games
        if len(couples) == players * (players - 1) // 2:
            matched = players // 2 * 2 / players
            self.random = matched * rates * (rates.sum() - rates) / (players - 1)
        self.debts, self.greatest = np.zeros(players), 0.0
        # A game counts for more shares, the more rarely random pairing gives a player a partner.
        met = new_random_pairing(players, *couples.T.copy(), np.ones(len(couples))).games
        self.game = (1.0 / met).max()

    def enter(self, matching):
        given = np.zeros(len(self.rates))
        for couple in matching:
            given[list(couple)] = self.rates[list(couple)].prod()
        self.debts = np.maximum(self.debts + self.floor - given / self.random, 0.0)
        self.greatest = max(self.greatest, self.debts.max())

    @property
    def bound(self):
        """The greatest debt allowed: a few shares, and one game where few can play."""
        return 3.0 + self.game


@pytest.mark.parametrize("floor", [0.5, 0.9])
@pytest.mark.parametrize(
    ("kind", "players"),
    [("complete", 15), ("complete", 80), ("ring", 40), ("sides", 40), ("star", 12)],
)
def test_a_floor_holds_for_every_player_over_every_run_of_rounds(kind, players, floor):
    rates, couples = np.random.default_rng(1).beta(2, 3, players), couples_of(kind, players)
    ledger = Ledger(floor, rates, couples)
    learner = Oracle(rates=tuple(rates)).learner(range(players), floor=floor)
    for turn in range(200):
        if turn % 40 == 20:
            learner = Learner.from_bytes(learner.to_bytes())
        ledger.enter(learner.propose(allowed=None if kind == "complete" else couples))
    assert ledger.greatest < ledger.bound


def test_a_floor_is_what_holds():
    rates, couples = np.random.default_rng(1).beta(2, 3, 80), couples_of("complete", 80)
    ledger, learner = Ledger(0.5, rates, couples), Oracle(rates=tuple(rates)).learner(range(80))
    for _ in range(200):
        ledger.enter(learner.propose())
    assert ledger.greatest > 10 * ledger.bound


def test_a_floor_holds_for_players_whose_games_are_worth_little():
    rates, couples = np.random.default_rng(1).beta(2, 3, 40), couples_of("ring", 40)
    ledger = Ledger(0.9, rates, couples)
    worth = np.where((couples < 4).any(axis=1), 0.02, 1.0)
    learner = Oracle(rates=tuple(rates)).learner(range(40), floor=0.9)
    for _ in range(200):
        ledger.enter(learner.propose(allowed=couples, worth=worth))
    assert ledger.greatest < ledger.bound


def test_a_floor_holds_where_hundreds_wait_for_one():
    rates, couples = np.random.default_rng(1).beta(2, 3, 201), couples_of("star", 201)
    ledger = Ledger(0.9, rates, couples)
    learner = Oracle(rates=tuple(rates)).learner(range(201), floor=0.9)
    for _ in range(600):
        ledger.enter(learner.propose(allowed=couples))
    assert ledger.greatest < ledger.bound


class Churning:
    """Players who come and go, with what each got by true rates and by estimated ones."""

    def __init__(self, players, floor, seed):
        self.draw = np.random.default_rng(seed)
        self.rates = dict(enumerate(self.draw.beta(2, 3, players).tolist()))
        policy = RankOneThompson(period=4, prior="learned")
        self.learner = policy.learner(self.rates, seed, floor=floor)
        self.records = {name: Record() for name in self.rates}

    def replace_some(self):
        for gone in [name for name in self.rates if self.draw.random() < 0.01]:
            new = max(self.records) + 1
            self.learner.leave(gone)
            self.learner.join(new)
            del self.rates[gone]
            self.rates[new], self.records[new] = self.draw.beta(2, 3), Record()

    def play(self):
        matching = self.learner.propose()
        names = list(self.rates)
        estimated, deviations = self.learner.rate_array(names)
        true = np.array([self.rates[name] for name in names])
        place = {name: x for x, name in enumerate(names)}
        for couple in matching:
            x, y = (place[name] for name in couple)
            for i, j in ((x, y), (y, x)):
                means = [np.delete(each, i).mean() for each in (true, estimated)]
                errors = deviations[j] / means[1]
                self.records[names[i]].enter(true[j] / means[0], names[j], errors)
        accepts = {name: self.draw.random() < rate for name, rate in self.rates.items()}
        self.learner.observe(matching, [accepts[i] and accepts[j] for i, j in matching])


class Record:
    """The shares of a player, and how wrong they may be: a partner's error recurs with it."""

    def __init__(self):
        self.rounds, self.shares, self.errors = 0, 0.0, {}

    def enter(self, share, partner, error):
        self.rounds += 1
        self.shares += share
        self.errors[partner] = self.errors.get(partner, 0.0) + error

    def excess(self, floor, debt):
        """Shares beyond what was promised, in deviations."""
        deviation = math.sqrt(sum(each**2 for each in self.errors.values()))
        return (self.shares - floor * self.rounds + debt) / deviation


@pytest.mark.parametrize("floor", [0.5, 0.9])
def test_a_floor_holds_for_every_player_within_its_interval_with_learned_rates(floor):
    players = Churning(100, floor, seed=2)
    for turn in range(200):  # of 50 games each
        players.replace_some()
        if turn % 50 == 25:
            players.learner = Learner.from_bytes(players.learner.to_bytes())
        players.play()
    assert max(players.learner.debts.values()) < 4.0
    assert len(players.records) > 250
    excess = [each.excess(floor, debt=4.0) for each in players.records.values() if each.rounds]
    assert min(excess) > -4.0


def test_a_floor_under_the_oracle_is_held_by_its_rates():
    learner = Oracle(rates=(0.9, 0.8, 0.2, 0.1)).learner(NAMES, floor=1)
    matchings = [learner.propose() for _ in range(12)]
    assert matchings[0] == Matching([("ann", "bob"), ("cyd", "dan")])
    assert Matching([("ann", "cyd"), ("bob", "dan")]) in matchings
    shares = learner.shares(matchings[0])
    assert shares == pytest.approx([0.8 * 3 / 1.1, 0.9 * 3 / 1.2, 0.1 * 3 / 1.8, 0.2 * 3 / 1.9])


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_what_a_debt_adds_does_not_depend_on_the_scale_of_chances(scale):
    debts, chances = np.array([0.0, 2.0, 2.0, 1.0]), scale * np.array([0.4, 0.4, 0.2, 0.0])
    added = weigh_debts(debts, chances)
    assert added[:3] == pytest.approx([0.0, 2.5 / 3, 5.0 / 3])
    assert np.isfinite(added).all()


def test_a_debt_is_saved_kept_and_forgotten_with_its_player():
    learner = RankOneThompson().learner(NAMES, floor=0.5)
    for _ in range(3):
        learner.propose(["ann", "bob", "cyd"], allowed=[("ann", "bob"), ("bob", "cyd")])
    owed = learner.debts
    assert owed
    player = next(iter(owed))
    assert Learner.from_bytes(learner.to_bytes()).debts == owed
    copy = Learner.from_evidence(learner.evidence(), learner.cache())
    assert (copy.debts, copy.floor) == (owed, 0.5)
    assert Learner.from_evidence(learner.evidence()).floor == 0.5
    assert learner.with_policy(RankOneThompson(period=3)).debts == owed
    learner.leave(player, forget=False)
    learner.join(player)
    assert learner.debts == owed
    learner.leave(player)
    learner.join(player)
    assert player not in learner.debts


@dataclass(frozen=True)
class Floored(Variant):
    """A policy with a floor."""

    def learner(self, players, seed=0):
        return self.given.learner(players, seed, floor=0.5)


@pytest.mark.parametrize(
    "policy", [RankOneThompson(prior="learned", period=4), CombThompson()], ids=str
)
def test_a_learner_with_a_floor_goes_on_in_any_life(policy):
    goes_on_in_any_life(Floored(policy))


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"debts": [[9, 0.5]]}, "players who are not known"),
        ({"debts": [[0.0, 0.5]]}, "slots that are not integers"),
        ({"debts": [[True, 0.5]]}, "slots that are not integers"),
        ({"debts": [[0, 0.5], [0, 0.75]]}, "two debts of a player"),
        ({"debts": [[0, 501.0]]}, "a debt is from 0 to 500"),
        ({"debts": [[0, math.nan]]}, "a debt is from 0 to 500"),
        ({"floor": 2.0}, "a floor is a number from 0 to 1"),
        ({"policy": "unimodal", "options": {}}, "a floor of 0.5 needs"),
    ],
)
def test_saved_debts_that_cannot_be_are_refused(header, says):
    saved, arrays = unpack(RankOneThompson().learner(NAMES, floor=0.5).to_bytes())
    if "policy" in header:
        _, arrays = unpack(Unimodal().learner(NAMES).to_bytes())
    with pytest.raises(SavingError, match=says):
        Learner.from_bytes(pack(saved | header, arrays))


def test_players_who_may_meet_nobody_are_owed_nothing():
    learner = RankOneThompson().learner(NAMES, floor=0.5)
    for _ in range(5):
        learner.propose(allowed=[("ann", "bob")])
    assert learner.debts == {}
    shares = learner.shares([("ann", "bob")], allowed=[("ann", "bob")])
    assert np.array_equal(np.isnan(shares), [False, False, True, True])


def test_debts_kept_elsewhere_steer_a_suggestion():
    learner = RankOneThompson().learner(NAMES)
    learner.learn([("ann", "bob"), ("cyd", "dan")] * 20, [True] * 20 + [False] * 20)
    one = learner.suggest(debts=np.array([0.0, 0.0, 0.0, 50.0]))
    assert one.partner("dan") in ("ann", "bob")
    assert learner.debts == {}
    for debts in (np.zeros(3), ["much"] * 4, [[0.0], [0.0, 1.0]], 4 * [np.nan]):
        with pytest.raises(PolicyError, match="one for each of 4 players"):
            learner.suggest(debts=debts)


def test_shares_compare_with_random_pairing():
    learner = RankOneThompson().learner(NAMES)
    accepted = [(True, True)] * 10 + [(False, False)] * 10
    learner.learn([("ann", "bob")] * 10 + [("cyd", "dan")] * 10, accepted=accepted)
    rates, _ = learner.rate_array(NAMES)
    chances = np.outer(rates, rates)
    random = (chances.sum(axis=1) - chances.diagonal()) / 3
    shares = learner.shares([("ann", "dan")])
    expected = [chances[0, 3] / random[0], 0.0, 0.0, chances[0, 3] / random[3]]
    assert shares == pytest.approx(np.array(expected))


@pytest.mark.parametrize("policy", [RankOneThompson(), CombThompson()])
def test_shares_do_not_depend_on_players_who_are_not_there(policy):
    rules = {"available": ["dan", "ann", "cyd", "bob"]}
    rules["allowed"] = [("ann", "bob"), ("bob", "cyd"), ("cyd", "dan")]
    few, many = policy.learner(NAMES), policy.learner([*range(50), *NAMES])
    shares = [each.shares([("ann", "bob"), ("cyd", "dan")], **rules) for each in (few, many)]
    assert shares[0].tolist() == shares[1].tolist()
    nobody = many.shares([("ann", "bob")], [*rules["available"], 7], allowed=rules["allowed"])
    assert nobody[:4].tolist() == [0.0, shares[0][1], 0.0, shares[0][3]]


def test_nobody_who_may_meet_is_left_over_where_players_are_many():
    names = list(range(81))
    learner = RankOneThompson().learner(names)
    apart = [(i, j) for i in range(0, 81, 2) for j in range(i + 1, 60)]
    debts = np.zeros(81)
    debts[::3] = 4.0
    matching = learner.suggest(apart=apart, debts=debts)
    forbidden = {frozenset(couple) for couple in apart}
    waiting = matching.waiting
    assert not any(frozenset(couple) in forbidden for couple in matching)
    assert all(frozenset((i, j)) in forbidden for i in waiting for j in waiting if i < j)


@pytest.mark.parametrize("seed", range(5))
def test_where_a_search_starts_does_not_change_the_matching(seed):
    draw = np.random.default_rng(seed)
    low, high = near_couples(draw.random(300), draw.random(300))
    graph = MeetingGraph.of_couples(300, low, high, draw.random(len(low)))
    cold, started, astray = (RunningPolicy(RankOneThompson(), seed, 300) for _ in range(3))
    for running in (cold, started, astray):
        running.set_present(np.arange(300))
    available = np.sort(draw.permutation(300)[:251])
    found = cold.propose_on_graph(available, graph)
    assert np.array_equal(started.propose_on_graph(available, graph, np.full(300, 0.6)), found)
    assert np.array_equal(astray.propose_on_graph(available, graph, draw.random(300)), found)


def test_near_couples_are_neighbours_by_rate_and_by_what_is_owed():
    rates = np.linspace(1.0, 0.1, 100)
    standing = rates.copy()
    standing[99] = 1.0  # by what is owed
    low, high = near_couples(rates, standing)
    couples = set(zip(low.tolist(), high.tolist(), strict=True))
    assert {(0, 99), (1, 99), (98, 99), (40, 41), (40, 48)} <= couples
    assert (40, 49) not in couples
    assert len(couples) < 100 * 16


def test_thousands_of_equals_are_matched_in_blocks():
    low, high = near_couples(np.full(1_000, 0.5), np.full(1_000, 0.5))
    graph = csr_array((np.ones(len(low)), (low, high)), shape=(1_000, 1_000))
    _, block = connected_components(graph, directed=False)
    sizes = np.bincount(block)
    assert sizes.sum() == 1_000
    assert sizes.max() <= 128
    assert not np.any(sizes % 2)  # so that nobody is left over


@pytest.mark.parametrize("seed", range(4))
def test_chances_of_random_pairing_are_near_those_of_couples_in_random_order(seed):
    draw = np.random.default_rng(seed)
    sides = draw.random(24) < 0.3
    one, other = np.triu_indices(24, 1)
    kept = sides[one] != sides[other] if seed % 2 else draw.random(len(one)) < 0.5
    one, other = one[kept], other[kept]
    chances = draw.random(len(one))
    got, times = np.zeros(24), 400
    for _ in range(times):
        free = np.ones(24, bool)
        for k in draw.permutation(len(one)):
            if free[one[k]] and free[other[k]]:
                free[[one[k], other[k]]] = False
                got[[one[k], other[k]]] += chances[k] / times
    found = new_random_pairing(24, one, other, chances).games
    assert np.abs(found - got).max() < 0.15
    assert abs(found.mean() - got.mean()) < 0.05
