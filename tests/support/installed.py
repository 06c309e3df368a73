"""Tools of other languages, which tests install into build once, as files beside them pin them."""

import hashlib
import tempfile
from pathlib import Path

from tests.support.paths import ROOT


def installed(name, manifests, install):
    """Return the folder of some tools; `install` is called with an empty one where it is missing.

    It is there whole or not at all, and another one when a manifest changes.
    """
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in manifests)).hexdigest()[:12]
    home = ROOT / "build" / f"{name}-{digest}"
    if home.exists():
        return home
    home.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=f"{name}-") as outer:
        folder = Path(outer) / "tools"
        folder.mkdir()
        install(folder)
        try:
            folder.rename(home)
        except OSError:
            if not home.exists():  # otherwise another process was faster
                raise
    return home
