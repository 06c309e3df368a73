"""What is packaged and what is pinned."""

import json
import os
import re
import shutil
import site
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from check_jsonschema.builtin_schemas import get_builtin_schema
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.paths import ROOT
from tests.support.requirements import PROJECT, requirements
from tests.support.service.running import Running

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


PLAY = """
import asyncio, json, sys
from pairup.client import AsyncClient, Client, RefusedError

url = sys.argv[1]
with Client(url) as client:
    client.create_pool("duels", lifetime_s=60)
    client.put_players("duels", dict.fromkeys(["ann", "bob"], "waiting"))
    (game,) = client.propose("duels").games
    client.report(game.id, "played")

async def main():
    async with AsyncClient(url) as client:
        stats = await client.stats("duels")
        assert [each.player async for each in client.players("duels")] == ["ann", "bob"]
        try:
            await client.pool("none")
        except RefusedError as refused:
            return {"played": stats.games.played, "refused": refused.kind}

found = asyncio.run(main())
try:
    from pairup import Unimodal
except ImportError as error:
    found["missing"] = str(error)
modules = [each.__file__ for name, each in sys.modules.items() if name.split(".")[0] == "pairup"]
print(json.dumps({**found, "modules": modules}))
"""


def test_the_client_alone_plays_with_httpx_and_pydantic_only(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    dist, environment = tmp_path / "dist", tmp_path / "environment"
    run = [*pip, "wheel", "--no-deps", "--wheel-dir", dist, ROOT / "packages" / "client"]
    subprocess.run(run, check=True, capture_output=True)
    (wheel,) = dist.glob("pairup_client-*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (folder,) = environment.glob("lib/python*/site-packages")
    pinned = ["-c", ROOT / "requirements" / "dev.txt", "--target", folder]
    subprocess.run([*pip, "install", *pinned, wheel], check=True)
    installed = {each.name.partition("-")[0] for each in folder.glob("*.dist-info")}
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    service = Running(tmp_path)
    try:
        done = subprocess.run(
            [environment / "bin" / "python", "-c", PLAY, service.url],
            cwd=dist,
            env=variables,
            capture_output=True,
            text=True,
        )
    finally:
        service.kill()
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    imported = {str(Path(each).relative_to(folder)) for each in found.pop("modules")}
    assert imported == {str(path.relative_to(folder)) for path in (folder / "pairup").rglob("*.py")}
    assert (folder / "pairup" / "py.typed").exists()
    assert found == {
        "played": 1,
        "refused": "no-such-pool",
        "missing": "pairup-client has no Unimodal: pip install pairup",
    }
    assert {"pairup_client", "httpx", "pydantic"} < installed
    assert installed.isdisjoint({"numba", "numpy", "scipy", "polars", "rich"})


def test_the_client_alone_is_of_this_version():
    client = tomllib.loads((ROOT / "packages" / "client" / "pyproject.toml").read_text())["project"]
    shared = ("version", "license", "authors", "requires-python")
    assert {name: client[name] for name in shared} == {name: PROJECT[name] for name in shared}
    assert client["dependencies"] == PROJECT["optional-dependencies"]["client"]


def test_the_citation_fits_its_schema_and_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    Draft7Validator(get_builtin_schema("vendor.citation-file-format")).validate(citation)
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    (paper,) = citation["references"]
    assert paper["title"] in (ROOT / "README.md").read_text()
    assert paper["url"] == PROJECT["urls"]["Paper"]
    assert paper["url"].endswith(paper["identifiers"][0]["value"].removeprefix("arXiv:"))
