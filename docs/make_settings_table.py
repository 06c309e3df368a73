"""Write the table of settings into docs/service.md: `make docs`."""

from pathlib import Path

from pairup.service.operations.settings import Settings

PAGE = Path(__file__).with_name("service.md")
_HEAD = "| setting | default | meaning |\n| --- | --- | --- |\n"


def table() -> str:
    """Return the table of all settings."""
    rows = [
        f"| `{name}` | `{field.default}` | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return _HEAD + "\n".join(rows) + "\n"


def written(page: str) -> str:
    """Return the page with the table as it is now."""
    before, _, rest = page.partition(_HEAD)
    return before + table() + "\n" + rest.partition("\n\n")[2]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
