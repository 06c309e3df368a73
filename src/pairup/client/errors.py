"""Errors of the clients: the service refused a request, or did not answer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pairup.errors import ClientError


class UnreachableError(ClientError):
    """No answer came, however often the request was sent."""


class RefusedError(ClientError):
    """The service refused a request, with a problem as defined by RFC 9457.

    Attributes
    ----------
    type : str
        Stable name of the problem, for example ``/problems/no-such-pool``.
    status : int
        HTTP status.
    detail : str
        The value, the rule and the way out.
    fields : dict
        The whole problem; some kinds have further fields, for example what is stored.

    Examples
    --------
    >>> try:
    ...     raise RefusedError({"type": "/problems/no-such-pool", "status": 404, "detail": "gone"})
    ... except RefusedError as refused:
    ...     print(refused.kind, refused.status, refused)
    no-such-pool 404 gone
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.fields = dict(fields)
        self.type = str(fields.get("type", "about:blank"))
        self.status = int(fields.get("status", 0))
        self.detail = str(fields.get("detail", ""))

    @property
    def kind(self) -> str:
        """Last part of the type."""
        return self.type.rpartition("/")[2]

    def __str__(self) -> str:
        return self.detail
