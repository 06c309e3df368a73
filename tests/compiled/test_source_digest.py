"""A digest of what sources compute changes with numbers and code, not with words."""

import itertools
import subprocess
import sys

import pytest

from pairup.compiled.source_digest import bytes_digest, computation_digest

SOURCE = '''"""A module."""

from errors import PolicyError


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
    "array of another type": (
        '"games"), 4, int) | new_arrays((',
        '), 4, int) | new_arrays(("games", ',
    ),
}


_numbers = itertools.count()


def digest(tmp_path, source, of=computation_digest, name="module.py"):
    folder = tmp_path / str(next(_numbers))  # a digest of a folder is computed once
    folder.mkdir()
    (folder / name).write_text(source)
    return of(folder, "*.py")


@pytest.mark.parametrize("change", SAME)
def test_words_and_layout_do_not_change_what_is_computed(tmp_path, change):
    reworded = SOURCE.replace(*SAME[change])
    assert reworded != SOURCE
    assert digest(tmp_path, reworded) == digest(tmp_path, SOURCE)
    assert digest(tmp_path, reworded, bytes_digest) != digest(tmp_path, SOURCE, bytes_digest)


@pytest.mark.parametrize("change", OTHER)
def test_numbers_and_code_change_what_is_computed(tmp_path, change):
    changed = SOURCE.replace(*OTHER[change])
    assert changed != SOURCE
    assert digest(tmp_path, changed) != digest(tmp_path, SOURCE)


def test_the_name_of_a_file_counts(tmp_path):
    assert digest(tmp_path, SOURCE, name="other.py") != digest(tmp_path, SOURCE)


@pytest.mark.parametrize("of", [bytes_digest, computation_digest])
def test_the_order_and_the_overlap_of_patterns_do_not_count(tmp_path, of):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(SOURCE)
    whole = of(tmp_path, "*.py")
    assert of(tmp_path, "b.py", "a.py") == of(tmp_path, "a.py", "b.py") == whole
    assert of(tmp_path, "*.py", "a.py") == whole
    assert of(tmp_path, "a.py") != whole


# In a process of its own, which has computed no digest yet: the parser refuses to be entered by two
# threads at the same time, as that of Python 3.11 does at times.
THREADS = """
import ast, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

from pairup import Unimodal
from pairup.experiments.work_units import code_digest
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
ask = {"run": code_digest, "serve": lambda: current_version(Unimodal())["code"]}
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
    assert done.stdout == f"{digests} {digests}\n", done.stderr
