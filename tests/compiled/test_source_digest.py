"""A digest of what sources compute changes with numbers and code, not with words."""

import itertools
import subprocess
import sys

import pytest

from pairup.compiled import state_fields
from pairup.compiled.source_digest import bytes_digest, computation_digest

SOURCE = '''"""A module."""

from errors import PolicyError

COUPLES = "slots * (slots - 1) // 2"


class State(NamedTuple):
    """A state of a policy."""

    tries: np.ndarray = Integers("slots, slots")
    drawn: np.ndarray = Reals(f"2, {COUPLES}")


def rate(count, kind="kl"):
    """Return the rate of a count."""
    if count < 2:
        raise PolicyError(f"count must be at least 2, got {count}: try 2")
    require(count < 100, "there are too many")
    state = new_arrays(("tries", "games"), 4, int) | new_arrays(("mean",), 4, float)
    return 0.5 * count  # halved
'''

SAME = {
    "docstring": ("Return the rate of a count.", "Give the rate that a count has."),
    "docstring of a class": ("A state of a policy.", "The state of some policy."),
    "module docstring": ("A module.", "What this module is for."),
    "comment": ("  # halved", "  # by two"),
    "message": ("count must be at least 2, got", "give 2 or more, not"),
    "message of a call": ("there are too many", "fewer than 100 are allowed"),
    "layout": ("0.5 * count", "(0.5\n        * count)"),
}
OTHER = {
    "constant": ("0.5", "0.25"),
    "condition": ("count < 2", "count <= 2"),
    "option": ('"kl"', '"ucb"'),
    "name": ("rate(count", "share(count"),
    "error": ("PolicyError(f", "ValueError(f"),
    "size of an array": ('"slots, slots"', '"slots, slots + 1"'),
    "part of a size": ('f"2, {', 'f"3, {'),
    "size that is named": ("(slots - 1) // 2", "(slots + 1) // 2"),
    "array of another type": (
        '"games"), 4, int) | new_arrays((',
        '), 4, int) | new_arrays(("games", ',
    ),
}


_numbers = itertools.count()


