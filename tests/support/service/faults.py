"""Faults: a process that kills itself before or after one of its commits or syncs."""

import itertools
import os
import signal
from contextlib import contextmanager

from pairup.service.store import Store


def die_at_commit(wanted):
    """Let this process die as if killed with -9 at a pass by a commit.

    Passes are 1, 2, ...: odd ones before a commit, even ones after it.
    """
    write, passes = Store._writer, itertools.count(1)

    def pass_by():
        if next(passes) == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def write_and_die(self, *options):
        with write(self, *options) as connection:
            yield connection
            pass_by()
        pass_by()

    Store._writer = write_and_die


def archive_and_die(database, before, step):
    """Archive, and die as if killed with -9 at a pass by a sync of a file, or by commit `-step`."""
    from pairup.service.maintenance.archive import archive

    sync, passes = os.fsync, itertools.count(1)

    def pass_by():
        if next(passes) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    def sync_and_die(file):
        pass_by()
        sync(file)
        pass_by()

    os.fsync = sync_and_die
    if step < 0:
        die_at_commit(-step)
    archive(Store(database), before)
