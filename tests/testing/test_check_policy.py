"""check_policy says which rules a policy breaks, and what was found."""

import sys

import pytest

from pairup import SAM, PolicyError, RankOneThompson, Unimodal
from pairup.policies import import_policy
from pairup.testing import BrokenContractError, check_policy, proposal_rules
from pairup.testing.variants import variants_of
from tests.support.foreign import BESIDE, source

suite = sys.modules["pairup.testing.check_policy"]  # the name is that of its function too
RULES = (  # some of them, because all take some seconds; the policy of the pages passes all
    proposal_rules.is_a_frozen_set_of_options,
    proposal_rules.draws_at_random_if_it_says_so,
    proposal_rules.begins_with_nobody_or_one,
)


@pytest.fixture
def imported(foreign_folder):
    def write_and_import(text):
        foreign_folder.write("own", text)
        return import_policy("own:Fixed", foreign_folder.path)

    return write_and_import


def test_it_lists_the_rules_that_are_broken(imported, monkeypatch):
    monkeypatch.setattr(suite, "RULES", RULES)
    policy_class = imported(source(BESIDE).replace("draws_at_random = False", ""))
    with pytest.raises(BrokenContractError) as caught:
        check_policy(policy_class)
    assert str(caught.value).splitlines() == [
        "Fixed: 1 rule is broken",
        "- own:Fixed: Another seed changes the proposals if and only if the policy says "
        "`draws_at_random`.",
        "  proposals that depend on the seed, with draws_at_random: False instead of True",
    ]


@pytest.mark.parametrize(
    ("old", "new", "step"),
    [
        ("state.players[place] =", "state.players[place + 4] =", "set_available or propose"),
        ("    pass", "    state.players[0] = couples[len(couples), 0]", "observe"),
    ],
)
def test_an_index_beyond_an_array_is_found_before_it_does_harm(imported, old, new, step):
    policy_class = imported(source(BESIDE).replace(old, new, 1))
    with pytest.raises(BrokenContractError, match=f"the step {step} goes beyond an array") as found:
        check_policy(policy_class)
    assert str(found.value).startswith("Fixed: 1 rule is broken")


def test_what_does_not_compile_is_told_once(imported):
    policy_class = imported(source(BESIDE).replace("return OK + SHIFT", "pass"))
    with pytest.raises(BrokenContractError, match="does not return a status in every case"):
        check_policy(policy_class)


def test_a_class_is_checked_with_every_choice_of_its_options_and_a_policy_as_it_is():
    assert len(variants_of(Unimodal)) == 8
    assert [str(each) for each in variants_of(SAM(horizon=7))] == ["sam-horizon=7"]
    assert [str(each) for each in variants_of(RankOneThompson)] == [
        "rank_one_thompson-uniform",
        "rank_one_thompson-period=4-learned",
        "rank_one_thompson-period=1-prior=(2.0, 3.0)",
    ]


@pytest.mark.parametrize("wrong", ["sam", 3, int, None])
def test_only_policies_are_checked(wrong):
    with pytest.raises(PolicyError, match="check_policy takes a policy or its class, got"):
        check_policy(wrong)
