"""Tables of the documentation as tests read them, and digests that guard their numbers."""

import hashlib

from tests.support.docs.pages import read


def table(page, title):
    """Return the rows of the table whose head begins with a title: cells by label and column."""
    lines = iter(read(page).splitlines())
    head = _cells(next(line for line in lines if line.startswith(f"| {title} | ")))
    next(lines)
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        label, *cells = _cells(line)
        rows[label] = dict(zip(head[1:], cells, strict=True))
    return rows


def digest(rows):
    """Return a short digest of a table, which changes with every number in it."""
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:12]


def _cells(line):
    return [cell.strip() for cell in line.strip("|").split(" | ")]
