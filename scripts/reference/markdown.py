"""Pieces of Markdown that several generated pages share."""

from collections.abc import Iterable, Sequence

NOTICE = "<!-- Written by `make docs` from the code: edit the code, not this page. -->"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; bars inside cells are escaped, and line breaks become spaces."""
    lines = [heads, ["---"] * len(heads), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
