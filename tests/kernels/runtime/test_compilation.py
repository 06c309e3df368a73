import contextlib
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pairup
from pairup.kernels.runtime import compilation
from pairup.kernels.runtime.compilation import slot

PACKAGE = Path(pairup.__file__).parent
KERNELS = PACKAGE / "kernels"
SOURCES = sorted(path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob("*.py"))


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the kernels' sources, which the cache folder is now named after."""
    copied = shutil.copytree(KERNELS, tmp_path / "kernels")
    monkeypatch.setattr(compilation, "_SOURCES", copied)
    # Never the real cache: a new folder deletes old ones.
    monkeypatch.setattr(compilation.config, "CACHE_DIR", str(tmp_path / "cache"))
    return copied


def test_a_copy_of_the_sources_shares_the_folder(sources):
    digest = compilation.compile_digest()
    assert compilation.cache_folder().name == f"kernels-{digest}"
    assert digest in compilation._FOLDER


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_in_any_source_changes_the_folder(sources, name):
    before = compilation.cache_folder()
    with (sources / name).open("a") as source:
        source.write("\n")
    assert compilation.cache_folder() != before


def test_a_new_or_a_renamed_source_changes_the_folder(sources):
    folders = {compilation.cache_folder()}
    (sources / "zeta.py").touch()
    folders.add(compilation.cache_folder())
    (sources / "zeta.py").rename(sources / "eta.py")
    folders.add(compilation.cache_folder())
    assert len(folders) == 3


def test_the_oldest_folders_are_deleted(sources, tmp_path):
    root = tmp_path / "cache"
    for age in range(20):
        folder = root / f"kernels-{age}"
        folder.mkdir(parents=True)
        os.utime(folder, (10_000 - age, 10_000 - age))
    (root / "of another library").mkdir()
    compilation.cache_folder().mkdir()
    left = {folder.name for folder in root.iterdir()}
    assert left == {f"kernels-{age}" for age in range(7)} | {
        "of another library",
        compilation.cache_folder().name,
    }


def test_compiling_leaves_the_cache_of_other_libraries_alone(sources):
    folder = compilation.config.CACHE_DIR
    compilation.kernel(lambda x: x + 1)
    assert folder == compilation.config.CACHE_DIR


def test_a_kernel_is_compiled_for_python_only_if_python_calls_it():
    @compilation.kernel
    def halved(x):
        return x / 2

    @compilation.kernel
    def quartered(x):
        return halved(halved(x))

    assert quartered(10) == 2.5
    assert halved.signatures == []
    assert len(halved._inner.signatures) == 2  # of an integer, of a float
    assert halved(10) == 5
    assert len(halved.signatures) == 1


def test_a_kernel_that_was_pickled_is_called_by_kernels_of_another_process():
    program = """if True:
        import pickle, sys
        from pairup.kernels.runtime.compilation import kernel
        slot = pickle.load(sys.stdin.buffer)
        print(slot(3), kernel(lambda x: slot(x) + 1)(3))
    """
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, input=pickle.dumps(slot)) == b"3 4\n"


def test_where_nothing_can_be_written_kernels_are_compiled_all_the_same(tmp_path):
    (tmp_path / "file").touch()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache")}
    program = """if True:
        from pairup.kernels.runtime.compilation import is_on_disk, kernel, slot
        print(slot(3), slot.stats.cache_path, is_on_disk(slot))
    """
    command = [sys.executable, "-c", program]
    assert subprocess.check_output(command, env=environment, text=True) == "3 None False\n"


def test_a_change_in_another_file_leaves_no_stale_machine_code(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "pairup", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    program = "from pairup.kernels.kl_index import exploration_level; print(exploration_level(10))"

    def level():
        command = [sys.executable, "-c", program]
        return float(subprocess.check_output(command, env=environment, text=True, cwd=tmp_path))

    assert level() == pytest.approx(4.8047, abs=1e-4)
    with (tmp_path / "pairup" / "kernels" / "runtime" / "logarithm.py").open("a") as source:
        source.write("\n\n@kernel\ndef log(x):\n    return 7.0\n")
    assert level() == 28.0


def on_terminal(command, **options):
    """Run a command with standard error on a terminal; returns what it wrote there."""
    master, slave = os.openpty()
    subprocess.run(command, stderr=slave, stdout=subprocess.DEVNULL, check=True, **options)
    os.close(slave)
    with contextlib.suppress(OSError), open(master, "rb", closefd=True) as terminal:
        return terminal.read1(10_000).decode()
    return ""  # a terminal that nobody wrote to cannot be read once it is closed


def test_compiling_is_announced_once_on_a_terminal_and_not_from_a_warm_cache(tmp_path):
    program = "from pairup.kernels.kl_index import kl, slope_at; kl(0.1, 0.2); slope_at(0, 2, 0)"
    command = [sys.executable, "-c", program]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert on_terminal(command, env=environment).count("pairup: compiling") == 1
    assert "pairup" not in on_terminal(command, env=environment)


def test_compiling_is_not_announced_where_there_is_no_terminal(tmp_path):
    command = [sys.executable, "-c", "from pairup.kernels.kl_index import kl; kl(0.1, 0.2)"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    shown = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert shown.stderr == b""
