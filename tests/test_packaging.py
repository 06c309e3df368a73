"""What is packaged and what is pinned."""

import os
import re
import shutil
import site
import subprocess
import sys
import tomllib

import pytest
import yaml
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


@pytest.fixture
def installed(tmp_path):
    """An environment of its own with the wheel of pairup; its libraries are those of the tests."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    environment, pip = tmp_path / "environment", [sys.executable, "-m", "pip", "--quiet"]
    run = [*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path / "dist", tmp_path]
    subprocess.run(run, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("pairup-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (folder,) = environment.glob("lib/python*/site-packages")
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", "--target", folder, wheel], check=True
    )
    (folder / "libraries.pth").write_text("\n".join(site.getsitepackages()))
    return environment


def test_the_wheel_runs_the_lines_of_the_readme(installed, tmp_path):
    page = (ROOT / "README.md").read_text()
    code, shown = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.S).groups()
    where = "import pairup; print(pairup.__file__)"
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [installed / "bin" / "python", "-c", f"{where}\n{code}"],
        cwd=tmp_path / "dist",
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    place, _, printed = done.stdout.partition("\n")
    assert place.startswith(str(installed))
    assert printed == shown


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert paper["title"] in (ROOT / "README.md").read_text()
    assert paper["url"] == PROJECT["urls"]["Paper"]
    assert paper["url"].endswith(paper["identifiers"][0]["value"].removeprefix("arXiv:"))
