"""Whole lives find what is lost when a learner is saved, and say which calls led there."""

from __future__ import annotations

import numpy as np
import pytest

from pairup import (
    EpsilonGreedy,
    Learner,
    Matching,
    Policy,
    RankOneThompson,
    Uniform,
    Unimodal,
)
from pairup.compiled.state_fields import ROUND
from pairup.learning.running_policy import RunningPolicy
from pairup.policies.couple_policies import CouplePolicy
from pairup.testing import BrokenContractError
from pairup.testing.lives import Call, goes_on_in_any_life
from pairup.testing.variants import Variant

LEARNED = RankOneThompson(prior="learned", period=4)
FADING = RankOneThompson(prior="learned", memory=20.0)


def _found(policy: Policy) -> list[str]:
    """Return the lines that tell what differs in some life."""
    with pytest.raises(BrokenContractError) as caught:
        goes_on_in_any_life(Variant(policy))
    return str(caught.value).splitlines()


def _replay(lines: list[str]) -> tuple[Learner, list[Learner]]:
    """Run the calls that a message lists, from a learner and its copies."""
    names = {kind.__name__: kind for kind in (RankOneThompson, Matching)}
    learner, copies = eval(lines[0].partition(" = ")[2], names), []
    for line in lines[1:]:
        for each in (learner, *copies):
            eval(line, names | {"learner": each})
        if ".to_bytes()" in line:
            copies = [Learner.from_bytes(learner.to_bytes())]
    return learner, copies


def test_a_prior_that_forgets_whom_it_counted_is_found(monkeypatch):
    load = RankOneThompson.load

    def guessed(self, state, arrays):
        return load(self, state, {**arrays, "state.counted": arrays["state.drawn"] > 0.0})

    monkeypatch.setattr(RankOneThompson, "load", guessed)
    said, after, *script = _found(LEARNED)
    assert "from_bytes(to_bytes())" in said
    assert after == "  after these calls:"
    assert script[0].startswith("    learner = RankOneThompson(period=4, prior='learned').learner(")
    assert "    learner.to_bytes()  # and copies made from it go along" in script
    assert len(script) <= 20  # calls that do not matter are left out
    learner, (copy,) = _replay([line.strip() for line in script])
    assert (copy.to_bytes(), copy.rates()) != (learner.to_bytes(), learner.rates())


def _loses_an_array(monkeypatch):
    load = RankOneThompson.load

    def forgetful(self, state, arrays):
        return load(self, state, {**arrays, "state.credit": np.zeros_like(arrays["state.credit"])})

    monkeypatch.setattr(RankOneThompson, "load", forgetful)


def _loses_a_last_bit(monkeypatch):
    load = RankOneThompson.load

    def rounding(self, state, arrays):
        return load(
            self, state, {**arrays, "state.unsure": np.nextafter(arrays["state.unsure"], 0)}
        )

    monkeypatch.setattr(RankOneThompson, "load", rounding)


def _forgets_nothing(monkeypatch):
    monkeypatch.setattr(CouplePolicy, "forget", lambda self, state, slot, rate=None: None)


def _learns_no_history(monkeypatch):
    monkeypatch.setattr(RunningPolicy, "learn", lambda self, observed: None)


def _is_changed_by_a_look(monkeypatch):
    leader = EpsilonGreedy.leader

    def changing(self, state):
        state.counters[ROUND] = max(state.counters[ROUND], 1_000)
        return leader(self, state)

    monkeypatch.setattr(EpsilonGreedy, "leader", changing)


def _counts_its_own_rounds_as_evidence(monkeypatch):
    evidence = Unimodal.evidence
    monkeypatch.setattr(
        Unimodal, "evidence", lambda *args: evidence(*args) | {"rounds": args[1].counters[[ROUND]]}
    )


def _ignores_exclusions(monkeypatch):
    monkeypatch.setattr(Learner, "_without", lambda self, excluded, couples, slots: couples)


@pytest.mark.parametrize(
    ("policy", "mutate", "part"),
    [
        (
            RankOneThompson(),
            _loses_an_array,
            "to_bytes() of from_bytes(to_bytes()) differs in state.credit",
        ),
        (FADING, _loses_a_last_bit, "of from_bytes(to_bytes()) differs in state."),
        (Unimodal(), _forgets_nothing, "it knows players who are not present"),
        (Unimodal(), _learns_no_history, "estimates(): "),
        (EpsilonGreedy(), _is_changed_by_a_look, "propose() of a learner that nobody looks at: "),
        (
            Unimodal(),
            _counts_its_own_rounds_as_evidence,
            "evidence() of a learner that was given the proposals: ",
        ),
        (Uniform(), _ignores_exclusions, "a couple who may not meet is proposed"),
    ],
)
def test_a_policy_that_breaks_its_promise_is_found(policy, mutate, part, monkeypatch):
    mutate(monkeypatch)
    said, after, *script = _found(policy)
    assert part in said
    assert after == "  after these calls:"
    assert script[-1].strip().startswith("learner.")


def test_an_error_in_the_life_of_a_policy_is_told_with_its_calls(monkeypatch):
    def broken(self, state, slots):
        raise ZeroDivisionError("no rates today")

    monkeypatch.setattr(Uniform, "player_rates", broken)
    said, _, *script = _found(Uniform())
    assert said == "ZeroDivisionError no rates today"
    assert script[-1].strip().startswith("learner.")


def test_a_policy_whose_evidence_fades_passes():
    """Others are checked with all rules; in a simulation, evidence fades a little earlier."""
    goes_on_in_any_life(Variant(FADING))


def test_calls_are_shown_as_code():
    matching = Matching([("a", "b")], ["c"])
    assert str(Call("record", {"matching": matching})) == (
        "learner.record(matching=Matching([('a', 'b')], ['c']))"
    )
    assert str(Call("with_policy", {"policy": Unimodal(index="ucb"), "seed": 3})) == (
        "learner.with_policy(policy=Unimodal(index='ucb'), seed=3)"
    )
