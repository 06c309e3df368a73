"""Paging: how long a page is, and where the next one begins."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Query

from pairup.service.problems import RefusalError

Limit = Annotated[
    int | None,
    Query(
        ge=1,
        description="Number of items on the page, 100 by default; the setting `max_page_items` "
        "limits it.",
        examples=[50],
    ),
]
Cursor = Annotated[
    str | None,
    Query(
        max_length=1024,
        pattern="^[A-Za-z0-9_-]*$",
        description="Cursor: the `next` of the page before.",
        examples=["YW5u"],
    ),
]


def check_length(what: str, items: Sequence[Any], maximum: int, setting: str) -> None:
    """Refuse a list that is too long."""
    if len(items) > maximum:
        raise RefusalError(
            "too-large",
            f"{len(items)} {what} were sent, at most {maximum} are taken at once: send fewer, or "
            f"raise the setting {setting}",
            {"most": maximum},
        )


def page_size(limit: int | None, maximum: int) -> int:
    """Return the number of items on a page."""
    if limit is not None and limit > maximum:
        raise RefusalError(
            "invalid-request",
            f"limit must be at most {maximum}, got {limit}: ask for less, and go on with the "
            "cursor",
        )
    return min(limit or 100, maximum)


def encode_cursor(last: str) -> str:
    """Make the cursor of the page after `last`.

    Examples
    --------
    >>> decode_cursor(encode_cursor("ann"))
    'ann'
    """
    return base64.urlsafe_b64encode(last.encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> str:
    """Return the last item before the page of a cursor."""
    if cursor is None:
        return ""
    try:
        padded = cursor.encode() + b"=" * (-len(cursor) % 4)
        last = base64.b64decode(padded, b"-_", validate=True).decode()
        if "\0" in last:
            raise ValueError("PostgreSQL takes no such character")
        return last
    except (binascii.Error, ValueError):
        raise RefusalError(
            "invalid-request",
            f"the cursor {cursor!r} was not made here: send the `next` of the page before",
        ) from None
