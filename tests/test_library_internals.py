"""Internals of a library are used in one file each, and versions that were not tried are refused.

What each of the files relies on is named in `test_numba_internals.py`, `test_uvicorn_internals.py`
and, where numba-cuda is installed, in `gpu_tests/test_numba_cuda_internals.py`.
"""

import ast

import pytest
from packaging.requirements import Requirement

from tests.support.paths import ROOT, SOURCES
from tests.support.requirements import PROJECT, requirements

HOMES = {  # of internals; the longest name that fits counts
    "numba": "compiled/numba_internals.py",
    "numba.cuda": "simulation/batches/cuda_target.py",
    "llvmlite": "simulation/batches/cuda_target.py",
    "uvicorn": "service/connections.py",
}
DOCUMENTED = {
    "numba.__version__",
    "numba.boolean",
    "numba.config",
    "numba.extending.intrinsic",
    "numba.extending.overload",
    "numba.int64",
    "numba.njit",
    "numba.types",
    "numba.typeof",
    "uvicorn.Config",
    "uvicorn.Server",
}
ATTRIBUTES = {  # of Numba's objects
    "_cache_file",
    "_numba_type_",
    "instance_class",
    "nopython_signatures",
    "targetoptions",
}
FILES = sorted((SOURCES / "pairup").rglob("*.py"))


def used_names(tree):
    """Return the dotted names of libraries that a module imports, and what it takes from them."""
    names, local = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                local[alias.asname or top] = alias.name if alias.asname else top
                names.add(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                local[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                names.add(f"{node.module}.{alias.name}")
    return names | {name for node in ast.walk(tree) if (name := _dotted(node, local))}


def _dotted(node, local):
    """Return the full name of an attribute of something imported, or of a part of it."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if parts and isinstance(node, ast.Name) and node.id in local:
        return ".".join([local[node.id], *parts])
    return None


def used_internals(text):
    """Return the internals that a source uses, each with the file that they belong in."""
    tree, found = ast.parse(text), {}
    for name in used_names(tree):
        homes = [home for home in HOMES if f"{name}.".startswith(f"{home}.")]
        parents = [each for each in DOCUMENTED if f"{name}.".startswith(f"{each}.")]
        is_package = any(each.startswith(f"{name}.") for each in DOCUMENTED)
        if homes and not parents and not is_package:
            found[name] = HOMES[max(homes, key=len)]
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "value", None))  # also of getattr(x, "name")
        if isinstance(name, str) and name in ATTRIBUTES:
            found[name] = HOMES["numba"]
    return found


def test_internals_are_used_in_one_file_each():
    stray = {
        f"{path}: {name}, which belongs in {home}"
        for file in FILES
        if (path := file.relative_to(SOURCES / "pairup").as_posix())
        for name, home in used_internals(file.read_text()).items()
        if path != home
    }
    assert stray == set()


def test_the_files_of_internals_use_some():
    for path in set(HOMES.values()):
        assert path in used_internals((SOURCES / "pairup" / path).read_text()).values()


@pytest.mark.parametrize(
    "text",
    [
        "from numba.core import config",
        "import numba.core.caching",
        "import numba\nnumba.core.errors.NumbaError",
        "from numba import core as inside",
        "from numba import cloudpickle",
        "from numba.extending import models",
        "from numba import cuda",
        "from numba.cuda.cudadrv import nvvm",
        "from llvmlite import ir",
        "import uvicorn\nuvicorn.supervisors.Multiprocess",
        "from uvicorn.protocols.http.h11_impl import H11Protocol",
        "getattr(step, 'targetoptions', None)",
        "step.nopython_signatures",
    ],
)
def test_internals_are_found_however_they_are_imported(text):
    assert used_internals(text)


@pytest.mark.parametrize(
    "text",
    [
        "import numba\nnumba.config.CACHE_DIR",
        "from numba import njit, types\ntypes.Integer",
        "from numba.extending import overload",
        "import uvicorn\nuvicorn.Server(uvicorn.Config(app)).run()",
        "from pairup.compiled.numba_internals import OPTIONS",
    ],
)
def test_what_is_documented_may_be_used_anywhere(text):
    assert not used_internals(text)


@pytest.mark.parametrize("library", ["numba", "numba-cuda", "uvicorn"])
def test_versions_that_were_not_tried_are_refused(library):
    bounds = requirements(*PROJECT["optional-dependencies"])[library].specifier
    assert {each.operator for each in bounds} == {">=", "<"}


@pytest.mark.parametrize("library", ["numba", "uvicorn"])
def test_the_newest_version_that_is_allowed_is_the_one_that_checks_run_with(library):
    """A bound above it would allow what was never tried, one below it what is tried."""
    pins = map(Requirement, (ROOT / "requirements" / "dev.txt").read_text().splitlines())
    (pinned,) = (next(iter(each.specifier)).version for each in pins if each.name == library)
    major, minor = pinned.split(".")[:2]
    bounds = requirements(*PROJECT["optional-dependencies"])[library].specifier
    assert f"<{major}.{int(minor) + 1}" in map(str, bounds)
