"""A second version of the package: a copy of its sources in which some lines are changed."""

import shutil
from contextlib import contextmanager, suppress

from pairup.compiled.kernel_cache import cache_folder
from pairup.compiled.numba_internals import cache_subpath
from tests.support.paths import SOURCES

# Another policy, which proposes other matchings, and another form of snapshots. None of these files
# has a kernel, so that nothing has to be compiled.
OTHER_POLICY = ("pairup/policies/rank_one/rank_one_thompson.py", "_GOLDEN = 0.618", "_GOLDEN = 0.3")
OTHER_ORDER = ("pairup/policies/couple_policies.py", "state.keys[0])", "state.keys[1])")
OTHER_SNAPSHOTS = ("pairup/service/domain/snapshot.py", '_FORMAT = b"', '_FORMAT = b"other ')


@contextmanager
def other_version(folder, *changes):
    """Copy the sources into a folder, and change them; yields where they are."""
    sources = folder / "src"
    shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__"))
    for file, old, new in changes:
        text = (sources / file).read_text("utf-8")
        assert old in text, f"{file} has no {old!r}"
        (sources / file).write_text(text.replace(old, new), "utf-8")
    links = _share_machine_code(sources)
    yield sources
    for link in links:
        link.unlink(missing_ok=True)
    with suppress(OSError):  # another test may have such a version too
        cache_folder(sources / "pairup").rmdir()


def _share_machine_code(sources):
    """Let the copy find the machine code of kernels that are the same; Numba keeps it by folder."""
    links = []
    for folder in {file.parent for file in (SOURCES / "pairup").rglob("*.py")}:
        ours = cache_folder() / cache_subpath(str(folder / "any.py"))
        theirs = cache_folder(sources / "pairup") / cache_subpath(
            str(sources / folder.relative_to(SOURCES) / "any.py")
        )
        ours.mkdir(parents=True, exist_ok=True)
        theirs.parent.mkdir(exist_ok=True)
        theirs.symlink_to(ours, target_is_directory=True)
        links.append(theirs)
    return links
