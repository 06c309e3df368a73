"""Names of players do not matter: learners stay identical under any names."""

import numpy as np
import pytest

from pairup import Learner, PlayerError, RankOneThompson, Unimodal

NUMBERS = {"ann": 41, "bob": 0, "cyd": -3, "dan": 2**40, "eve": 7, "fay": 1}


def _begun(policy, names):
    """Live through a little of everything, with players called by `names`."""
    a, b, c, d, e, f = names
    learner = policy.learner([a, b, c, d], seed=3)
    matching = learner.propose(apart=[(a, b)])
    learner.observe(matching, accepted={name: name != c for name in matching.players})
    learner.learn([(a, e), (f, b), (a, e)], played=[True, False, True], unknown="keep")
    learner.join(e)
    learner.leave(d, forget=False)
    learner.propose([a, b])
    return learner


def _known(learner, name):
    """Return what a learner says, with `name` applied to the names of players."""
    return (
        [name(player) for player in (*learner.players, *learner.kept)],
        {(name(i), name(j)): count for (i, j), count in learner.pending.items()},
        [(*map(name, each.couple), each.proposed, each.played) for each in learner.estimates()],
        [(name(each.player), each.rate, each.deviation) for each in learner.rates()],
    )


@pytest.mark.parametrize("policy", [RankOneThompson(prior="learned"), Unimodal()], ids=str)
def test_players_may_be_called_by_numbers(policy):
    named, numbered = _begun(policy, NUMBERS), _begun(policy, NUMBERS.values())
    for copied in (
        numbered,
        Learner.from_bytes(numbered.to_bytes()),
        Learner.from_evidence(numbered.evidence(), numbered.cache()),
    ):
        assert _known(copied, int) == _known(named, NUMBERS.__getitem__)
        assert all(type(player) is int for player in (*copied.players, *copied.kept))
        assert copied.to_bytes() == numbered.to_bytes()
    numbered.forget(NUMBERS["fay"])
    numbered.leave(NUMBERS["ann"])
    numbered.learn((np.array([0, 0]), np.array([2**40, 7])), played=np.array([True, False]))
    assert numbered.players == (0, -3, 7)
    assert set(numbered.propose().players) == {0, -3, 7}


@pytest.mark.parametrize("policy", [RankOneThompson(prior="learned"), Unimodal()], ids=str)
def test_a_learner_goes_on_under_new_names(policy):
    renamed, numbered = _begun(policy, NUMBERS), _begun(policy, NUMBERS.values())
    renamed.rename(NUMBERS)
    assert renamed.wanted is None
    for learner in (renamed, numbered):
        learner.join(2**40)
        learner.observe([(41, 0)], [True])
    assert renamed.to_bytes() == numbered.to_bytes()
    assert renamed.evidence() == numbered.evidence()
    assert renamed.propose() == numbered.propose()


def test_names_may_be_swapped_and_used_again():
    learner = Unimodal().learner(["ann", "bob", "cyd", "dan"])
    learner.leave("cyd", forget=False)
    learner.leave("dan")
    learner.rename({"ann": "cyd", "cyd": "ann", "bob": "bob"})
    assert (learner.players, learner.kept) == (("cyd", "bob"), ("ann",))
    learner.rename({"cyd": "dan"})
    learner.join("cyd")
    learner.join("ann")
    assert learner.players == ("dan", "bob", "ann", "cyd")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"ann": "x", "zoe": "y"}, "'zoe' is not present"),
        ({"ann": "x", "bob": "x"}, "two players would be called 'x': give each its own name"),
        ({"ann": "x", "cyd": "bob"}, "'bob' is present already: give each its own name"),
        ({"ann": "cyd"}, "'cyd' is kept already: give each its own name"),
        ({"ann": "bob", "bob": "bob"}, "two players would be called 'bob'"),
        ({"ann": "x", "bob": None}, "cannot be called None"),
        ({"ann": "x", "bob": ["y"]}, "is not hashable"),
        ([("ann", "x")], "give a dict"),
    ],
)
def test_a_refused_renaming_changes_nothing(names, message):
    learner = Unimodal().learner(["ann", "bob", "cyd"])
    learner.leave("cyd", forget=False)
    before = learner.to_bytes()
    with pytest.raises(PlayerError, match=message):
        learner.rename(names)
    assert learner.to_bytes() == before
    assert (learner.players, learner.kept) == (("ann", "bob"), ("cyd",))
