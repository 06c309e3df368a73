"""A progress bar on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[float, str], None]


@contextmanager
def progress_bar(title: str, enabled: bool = True) -> Iterator[Show]:
    """Give a function that shows the share done, in [0, 1], and a text.

    The bar appears on standard error where that is a terminal, and nowhere else.
    """
    if not enabled:
        yield lambda share, text: None
        return
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
