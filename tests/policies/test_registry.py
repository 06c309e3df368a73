import dataclasses

import pytest

from pairup import SAM, Oracle, PolicyError, Uniform, Unimodal, get_policy, policy_names
from pairup.policies import registry
from tests.support.policy_variants import variants


def test_finds_every_policy_by_its_name():
    assert set(policy_names()) >= {"unimodal", "sam", "uniform", "oracle"}
    assert list(policy_names()) == sorted(policy_names())
    for name in policy_names():
        assert get_policy(name).name == name


def test_takes_options_by_keyword():
    assert get_policy("sam", horizon=100) == SAM(horizon=100)
    assert get_policy("unimodal", compare="matchings", index="ucb") == Unimodal("matchings", "ucb")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("unimodel", "no policy is called 'unimodel'; did you mean \"unimodal\"?"),
        ("SAM", "no policy is called 'SAM'; did you mean \"sam\"?"),
        ("zzz", "no policy is called 'zzz'; known: "),
        (3, "no policy is called 3; known: "),
        (["sam"], r"no policy is called \['sam'\]; known: "),
        (SAM, "no policy is called <class"),
    ],
)
def test_an_unknown_name_is_refused(name, says):
    with pytest.raises(PolicyError, match=says.replace("?", r"\?")):
        get_policy(name)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("unimodal", {"indx": "kl"}, "unimodal has no option 'indx'; did you mean \"index\""),
        ("uniform", {"horizon": 3}, "uniform has no option 'horizon'; none is known"),
        ("unimodal", {"index": "ukb"}, "index of unimodal cannot be 'ukb'; did you mean \"ucb\""),
        ("unimodal", {"compare": None}, "compare of unimodal cannot be None; known"),
        ("unimodal", {"clock": ["round"]}, "clock of unimodal cannot be"),
        ("sam", {"horizon": 1}, "horizon of sam must be an integer of at least 2, got 1"),
        ("sam", {"horizon": 1e6}, "horizon of sam must be an integer"),
        ("sam", {"horizon": "100"}, "horizon of sam must be an integer"),
        ("sam", {"horizon": True}, "horizon of sam must be an integer"),
        ("unimodal_thompson", {"compare": "player"}, 'did you mean "players"'),
        (
            "unimodal_thompson",
            {"period": 1},
            "period of unimodal_thompson must be an integer of at",
        ),
        ("unimodal_thompson", {"period": 2.0}, "least 2, got 2.0: try 2"),
        ("unimodal_thompson", {"period": 2**53}, r"must be an integer below 2\*\*53"),
        ("epsilon_greedy", {"schedule": "decay"}, 'did you mean "decaying"'),
        ("epsilon_greedy", {"epsilon": 0}, "decaying, must be a positive number, got 0: try 30"),
        ("epsilon_greedy", {"epsilon": float("inf")}, "must be a positive number, got inf"),
        ("epsilon_greedy", {"epsilon": float("nan")}, "must be a positive number, got nan"),
        ("epsilon_greedy", {"epsilon": "x"}, "must be a positive number, got 'x'"),
        ("epsilon_greedy", {"epsilon": True}, "must be a positive number, got True"),
        (
            "epsilon_greedy",
            {"schedule": "constant", "epsilon": 1.5},
            "constant, must be a probability above 0, got 1.5: try 0.05",
        ),
        ("explore_then_commit", {"cycles": 0}, "cycles of explore_then_commit must be an integer"),
        ("explore_then_commit", {"horizon": 1}, "at least 2, got 1: give the number of rounds"),
        (
            "oracle",
            {"rates": (0.5, 1.5)},
            r"oracle must lie in \[0, 1\], got 1.5 for player 1",
        ),
        ("oracle", {"rates": (0.5, float("nan"))}, "rates of oracle"),
        ("oracle", {"rates": (0.5, "x")}, "rates of oracle"),
        ("oracle", {"rates": 0.5}, "rates of oracle"),
    ],
)
def test_a_bad_option_is_refused(name, options, says):
    with pytest.raises(PolicyError, match=says):
        get_policy(name, **options)


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_a_policy_is_made_again_from_its_name_and_options(variant):
    policy = variant.policy([0.5, 0.25])
    assert get_policy(policy.name, **policy.options) == policy


def test_shows_the_options_that_differ():
    assert str(Unimodal()) == "Unimodal()"
    assert str(Unimodal(index="ucb")) == "Unimodal(index='ucb')"
    assert str(SAM(horizon=5)) == "SAM(horizon=5)"
    assert str(Oracle(rates=[1, 0])) == "Oracle(rates=(1.0, 0.0))"


def test_a_registered_policy_is_found(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    @registry.register
    @dataclasses.dataclass(frozen=True)
    class Coin(Uniform):
        name = "coin"
        side: str = "head"

    assert "coin" in policy_names()
    assert get_policy("coin", side="tail") == Coin("tail")


def test_a_policy_without_a_table_never_needs_a_larger_one_and_one_without_a_plan_no_other():
    with pytest.raises(PolicyError, match="a step of sam returned FULL, but the policy has no tab"):
        SAM().grow(None)
    with pytest.raises(PolicyError, match="a step of sam returned STALE, but the policy has no pl"):
        SAM().replan(None)
