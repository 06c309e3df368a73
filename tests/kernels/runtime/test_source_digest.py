"""A digest of what sources compute changes with numbers and code, not with words."""

import pytest

from pairup.kernels.runtime.source_digest import bytes_digest, computation_digest

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


def digest(tmp_path, source, of=computation_digest, name="module.py"):
    path = tmp_path / name
    path.write_text(source)
    return of(tmp_path, [path])


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


def test_the_order_of_files_does_not_count(tmp_path):
    paths = [tmp_path / name for name in ("a.py", "b.py")]
    for path in paths:
        path.write_text(SOURCE)
    for of in (bytes_digest, computation_digest):
        assert of(tmp_path, paths) == of(tmp_path, reversed(paths))
