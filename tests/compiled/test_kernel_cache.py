"""Machine code of kernels is kept on disk, never stale, and by many processes at once."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pairup
from pairup.compiled import kernel_cache

PACKAGE = Path(pairup.__file__).parent
SOURCES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in ("compiled", "policies")
    for path in (PACKAGE / folder).rglob("*.py")
)
KINDS = ("int8", "int16", "int32", "uint8")
COMPILE = """
import sys
import numpy as np
from pairup.compiled.kernels import slot
print(slot.stats.cache_path, flush=True)
for kind in sys.argv[1:]:
    assert slot(getattr(np, kind)(7)) == 7
print(sum(slot.stats.cache_hits.values()))
"""


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the sources, after which cache folders are named."""
    ignored = shutil.ignore_patterns("__pycache__")
    copied = shutil.copytree(PACKAGE, tmp_path / "pairup", ignore=ignored)
    # Never the real cache: a new folder deletes old ones.
    monkeypatch.setattr(kernel_cache.numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    return copied


def test_a_copy_of_the_sources_shares_the_folder(sources):
    digest = kernel_cache.compile_digest(sources)
    assert kernel_cache.cache_folder(sources).name == f"kernels-{digest}"
    assert digest in kernel_cache.FOLDER


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_in_any_source_changes_the_folder(sources, name):
    before = kernel_cache.cache_folder(sources)
    with (sources / name).open("a") as source:
        source.write("\n")
    assert kernel_cache.cache_folder(sources) != before


def test_every_kernel_that_others_may_inline_is_watched():
    """Elsewhere only one module has kernels: nobody inlines them, and Numba watches that file."""
    elsewhere = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^@(kernel|outlined)$|^provide\(", path.read_text(), re.MULTILINE)
    ]
    assert set(elsewhere) - set(SOURCES) == {"simulation/replication.py"}


def test_a_new_or_a_renamed_source_changes_the_folder(sources):
    folders = {kernel_cache.cache_folder(sources)}
    (sources / "policies" / "zeta.py").touch()
    folders.add(kernel_cache.cache_folder(sources))
    (sources / "policies" / "zeta.py").rename(sources / "policies" / "eta.py")
    folders.add(kernel_cache.cache_folder(sources))
    assert len(folders) == 3


def test_the_oldest_folders_are_deleted(sources, tmp_path):
    root = tmp_path / "cache"
    for age in range(20):
        folder = root / f"kernels-{age}"
        folder.mkdir(parents=True)
        os.utime(folder, (10_000 - age, 10_000 - age))
    (root / "of another library").mkdir()
    kernel_cache.cache_folder().mkdir()
    left = {folder.name for folder in root.iterdir()}
    assert left == {f"kernels-{age}" for age in range(7)} | {
        "of another library",
        kernel_cache.cache_folder().name,
    }


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(tmp_path):
    (tmp_path / "file").touch()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    program = """if True:
        from pairup.compiled.kernels import slot
        print(slot(3), slot.stats.cache_path)
    """
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, env=environment, text=True) == "3 None\n"


READ_ONLY = """
import errno, tempfile
def refuse(*_, **__):
    raise OSError(errno.EROFS, "Read-only file system")
tempfile.TemporaryFile = refuse
"""


def test_machine_code_that_is_shipped_is_found_where_nothing_can_be_written(tmp_path):
    """As in the image of a container; what is compiled there is kept in memory only."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    run = [sys.executable, "-c", COMPILE, "int8"]
    subprocess.check_output(run, env=environment)
    shipped = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    run = [sys.executable, "-c", READ_ONLY + COMPILE, "int8", "int16"]
    found = subprocess.check_output(run, env=environment, text=True).splitlines()
    assert found[0].startswith(str(tmp_path))
    assert found[1] == "1"
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == shipped


def test_a_change_in_another_file_leaves_no_stale_machine_code(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "pairup", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    program = """if True:
        from pairup.compiled.couples.kl_index import exploration_level
        print(exploration_level(10))
    """

    def level():
        command = [sys.executable, "-c", program]
        return float(subprocess.check_output(command, env=environment, text=True, cwd=tmp_path))

    assert level() == pytest.approx(4.8047, abs=1e-4)
    with (tmp_path / "pairup" / "compiled" / "logarithm.py").open("a") as source:
        source.write("\n\n@kernel\ndef log(x):\n    return 7.0\n")
    assert level() == 28.0


def start(environment, *kinds):
    command = [sys.executable, "-c", COMPILE, *kinds]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_processes_save_one_after_the_other_and_find_what_all_saved(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    folder, _ = start(environment, "int64").communicate()[0].split()
    saved = sorted(os.listdir(folder))
    with open(os.path.join(folder, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        processes = [start(environment, kind) for kind in KINDS]
        assert [process.stdout.readline() for process in processes] == [f"{folder}\n"] * len(KINDS)
        time.sleep(1)  # they have compiled, and wait
        assert sorted(os.listdir(folder)) == saved
        assert all(process.poll() is None for process in processes)
    assert [process.communicate()[0] for process in processes] == ["0\n"] * len(KINDS)
    assert start(environment, *KINDS).communicate()[0].split() == [folder, str(len(KINDS))]
