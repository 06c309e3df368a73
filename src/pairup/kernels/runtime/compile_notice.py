"""A line on the terminal when kernels have to be compiled, which takes up to a minute."""

import sys

from numba.core import event


class CompileNotice(event.Listener):  # type: ignore[misc] # Numba is not annotated
    """Says once on standard error, where that is a terminal, that kernels are being compiled."""

    def __init__(self, folder):
        """Name the folder in which machine code is kept."""
        self._folder, self._silent = folder, False

    def on_start(self, event):
        """A function is about to be compiled: it was not found in the cache."""
        cache = event.data["dispatcher"].stats.cache_path
        if self._silent or cache is None or not cache.startswith(self._folder):
            return
        self._silent = True
        if sys.stderr.isatty():
            print(
                "pairup: compiling kernels, which takes up to a minute once on this machine "
                f"(they are kept in {self._folder})",
                file=sys.stderr,
            )

    def on_end(self, event):
        """Nothing to say."""
