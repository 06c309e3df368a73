"""What else a policy might propose is drawn from the same distribution, and leaves no trace."""

import pytest

from pairup import get_policy, policy_names
from pairup.learning import Learner

POLICIES = [
    name
    for name in policy_names()
    if get_policy(name).serves_pools and not get_policy(name).needs()
]
PLAYERS = "abcdefgh"


def learnt(name):
    learner = get_policy(name).learner(PLAYERS, seed=3)
    for round in range(5):
        matching = learner.propose()
        learner.observe(matching, [(round + x) % 3 > 0 for x in range(len(matching))])
    learner.leave("h")
    return learner


@pytest.mark.parametrize("name", POLICIES)
def test_the_policys_own_stream_proposes_what_comes_next(name):
    learner = learnt(name)
    with learner.redrawing(0):
        next_one = learner.suggest(list("abcdef"))
    assert learner.suggest(list("abcdef")) == next_one


@pytest.mark.parametrize("name", POLICIES)
def test_other_streams_leave_the_learner_as_it_was(name):
    learner = learnt(name)
    twin = Learner.from_bytes(learner.to_bytes())
    others = []
    for stream in range(1, 9):
        with learner.redrawing(stream):
            others.append(learner.suggest(list("abcdef")))
    if not learner.draws_next:
        assert len(set(others)) == 1
    assert learner.to_bytes() == twin.to_bytes()
    for _ in range(6):
        assert learner.propose() == twin.propose()


def test_a_round_of_means_is_not_left_to_chance():
    learner = get_policy("rank_one_thompson", period=2).learner(PLAYERS)
    assert learner.draws_next
    learner.propose()
    assert not learner.draws_next
