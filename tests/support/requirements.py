"""What pyproject.toml asks for: the versions of libraries that pairup works with."""

import ast
import pkgutil
import tomllib
from importlib.metadata import version

from packaging.requirements import Requirement

from tests.support.paths import ROOT, SOURCES

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirements(*extras):
    """Return what the package and some of its extras ask for, by name."""
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][each] for each in extras)]
    return {each.name: each for lines in lists for each in map(Requirement, lines)}


def bound(library):
    """Return what pyproject.toml says of the versions of a library."""
    found = requirements(*PROJECT["optional-dependencies"])[library]
    return f"{library}{found.specifier}"


def imported_names(library, file):
    """Return the full names of what a file of the package imports from a library."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse((SOURCES / "pairup" / file).read_text()))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(f"{library}.")
        for alias in node.names
    ]


def check_internals(library, file, needed):
    """Fail if the library that is installed lacks what a file uses of its internals.

    `needed` has for each use a full name, or a function that tells whether all is as expected.
    """
    missing = [name for name, is_there in needed.items() if not _holds(is_there)]
    assert not missing, (
        f"{library} {version(library)} is not what src/pairup/{file} needs. Missing or changed: "
        f"{', '.join(missing)}. Adapt it, or move the bound {bound(library)} in pyproject.toml"
    )


def _holds(is_there):
    try:
        return pkgutil.resolve_name(is_there) if isinstance(is_there, str) else is_there()
    except (AttributeError, ImportError, KeyError, TypeError):
        return False
