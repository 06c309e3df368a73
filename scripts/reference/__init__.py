"""Reference pages that are written from the code, each by a module with a function `page`.

`python -m scripts.reference` (part of `make docs`) writes them into docs/reference; a test compares
what is committed with what would be written.
"""

from collections.abc import Callable
from functools import partial

from scripts.reference import api, cli, events, families, metrics, rest, settings

PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli.page,
    "events.md": events.page,
    "families.md": families.page,
    "metrics.md": metrics.page,
    "rest.md": rest.page,
    "settings.md": settings.page,
    **{f"api/{name}.md": partial(api.page, name) for name in api.PAGES},
}
