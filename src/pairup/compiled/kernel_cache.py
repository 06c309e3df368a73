"""Where the machine code of kernels is kept between processes.

Numba decides whether cached machine code is stale by looking at the one file that holds the
cached function, yet our loops inline kernels from other files. So the cache lives in a folder
named after a digest of *all* sources of compiled steps, those of policies included: any edit starts
a fresh folder.
"""

import hashlib
import os
import shutil
import sys
from pathlib import Path

import numba

from pairup.compiled.source_digest import bytes_digest

_PACKAGE = Path(__file__).parents[1]
_SOURCES = ("compiled/**/*.py", "policies/**/*.py")  # of all kernels that others inline
_FOLDERS_KEPT = 8


def is_ours(thing):
    """Whether a class or a function is of pairup itself, and so watched by the digest."""
    return str(thing.__module__).partition(".")[0] == "pairup"


def cache_root():
    """The folder above all digests; `NUMBA_CACHE_DIR` and `XDG_CACHE_HOME` are honoured."""
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "pairup"


def compile_digest(package=_PACKAGE):
    """A short digest of all sources of compiled steps and of what compiles them."""
    sources = bytes_digest(package, *_SOURCES)
    text = f"{numba.__version__} {sys.version} {sources}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cache_folder(package=_PACKAGE):
    """The cache folder of the kernels as they are now; the oldest folders are deleted."""
    root = cache_root()
    folder = root / f"kernels-{compile_digest(package)}"
    if not folder.exists():
        _delete_oldest(root)
    return folder


def _delete_oldest(root):
    try:
        folders = sorted(root.glob("kernels-*"), key=lambda folder: folder.stat().st_mtime)
    except OSError:  # another process deletes them at this moment
        return
    for folder in folders[: -_FOLDERS_KEPT + 1]:
        shutil.rmtree(folder, ignore_errors=True)


FOLDER = str(cache_folder())
