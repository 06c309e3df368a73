import gc
import os

import pytest
from hypothesis import settings

# Before anything imports matplotlib: no test opens a window.
os.environ["MPLBACKEND"] = "Agg"

# The first call of a kernel compiles it, so an example has no deadline.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def _imported_modules_are_not_searched_for_garbage():
    """Searching everything that was imported again and again took a third of the time.

    Frozen objects are never freed, and DuckDB prints at exit whatever of its own is left. Compilers
    make many objects, hardly any of them garbage: searches are rarer than usual.
    """
    usual = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


@pytest.fixture
def foreign_folder(tmp_path, monkeypatch):
    """A folder for policies of somebody else."""
    from tests.support.foreign import Folder

    return Folder(tmp_path, monkeypatch)
