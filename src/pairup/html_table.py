"""Tables in HTML, as notebooks show the last value of a cell."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Strong(str):
    """A cell in bold."""


def html_table(caption: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    """Write a small table; every text is escaped, and the notebook's own style applies.

    Parameters
    ----------
    caption
        Line above the table; its first line is in bold, the others follow below it.
    header
        Names of the columns; without names there is no header.
    rows
        Cells of each row; `Strong` ones are written in bold.

    Examples
    --------
    >>> print(html_table("Rates", ["player", "rate"], [["<ann>", 0.5]]))
    <table>
    <caption><b>Rates</b></caption>
    <thead><tr><th>player</th><th>rate</th></tr></thead>
    <tbody>
    <tr><td>&lt;ann&gt;</td><td>0.5</td></tr>
    </tbody>
    </table>
    """
    title, *notes = caption.splitlines()
    lines = [f"<b>{html.escape(title)}</b>", *map(html.escape, notes)]
    columns = "".join(f"<th>{html.escape(str(name))}</th>" for name in header)
    parts = [
        "<table>",
        f"<caption>{'<br>'.join(lines)}</caption>",
        *([f"<thead><tr>{columns}</tr></thead>"] if columns else []),
        "<tbody>",
        *(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows),
        "</tbody>",
        "</table>",
    ]
    return "\n".join(parts)


def _cell(value: object) -> str:
    text = html.escape(str(value))
    return f"<td><b>{text}</b></td>" if isinstance(value, Strong) else f"<td>{text}</td>"
