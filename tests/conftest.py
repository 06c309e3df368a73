import os

import pytest
from hypothesis import settings

# Before anything imports matplotlib: no test opens a window.
os.environ["MPLBACKEND"] = "Agg"

# The first call of a kernel compiles it, so an example has no deadline.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


@pytest.fixture
def foreign_folder(tmp_path, monkeypatch):
    """A folder for policies of somebody else."""
    from tests.support.foreign import Folder

    return Folder(tmp_path, monkeypatch)
