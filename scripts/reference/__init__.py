"""Reference pages that are written from the code, each by a module with a function `page`.

`python -m scripts.reference` (part of `make docs`) writes them into docs/reference; a test compares
what is committed with what would be written.
"""

from collections.abc import Callable

from scripts.reference import cli, events, metrics, rest, settings

PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli.page,
    "events.md": events.page,
    "metrics.md": metrics.page,
    "rest.md": rest.page,
    "settings.md": settings.page,
}
