"""What is packaged and what is pinned."""

import re
import tomllib

from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.paths import ROOT
from tests.support.requirements import PROJECT, requirements

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
GENERATED = {".py", ".pyc", ".nbi", ".nbc"}
UNCHECKED = {"cuda"}  # extras that `make test` does without: this one needs a GPU
EXTRAS = PROJECT["optional-dependencies"].keys() - UNCHECKED


def test_every_file_beside_the_code_is_packaged():
    package = ROOT / "src" / "pairup"
    globs = SETUPTOOLS["package-data"]["pairup"]
    packaged = {path for each in globs for path in package.glob(each)}
    found = {path for path in package.rglob("*") if path.is_file()}
    assert {path for path in found if path.suffix not in GENERATED} == packaged


def pins(name):
    """Return the requirements of a file, by name, each of which allows one version."""
    lines = (ROOT / "requirements" / name).read_text().splitlines()
    found = {each.name.lower().replace("_", "-"): each for each in map(Requirement, lines)}
    assert {spec.operator for each in found.values() for spec in each.specifier} == {"=="}
    return found


def version(requirement, operator):
    (found,) = (each.version for each in requirement.specifier if each.operator == operator)
    return Version(found)


def test_every_tool_of_the_checks_is_pinned():
    assert requirements(*EXTRAS).keys() - pins("dev.txt").keys() == {"pairup"}


def test_the_lowest_versions_that_are_tested_are_those_that_are_allowed():
    asked = requirements(*(EXTRAS - {"dev"})) | {"pytest": requirements("dev")["pytest"]}
    pinned = pins("lowest.txt")
    assert pinned.keys() == asked.keys()
    for name, each in asked.items():
        assert version(pinned[name], "==") == version(each, ">="), name
        assert pinned[name].extras == each.extras


def test_the_lowest_versions_are_tested_of_every_extra():
    """Of the whole package but what needs a GPU."""
    makefile = (ROOT / "Makefile").read_text()
    (installed,) = re.findall(r"-r requirements/lowest\.txt -e '\.\[(.+)\]'", makefile)
    assert set(installed.split(",")) == EXTRAS - {"dev"}
