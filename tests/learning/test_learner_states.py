"""A learner in any sequence of calls, against a model made of dictionaries."""

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from pairup import Learner, RankOneThompson, Unimodal

NAMES = st.sampled_from("abcdefgh")
LUCK = st.randoms(use_true_random=False)


class LearnerMachine(RuleBasedStateMachine):
    """What a learner with players who come, go and return must know."""

    policy = Unimodal()

    def __init__(self):
        super().__init__()
        self.learner = self.policy.learner("ab")
        self.present, self.kept = set("ab"), set()
        self.pending, self.tries, self.games = Counter(), Counter(), Counter()

    @rule(player=NAMES)
    def join(self, player):
        if player not in self.present:
            self.learner.join(player)
            self.present.add(player)
            self.kept.discard(player)

    @rule(player=NAMES, forget=st.booleans(), rate=st.sampled_from(["estimated", None, 0.25]))
    def leave(self, player, forget, rate):
        if player in self.present:
            self.learner.leave(player, forget=forget, rate=rate)
            self.present.remove(player)
            self._strike(player, self.pending)
            if forget:
                self._strike(player, self.tries, self.games)
            else:
                self.kept.add(player)

    @precondition(lambda self: self.kept)
    @rule(luck=LUCK)
    def forget(self, luck):
        player = luck.choice(sorted(self.kept))
        self.learner.forget(player)
        self.kept.remove(player)
        self._strike(player, self.tries, self.games)

    @rule(luck=LUCK)
    def propose(self, luck):
        available = luck.sample(sorted(self.present), luck.randint(0, len(self.present)))
        matching = self.learner.propose(available)
        assert set(matching.players) == set(available)
        self.pending.update(map(_couple, matching))

    @precondition(lambda self: self.pending)
    @rule(luck=LUCK, told=st.booleans())
    def observe(self, luck, told):
        couples = luck.sample(sorted(self.pending), luck.randint(1, len(self.pending)))
        couples = [couple for x, couple in enumerate(couples) if not _shared(couple, couples[:x])]
        played = [luck.random() < 0.5 for _ in couples]
        answers = {couple[0]: game for couple, game in zip(couples, played, strict=True)}
        self.learner.observe(couples, played, accepted=answers if told else None)
        for couple, game in zip(couples, played, strict=True):
            self.pending[couple] -= 1
            self._count(couple, game)
        self.pending = +self.pending

    @rule(luck=LUCK, rows=st.integers(0, 9), unknown=st.sampled_from(["join", "keep"]))
    def learn(self, luck, rows, unknown):
        couples = [luck.sample("abcdefgh", 2) for _ in range(rows)]
        played = [luck.random() < 0.5 for _ in couples]
        assert self.learner.learn(couples, played, unknown=unknown) == rows
        for couple, game in zip(couples, played, strict=True):
            self._count(_couple(couple), game)
            new = set(couple) - self.present - self.kept
            (self.present if unknown == "join" else self.kept).update(new)

    @rule()
    def save_and_load(self):
        saved = self.learner.to_bytes()
        self.learner = Learner.from_bytes(saved)
        assert self.learner.to_bytes() == saved

    @rule()
    def make_again_from_evidence(self):
        evidence = self.learner.evidence()
        self.learner = Learner.from_evidence(evidence)
        assert self.learner.evidence() == evidence

    @invariant()
    def knows_the_players(self):
        assert set(self.learner.players) == self.present
        assert set(self.learner.kept) == self.kept

    @invariant()
    def awaits_outcomes_of_players_present(self):
        pending = {_couple(couple): n for couple, n in self.learner.pending.items()}
        assert pending == self.pending

    @invariant()
    def knows_what_became_of_each_couple(self):
        known = {_couple(each.couple): each[1:] for each in self.learner.estimates()}
        assert known == {
            couple: (tries, self.games[couple])
            for couple, tries in self.tries.items()
            if set(couple) <= self.present
        }
        assert self.learner.observed_couple_count == len(known)

    def _count(self, couple, game):
        self.tries[couple] += 1
        self.games[couple] += game

    def _strike(self, player, *counters):
        for counter in counters:
            for couple in [couple for couple in counter if player in couple]:
                del counter[couple]


class FadingMachine(LearnerMachine):
    """The same with rates, priors that are learnt and evidence that fades."""

    policy = RankOneThompson()

    @rule(half_lives=st.sampled_from([0, 0.5, 40]))
    def fade(self, half_lives):
        self.learner.fade(half_lives)

    @invariant()
    def estimates_rates(self):
        rates = self.learner.rates([*self.present, *self.kept])
        assert {known.player for known in rates} == self.present | self.kept
        assert all(0 <= known.rate <= 1 and known.deviation >= 0 for known in rates)


def _couple(couple):
    return tuple(sorted(couple))


def _shared(couple, others):
    return any(set(couple) & set(other) for other in others)


@pytest.mark.parametrize("machine", [LearnerMachine, FadingMachine])
def test_a_learner_knows_what_happened_in_any_order(machine):
    case = machine.TestCase
    case.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
    case().runTest()
