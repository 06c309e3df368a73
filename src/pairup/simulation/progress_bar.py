"""A progress bar on the terminal, or in a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Show = Callable[[float, str], None]

_PAUSE_SECONDS = 0.1  # between two messages to a notebook


@contextmanager
def progress_bar(title: str, enabled: bool = True) -> Iterator[Show]:
    """Yield a function that shows the share done, in [0, 1], and a text.

    The bar appears on standard error where that is a terminal, below the cell in a notebook, and
    nowhere else.
    """
    if not enabled:
        yield lambda share, text: None
    elif _in_notebook():
        yield _NotebookBar(title).show
    else:
        with _terminal_bar(title) as show:
            yield show


@contextmanager
def _terminal_bar(title: str) -> Iterator[Show]:
    from rich import progress  # slow to import, and only for a bar
    from rich.console import Console

    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[text]}"),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0, text="")
        yield lambda share, text: bar.update(task, completed=share, text=text)


def _in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, which is the case only if IPython is loaded."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class _NotebookBar:
    """A bar of plain HTML, which the notebook replaces at each step.

    rich would need ipywidgets for it, and warns and shows nothing where they are missing.
    """

    def __init__(self, title: str) -> None:
        from IPython.display import DisplayHandle

        self._title, self._shown_at, self._handle = title, 0.0, DisplayHandle()
        self._handle.display(self._output(0.0, ""))

    def show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if share >= 1.0 or now - self._shown_at >= _PAUSE_SECONDS:
            self._shown_at = now
            self._handle.update(self._output(share, text))

    def _output(self, share: float, text: str) -> Any:
        from IPython.display import HTML

        line = html.escape(f"{share:.0%} {text}".strip())
        bar = f'<progress value="{share:.4f}" max="1"></progress>'
        return HTML(f"{html.escape(self._title)} {bar} {line}")
