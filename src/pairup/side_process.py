"""Side processes: long calls, each in a process of its own.

Numba compiles one function at a time per process; threads that each wait for a process of their own
compile side by side. The processes are started as programs, not forked and not by
`multiprocessing`: so a calling script needs no `if __name__ == "__main__"`, and running threads do
no harm.
"""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

MIN_CORES = 4  # with fewer, processes take from each other what they gain
_running = threading.Semaphore(os.cpu_count() or 1)


class SideProcessError(Exception):
    """A call failed in its process, or could not be sent there."""


def are_worth_it(calls: int) -> bool:
    """Whether this number of calls ends sooner side by side than one after the other."""
    return calls > 1 and (os.cpu_count() or 1) >= MIN_CORES


def call_aside(function: str, *arguments: Any) -> Any:
    """Call a function, named for example "pairup.problem:Problem", in a process of its own.

    It gets nothing from this process but its arguments: classes of a script are not found there.
    Threads that call more functions than there are cores wait for each other.
    """
    command = [sys.executable, "-m", __name__]
    try:
        given = pickle.dumps((function, arguments))
        with _running:
            done = subprocess.run(command, input=given, capture_output=True, check=False)
    except (pickle.PicklingError, AttributeError, TypeError, OSError) as error:
        raise SideProcessError(str(error)) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise SideProcessError(said[-1])
    return pickle.loads(done.stdout)


def main() -> None:
    """Make the call that standard input describes, and write its result to standard output."""
    # Whatever prints, also from compiled code, must not come between the bytes of the result.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        function, arguments = pickle.load(sys.stdin.buffer)
        module, _, name = function.partition(":")
        result = getattr(importlib.import_module(module), name)(*arguments)
        output.write(pickle.dumps(result))


if __name__ == "__main__":
    main()
