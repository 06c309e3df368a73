"""Faults: a service process that kills itself before or after one of its commits."""

import itertools
import os
import signal
from contextlib import contextmanager

from pairup.service.store import Store


def die_at_commit(wanted):
    """Let this process die as if killed with -9 at a pass by a commit.

    Passes are 1, 2, ...: odd ones before a commit, even ones after it.
    """
    begin, passes = Store._begin, itertools.count(1)

    def pass_by():
        if next(passes) == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def begin_and_die(self, writes, **options):
        with begin(self, writes, **options) as connection:
            yield connection
            if writes:
                pass_by()
        if writes:
            pass_by()

    Store._begin = begin_and_die
