"""Scripts in a process of their own, where need be with mounts of their own: a disk that fills."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.paths import ROOT


def run_python(script, *arguments, before=()):
    """Run a script that finds the modules of the tests; returns what it printed."""
    command = [*before, sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def own_mounts():
    """A command that gives its child mounts of its own, or None where the system forbids it."""
    command = ["unshare", "--mount"] + (["--user", "--map-root-user"] if os.getuid() else [])
    if shutil.which("unshare") is None:
        return None
    probe = [*command, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return None if subprocess.run(probe, capture_output=True).returncode else command


needs_mounts = pytest.mark.skipif(
    own_mounts() is None, reason="this system lets nobody mount a small disk"
)
