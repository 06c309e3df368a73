"""The digest of a policy's code covers what determines numbers, and nothing else.

Modules are edited in a copy. Which of them are imported is also found by `grimp`, with which the
import contracts are checked.
"""

import itertools
import shutil
from dataclasses import dataclass
from pathlib import Path

import grimp
import pytest

from pairup import PMED, RankOneThompson, Uniform, Unimodal
from pairup.compiled import source_digest
from pairup.policies.plugins import code_digest, source_of
from tests.support.paths import SOURCES

RUN, SERVE = "pairup.simulation.playthrough", "pairup.learning.learner"
DOOR = ("pairup.policies.contract", "pairup.learning.learner")  # for whoever holds a policy

DETERMINING = (
    "pairup.matching",
    "pairup.weighted_matching",
    "pairup.problem.families",
    "pairup.compiled.randomness",
    "pairup.compiled.simulation_loop",
    "pairup.simulation.replication",
    "pairup.policies.unimodal.kl_steps",
    "pairup.policies.unimodal.ucb_steps",
)
NOT_DETERMINING = (
    "pairup.cli.app",
    "pairup.reporting.page",
    "pairup.analysis.standings",
    "pairup.experiments.storage",
    "pairup.service.app",
    "pairup.policies.sam",
    "pairup.learning.learner",
    "pairup.simulation.batches.batch",
    "pairup",
    "pairup.policies",
)


@dataclass(frozen=True)
class Mine(Uniform):
    """A third-party policy."""


@pytest.fixture(scope="module")
def imports():
    graph = grimp.build_graph("pairup", exclude_type_checking_imports=True, cache_dir=None)
    graph.remove_import(importer=DOOR[0], imported=DOOR[1])
    return graph


class Copy:
    """A copy of the package, of which digests are taken by ever new names: each is cached."""

    def __init__(self, folder):
        self._package, self._names = folder / "pairup", itertools.count()
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCES / "pairup", self._package, ignore=ignored)

    def file(self, module):
        path = self._package.joinpath(*module.split(".")[1:])
        return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")

    def digest(self, monkeypatch, policy_class, module):
        link = self._package.with_name(f"link{next(self._names)}")
        link.symlink_to(self._package, target_is_directory=True)
        monkeypatch.setitem(source_digest.computation_digest.__kwdefaults__, "package", link)
        return code_digest(policy_class, module)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("copy"))


@pytest.fixture
def changes(copy, monkeypatch):
    """A function that tells whether a digest changes when each of some modules is edited."""

    def find(edit, modules, policy_class=Unimodal, root=RUN):
        before, found = copy.digest(monkeypatch, policy_class, root), set()
        for module in modules:
            text = copy.file(module).read_text()
            copy.file(module).write_text(edit(text))
            if copy.digest(monkeypatch, policy_class, root) != before:
                found.add(module)
            copy.file(module).write_text(text)
        return found

    return find


def computing(text):
    return f"{text}\nMORE = 1\n"


def reworded(text):
    return text.replace('"""', '"""In other words. ', 1)


def imported(graph, *modules):
    """Return what modules import, packages left out: they only give names to others."""
    found = set(modules).union(*(graph.find_upstream_modules(each) for each in modules))
    return {each for each in found if not (SOURCES.joinpath(*each.split("."))).is_dir()}


@pytest.mark.parametrize(
    ("policy_class", "root"), [(Unimodal, RUN), (PMED, RUN), (Mine, RUN), (RankOneThompson, SERVE)]
)
def test_an_edit_of_any_module_that_is_imported_changes_it(imports, changes, policy_class, root):
    homes = {each.__module__ for each in policy_class.__mro__ if "pairup." in each.__module__}
    modules = imported(imports, root, *homes)
    assert changes(computing, modules, policy_class, root) == modules


def test_modules_that_determine_numbers_are_among_them(changes):
    assert changes(computing, DETERMINING) == set(DETERMINING)


def test_modules_that_cannot_determine_numbers_do_not_count(changes):
    assert changes(computing, NOT_DETERMINING) == set()


def test_other_words_do_not_count(imports, changes):
    assert changes(reworded, imported(imports, RUN, Unimodal.__module__)) == set()


def test_a_third_party_policy_counts_all_that_it_may_take_from_pairup(changes):
    modules = {"pairup.extending", "pairup.compiled.distributions", "pairup.policies.contract"}
    assert changes(computing, modules, Mine) == modules
    assert source_of(Mine) == Path(__file__).read_bytes()
