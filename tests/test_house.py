"""Rules of the house: the size of files, and turns of phrase to avoid.

English in docstrings, messages and documentation is natural and technical, as in the documentation
of NumPy or PostgreSQL. The patterns below catch what has crept in before.
"""

import ast
import re

import pytest

from tests.support.paths import ROOT

SOURCES = sorted((ROOT / "src").rglob("*.py"))
MAX_LINES = 500  # of a file, unless its docstring gives the reason

TEXTS = [
    *SOURCES,
    *sorted((ROOT / "benchmarks").glob("*.py")),
    *sorted((ROOT / "scripts").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.html")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile")),
]

UNIT = "(?:ns|us|µs|ms|nanoseconds|microseconds|bytes|one)"
THING = "(?:round|player|couple|pool|policy|core|second|block|replication|problem|line|file|row)"
COMPARED = r"(?:longer|more|less|fewer|other|one|\w+er than)\b"

# Each pattern with what to write instead.
AVOIDED = {
    r"\banew\b": "again, from scratch",
    r"\bfor ever\b": "forever",
    r"\bin vain\b": "without effect",
    r"\bof old\b": "earlier",
    r"\blest\b": "so that ... not",
    r"\ba plenty\b": "many, enough",
    r"\b(?:is|are|be|remain|those) awaited\b(?<!to be awaited)": "pending",
    rf"(?<!here )\b(?:is|are|was|were) no (?!{COMPARED})[a-z]": "is not a ...",
    r"(?<!here )\b(?:is|are|was|were) none\b": "is not one of ...",
    rf"\b{UNIT} a {THING}\b(?! takes| costs)": "per ...",
    r", say\b(?=[.,;:)]|$)": "for example",
    r"\b(?:most|least)_(?!common)[a-z]{3,}(?= ?[=:(])": "max_..., min_...",
}


@pytest.mark.parametrize("pattern", AVOIDED, ids=lambda pattern: AVOIDED[pattern])
def test_english_is_natural(pattern):
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in TEXTS
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(pattern, re.sub("{%.*?%}", "", line))  # Jinja has words of its own
    ]
    assert not found, f"write {AVOIDED[pattern]!r} instead:\n" + "\n".join(found)


def test_a_long_file_gives_its_reason():
    """Its docstring says "in one file because ..."."""
    long = {file: len(file.read_text().splitlines()) for file in SOURCES}
    unexplained = {
        str(file.relative_to(ROOT)): lines
        for file, lines in long.items()
        if lines > MAX_LINES and "one file because" not in _docstring(file)
    }
    assert unexplained == {}


def test_methods_of_policies_are_annotated():
    """Mypy asks for it everywhere else: compiled steps, which have none, stand beside policies."""
    bare = [
        f"{file.relative_to(ROOT)}: {each.name}.{method.name}"
        for file in SOURCES
        if "policies" in file.relative_to(ROOT).parts
        for each in ast.walk(ast.parse(file.read_text()))
        if isinstance(each, ast.ClassDef)
        for method in each.body
        if isinstance(method, ast.FunctionDef) and not _is_annotated(method)
    ]
    assert bare == []


def _is_annotated(method):
    given = method.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    named = [each for each in arguments if each and each.arg not in ("self", "cls")]
    return method.returns is not None and all(each.annotation for each in named)


def _docstring(file):
    found = re.match(r'\s*r?"""(.*?)"""', file.read_text(), re.S)
    return " ".join(found[1].split()) if found else ""


@pytest.mark.parametrize("package", ["benchmarks", "scripts.figures"])
def test_commands_that_pages_name_exist(package):
    command = rf"python\s+-m\s+{re.escape(package)}[. ]([a-z_]+)"
    named = {name for file in TEXTS for name in re.findall(command, file.read_text())}
    folder = ROOT / package.replace(".", "/")
    assert named
    assert named - {file.stem for file in folder.glob("*.py")} == set()


def test_docstrings_begin_with_what_a_function_does():
    """Return, Compute, Check, Raise ... and not Give, Let, Say or Hear."""
    files = [file for file in TEXTS if file.suffix == ".py"]
    begin = re.compile(r'"""(?:Give|Let|Say|Hear)s?\b')
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if begin.search(line)
    ]
    assert found == []
