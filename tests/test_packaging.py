"""What is packaged and what is pinned."""

import itertools
import tomllib

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GENERATED = {".py", ".pyc", ".nbi", ".nbc"}
UNCHECKED = {"cuda"}  # extras that `make test` does without: this one needs a GPU


def test_every_file_beside_the_code_is_packaged():
    package = ROOT / "src" / "pairup"
    globs = PROJECT["tool"]["setuptools"]["package-data"]["pairup"]
    packaged = {path for each in globs for path in package.glob(each)}
    found = {path for path in package.rglob("*") if path.is_file()}
    assert {path for path in found if path.suffix not in GENERATED} == packaged


def test_every_tool_of_the_checks_is_pinned():
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines()
    }
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    checked = (extras[extra] for extra in extras.keys() - UNCHECKED)
    asked = itertools.chain(project["dependencies"], *checked)
    names = {each.partition(">=")[0].partition("[")[0].lower() for each in asked}
    assert names - pinned == {"pairup"}
