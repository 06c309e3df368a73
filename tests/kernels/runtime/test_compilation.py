import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pairup
from pairup.kernels.runtime import compilation as compiling

PACKAGE = Path(pairup.__file__).parent
SOURCES = sorted(source.name for source in (PACKAGE / "kernels").glob("*.py"))


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the kernels' sources, which the cache folder is now named after."""
    copied = shutil.copytree(PACKAGE / "kernels", tmp_path / "kernels")
    monkeypatch.setattr(compiling, "_SOURCES", copied)
    # Never the real cache: a new folder sweeps old ones away.
    monkeypatch.setattr(compiling.config, "CACHE_DIR", str(tmp_path / "cache"))
    return copied


def test_a_copy_of_the_sources_shares_the_folder(sources):
    digest = compiling.compile_digest()
    assert compiling.cache_folder().name == f"kernels-{digest}"
    assert digest in compiling._FOLDER


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_in_any_source_changes_the_folder(sources, name):
    before = compiling.cache_folder()
    with (sources / name).open("a") as source:
        source.write("\n")
    assert compiling.cache_folder() != before


def test_a_new_or_a_renamed_source_changes_the_folder(sources):
    folders = {compiling.cache_folder()}
    (sources / "zeta.py").touch()
    folders.add(compiling.cache_folder())
    (sources / "zeta.py").rename(sources / "eta.py")
    folders.add(compiling.cache_folder())
    assert len(folders) == 3


def test_old_folders_are_swept_away(sources, tmp_path):
    root = tmp_path / "cache"
    for age in range(20):
        folder = root / f"kernels-{age}"
        folder.mkdir(parents=True)
        os.utime(folder, (10_000 - age, 10_000 - age))
    (root / "of another library").mkdir()
    compiling.cache_folder().mkdir()
    left = {folder.name for folder in root.iterdir()}
    assert left == {f"kernels-{age}" for age in range(7)} | {
        "of another library",
        compiling.cache_folder().name,
    }


def test_compiling_leaves_the_cache_of_other_libraries_alone(sources):
    folder = compiling.config.CACHE_DIR
    compiling.kernel(lambda x: x + 1)
    assert folder == compiling.config.CACHE_DIR


def test_no_stale_machine_code_after_a_change_in_another_file(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "pairup", ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "c")}
    program = "from pairup.kernels.kl_index import exploration_level; print(exploration_level(10))"

    def level():
        command = [sys.executable, "-c", program]
        return float(subprocess.check_output(command, env=environment, text=True, cwd=tmp_path))

    assert level() == pytest.approx(4.8047, abs=1e-4)
    with (tmp_path / "pairup" / "kernels" / "logarithm.py").open("a") as source:
        source.write("\n\n@kernel\ndef log(x):\n    return 7.0\n")
    assert level() == 28.0