def digest(tmp_path, source, name="module", **others):
    """Return the digest of a module in a package of its own: each is computed once."""
    package = tmp_path / str(next(_numbers))
    for each, text in {name: source, **others}.items():
        path = package.joinpath(*each.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return computation_digest(f"pairup.{name}", package=package)


@pytest.mark.parametrize("change", SAME)
def test_words_and_layout_do_not_change_what_is_computed(tmp_path, change):
    reworded = SOURCE.replace(*SAME[change])
    assert reworded != SOURCE
    assert digest(tmp_path, reworded) == digest(tmp_path, SOURCE)


@pytest.mark.parametrize("change", OTHER)
def test_numbers_and_code_change_what_is_computed(tmp_path, change):
    changed = SOURCE.replace(*OTHER[change])
    assert changed != SOURCE
    assert digest(tmp_path, changed) != digest(tmp_path, SOURCE)


KINDS = [
    name
    for name, kind in vars(state_fields).items()
    if name[0].isupper() and getattr(kind, "__module__", "") == state_fields.__name__
]


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_of_each_kind_of_field_counts(tmp_path, kind):
    first, second = (digest(tmp_path, f'x = {kind}("{size}")') for size in ("2, 3", "2, 4"))
    assert first != second


def test_the_name_of_a_file_counts(tmp_path):
    assert digest(tmp_path, SOURCE, name="other") != digest(tmp_path, SOURCE)


FOLLOWED = {
    "from": "from pairup.part import x",
    "from, renamed": "from pairup.part import x as y",
    "import": "import pairup.part",
    "module of the package": "from pairup import part",
    "module of a package": "from pairup.inner import part",
    "name of a package": "from pairup.inner import x",
    "name of a package, from a package": "from pairup.outer import x",
    "alternative": "try:\n    from pairup.part import x\nexcept ImportError:\n    x = 0",
    "last resort": "try:\n    x = a\nexcept NameError:\n    from pairup.part import x",
    "at run time": "if TYPE_CHECKING:\n    x = 0\nelse:\n    from pairup.part import x",
    "condition": "if True:\n    x = 0\nelse:\n    from pairup.part import x",
    "module that imports it": "from pairup.bridge import y",
}
NOT_FOLLOWED = {
    "annotation": "if TYPE_CHECKING:\n    from pairup.part import x",
    "door": "def learner():\n    from pairup.part import x",
    "package around": "from pairup.inner.other import z",
    "other name of a package": "from pairup.inner import z",
    "another library": "from part import x",
}


def digest_with_parts(tmp_path, source, part):
    """Return the digest of a module; those that others may import are `part`."""
    others = {
        "part": part,
        "inner.part": part,
        "inner.other": "z = 1",
        "inner.__init__": "from pairup.inner.part import x\nfrom pairup.inner.other import z",
        "outer.__init__": "from pairup.inner import x",
        "bridge": "from pairup.part import x\ny = x",
        "__init__": part,
    }
    return digest(tmp_path, source, **others)


@pytest.mark.parametrize("kind", FOLLOWED)
def test_what_a_module_imports_counts(tmp_path, kind):
    first, second = (digest_with_parts(tmp_path, FOLLOWED[kind], f"x = {x}") for x in (1, 2))
    assert first != second


@pytest.mark.parametrize("kind", NOT_FOLLOWED)
def test_what_it_does_not_import_does_not_count(tmp_path, kind):
    first, second = (digest_with_parts(tmp_path, NOT_FOLLOWED[kind], f"x = {x}") for x in (1, 2))
    assert first == second


def test_modules_may_import_each_other(tmp_path):
    one, other = "from pairup.other import x", "from pairup.module import y"
    assert digest(tmp_path, one, other=other) != digest(tmp_path, one, other=other + "\nx = 1")


def test_the_order_and_the_overlap_of_patterns_do_not_count(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(SOURCE)
    whole = bytes_digest(tmp_path, "*.py")
    assert bytes_digest(tmp_path, "b.py", "a.py") == bytes_digest(tmp_path, "a.py", "b.py") == whole
    assert bytes_digest(tmp_path, "*.py", "a.py") == whole
    assert bytes_digest(tmp_path, "a.py") != whole
    (tmp_path / "a.py").write_text(SOURCE + "# a comment")
    assert bytes_digest(tmp_path, "*.py") != whole


# In a process of its own, which has computed no digest yet: the parser refuses to be entered by two
# threads at the same time, as that of Python 3.11 does at times.
THREADS = """
import ast, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

from pairup import Unimodal
from pairup.policies.plugins import code_digest
from pairup.service.domain.version import current_version

parse, busy, parsed = ast.parse, threading.Lock(), []

def parse_alone(text):
    assert busy.acquire(blocking=False), "two threads parse at the same time"
    parsed.append(text)
    time.sleep(0.001)  # so that others come in, if they can
    try:
        return parse(text)
    finally:
        busy.release()

ast.parse = parse_alone
ask = {
    "run": lambda: code_digest(Unimodal, "pairup.simulation.playthrough"),
    "serve": lambda: current_version(Unimodal())["code"],
}
asked = [ask[each] for each in sys.argv[1:]]
with ThreadPoolExecutor(len(asked)) as threads:
    found = [each.result() for each in [threads.submit(each) for each in asked]]
print(len(set(found)), max(map(parsed.count, parsed)))
"""


@pytest.mark.parametrize(
    ("asked", "digests"),
    [(["run"] * 4, 1), (["serve"] * 4, 1), (["run", "serve"] * 2, 2)],
    ids=["workers of a run", "requests of a service", "both"],
)
def test_threads_that_ask_at_the_same_time_parse_once_and_one_after_the_other(asked, digests):
    done = subprocess.run(
        [sys.executable, "-c", THREADS, *asked], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{digests} 1\n", done.stderr
