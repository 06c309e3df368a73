"""A fault point for tests: the process kills itself before or after one of its commits."""

from __future__ import annotations

import itertools
import os
import signal

VARIABLE = "PAIRUP_TEST_DIE_AT_COMMIT"  # the pass at which to die, 1, 2, ...: odd before a commit
_passes = itertools.count(1)


def fault_point() -> None:
    """Die here, as if killed with -9, if it is this pass's turn."""
    wanted = os.environ.get(VARIABLE)
    if wanted and next(_passes) == int(wanted):
        os.kill(os.getpid(), signal.SIGKILL)
