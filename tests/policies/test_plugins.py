"""Third-party policies by name, and on their way to other processes."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import EntryPoint

import pytest

from pairup import (
    SAM,
    ExperimentError,
    Learner,
    PolicyError,
    Problem,
    SavingError,
    get_policy,
    load_experiment,
    policy_names,
    simulate,
)
from pairup.cli.specs import read_policies
from pairup.experiments.work_units import split_into_units
from pairup.policies import describe_policies, import_policy, plugins, register
from tests.support.foreign import ACROSS, BESIDE, MATCHINGS, matching, source


@pytest.fixture
def fixed(foreign_folder):
    """A folder with the module fixed, which has the policy Fixed."""
    foreign_folder.write("fixed", source(BESIDE))
    return foreign_folder


def test_a_policy_is_imported_by_its_place(fixed):
    found = import_policy("fixed:Fixed", fixed.path)
    assert matching(found()) == MATCHINGS[BESIDE]
    assert found.name == "fixed:Fixed"
    assert "fixed:Fixed" in policy_names()
    assert get_policy("fixed:Fixed") == found()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere:Fixed", "cannot be imported, ModuleNotFoundError: No module named 'nowhere'"),
        ("fixed:Missing", r"the policy 'fixed:Missing' is not in .*fixed.py: correct the name"),
        ("fixed:State", "'fixed:State' is not a policy, got <class 'fixed.State'>: name a class"),
        ("broken:Fixed", "'broken:Fixed' cannot be imported, SyntaxError"),
        ("fixd", "no policy is called 'fixd'; known"),
    ],
)
def test_what_cannot_be_imported_is_refused(fixed, name, says):
    fixed.write("broken", "def")
    with pytest.raises(PolicyError, match=says):
        import_policy(name, fixed.path)


def test_a_name_of_ours_cannot_be_taken(fixed):
    fixed.write("thief", source(BESIDE).replace("    draws", "    name = 'sam'\n    draws"))
    with pytest.raises(PolicyError, match="thief:Fixed cannot be called 'sam', as pairup"):
        import_policy("thief:Fixed", fixed.path)
    assert type(get_policy("sam")) is SAM


def test_a_class_that_is_defined_again_replaces_the_earlier_one(fixed):
    first = import_policy("fixed:Fixed", fixed.path)
    fixed.write("fixed", source(ACROSS))
    again = __import__("fixed").Fixed
    assert again is not first
    register(again)
    assert type(get_policy("fixed:Fixed")) is again


def test_installed_packages_offer_policies_by_entry_points(fixed, monkeypatch):
    entries = {
        "in_order": EntryPoint("in_order", "fixed:Fixed", plugins.GROUP),
        "broken": EntryPoint("broken", "nowhere:Fixed", plugins.GROUP),
    }
    monkeypatch.setattr(plugins, "_plugins", lambda: entries)
    sys.path.append(str(fixed.path))
    assert matching(get_policy("in_order")) == MATCHINGS[BESIDE]
    assert "fixed:Fixed" in [row["name"] for row in describe_policies()]
    with pytest.raises(PolicyError, match="'nowhere:Fixed' cannot be imported"):
        get_policy("broken")
    with pytest.raises(PolicyError, match='did you mean "in_order"'):
        get_policy("in_ordr")


def test_a_saved_learner_names_its_policy_and_imports_nothing(fixed):
    learner = import_policy("fixed:Fixed", fixed.path)().learner("abcd")
    data = learner.to_bytes()
    assert Learner.from_bytes(data).propose() == learner.propose()
    fixed.forget("fixed")
    with pytest.raises(SavingError, match="'fixed:Fixed' is not imported: import fixed first"):
        Learner.from_bytes(data)
    sys.path.append(str(fixed.path))
    with pytest.raises(SavingError, match="is not imported"):  # although it could be
        Learner.from_bytes(data)
    __import__("fixed")
    assert Learner.from_bytes(data).players == tuple("abcd")


def test_a_race_takes_policies_of_the_current_folder(fixed, monkeypatch):
    monkeypatch.chdir(fixed.path)
    policies = read_policies(["sam", "fixed:Fixed"])
    assert [str(policy) for policy in policies.values()] == ["SAM()", "Fixed()"]
    with pytest.raises(PolicyError, match="fixed:Fixed has no option 'bonus'"):
        read_policies(["fixed:Fixed:bonus=2"])
    with pytest.raises(ExperimentError, match="'Fixed' in 'sam:Fixed' must be option=value"):
        read_policies(["sam:Fixed"])


EXPERIMENT = """
name = "own"
rounds = 10
replications = 2
[problem]
family = "rates"
rates = [1, 1, 0, 0]
[[policy]]
label = "fixed"
name = "fixed:Fixed"
"""


def test_an_experiment_takes_policies_of_its_folder_and_counts_their_files(fixed):
    (fixed.path / "own.toml").write_text(EXPERIMENT)

    def keys():
        return [unit.key for unit in split_into_units(load_experiment(fixed.path / "own.toml"))]

    first = keys()
    fixed.forget("fixed")
    assert keys() == first
    fixed.forget("fixed")
    fixed.write("fixed", source(ACROSS))
    assert keys() != first


def test_a_process_runs_the_code_that_was_given(fixed):
    """One process gets two versions of one class, of a module that it cannot import."""
    spawn = multiprocessing.get_context("spawn")
    runs = []
    with ProcessPoolExecutor(1, mp_context=spawn) as process:
        for partner in (BESIDE, ACROSS):
            fixed.write("fixed", source(partner))
            sys.path.append(str(fixed.path))
            policy = __import__("fixed").Fixed()
            fixed.forget("fixed")
            problem = Problem([1, 1, 0, 0])
            there = simulate(problem, policy, 10, 4, executor=process)
            here = simulate(problem, policy, 10, 4)
            assert there.regret.tolist() == here.regret.tolist()
            runs.append(there.regret.tolist())
    assert runs[0] != runs[1]
