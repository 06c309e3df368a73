"""A progress bar on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[float, str], None]


@contextmanager
def progress_bar(title: str, enabled: bool = True) -> Iterator[Show]:
    """Give a function that shows the share done, in [0, 1], and a text.

    The bar appears on standard error where that is a terminal, and nowhere else.

    Examples
    --------
    >>> with progress_bar("replications") as show:
    ...     show(0.5, "10 of 20")
    """
    if not enabled:
        yield _show_nothing
        return
    from rich.console import Console  # slow to import, and only for a bar
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _show_nothing
        return
    title_column, text_column = TextColumn("{task.description}"), TextColumn("{task.fields[text]}")
    columns = (title_column, BarColumn(), TaskProgressColumn(), text_column, TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=1.0, text="")
        yield lambda share, text: bar.update(task, completed=share, text=text)


def _show_nothing(share: float, text: str) -> None:
    """Stand in for a bar."""
