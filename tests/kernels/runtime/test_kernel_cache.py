"""Processes that compile at once keep their machine code apart."""

import fcntl
import os
import subprocess
import sys
import time

KINDS = ("int8", "int16", "int32", "uint8")
COMPILE = """
import sys
import numpy as np
from pairup.kernels.runtime.compilation import slot
print(slot.stats.cache_path, flush=True)
for kind in sys.argv[1:]:
    assert slot(getattr(np, kind)(7)) == 7
print(sum(slot.stats.cache_hits.values()))
"""


def start(environment, *kinds):
    command = [sys.executable, "-c", COMPILE, *kinds]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_processes_save_one_after_the_other_and_find_what_all_saved(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    folder, _ = start(environment, "int64").communicate()[0].split()
    saved = sorted(os.listdir(folder))
    with open(os.path.join(folder, "lock"), "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        processes = [start(environment, kind) for kind in KINDS]
        assert [process.stdout.readline() for process in processes] == [f"{folder}\n"] * len(KINDS)
        time.sleep(1)  # they have compiled, and wait
        assert sorted(os.listdir(folder)) == saved
        assert all(process.poll() is None for process in processes)
    assert [process.communicate()[0] for process in processes] == ["0\n"] * len(KINDS)
    assert start(environment, *KINDS).communicate()[0].split() == [folder, str(len(KINDS))]
