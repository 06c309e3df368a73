"""CONTRIBUTING describes the code as it is."""

import re
import tomllib

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text()
CONTRACTS = {
    contract["containers"][0]: contract["layers"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    if contract["type"] == "layers"
}


@pytest.mark.parametrize("package", CONTRACTS)
def test_the_layers_are_those_of_the_contract(package):
    """They are rows of a table or, in smaller packages, a line with arrows."""
    table = PAGE.partition(f"| Layers of `{package}`, ")[2].partition("\n\n")[0]
    shown = [re.findall(r"`([\w.]+)`", row.split("|")[1]) for row in table.splitlines()[2:]]
    if not table:
        line = PAGE.partition(f"- `{package}`: ")[2].partition("\n")[0]
        shown = [layer.split(", ") for layer in line.split(" → ")]
    assert shown == [layer.split(" | ") for layer in CONTRACTS[package]]


def test_every_file_that_is_named_exists():
    """A path is that of the clone, or of a module within `src/pairup`."""
    named = re.findall(r"`(\w+(?:/[\w.-]+)+/?)`", PAGE)
    places = (ROOT, ROOT / "src" / "pairup")
    assert named
    assert [path for path in named if not any((place / path).exists() for place in places)] == []
