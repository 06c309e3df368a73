"""The page of the service's settings, from the fields of `Settings`."""

from pairup.service.operations.settings import Settings
from scripts.reference.markdown import NOTICE, table

_HEAD = f"""# Settings of the service

{NOTICE}

Each setting is an environment variable: `PAIRUP_PORT` sets `port`. `host`, `port`, `database` and
`workers` are also options of [`pairup serve`](cli.md#pairup-serve), which take precedence.

"""


def page() -> str:
    """Return the text of the page."""
    rows = (
        (f"`{name}`", f"`PAIRUP_{name.upper()}`", f"`{field.default}`", field.description or "")
        for name, field in Settings.model_fields.items()
    )
    return _HEAD + table(("setting", "variable", "default", "meaning"), rows)
