"""Rendering of pages: templates, headers, assets, and tags of pages that the browser has."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from typing import Any

from fastapi import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from pairup.service.api.door import Caller
from pairup.service.dashboard import sentences

_ASSETS = "/dashboard"
_ASSET_HEADERS = {
    # The address has the version, so that a browser asks again only after an upgrade.
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}


class _Immutable(StaticFiles):
    def file_response(self, *args: Any, **options: Any) -> Response:
        """Send a file that a browser may keep."""
        response = super().file_response(*args, **options)
        response.headers.update(_ASSET_HEADERS)
        return response


class _NamedMount(Mount):
    """A mount that the metrics know by its path, as they know a route."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def mount_assets() -> Mount:
    """Return the mount that sends the assets, compressed where the browser allows it."""
    files = _Immutable(
        packages=[("pairup.service.dashboard", "static"), ("plotly", "package_data")]
    )
    return _NamedMount(_ASSETS, GZipMiddleware(files, compresslevel=6))


def asset_address(name: str, package: str = "pairup") -> str:
    """Return the address of an asset, with the version of the package that it is from."""
    return f"{_ASSETS}/{name}?v={version(package)}"


_HEADERS = {
    "Content-Security-Policy": (
        # Plotly sets styles of what it draws, and makes an image of a heat map.
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "private, no-cache",
    "Referrer-Policy": "no-referrer",
    "Vary": "Authorization",
    "X-Content-Type-Options": "nosniff",
}


def page(
    caller: Caller, name: str, tag: str | None = None, status: int = 200, **values: Any
) -> Response:
    """Render the page of a name; the script asks for it again after `interval_ms`."""
    shared = {
        "page": name,
        "has_charts": caller.request.url.path != "/",
        "needs_keys": caller.service.settings.needs_keys,
        "interval_ms": poll_interval_ms(0),
    }
    body = _templates().get_template(f"{name}.html").render(shared | values)
    headers = _HEADERS | ({"ETag": tag} if tag else {})
    return Response(body, status, headers, "text/html; charset=utf-8")


def unchanged(tag: str) -> Response:
    """Answer that the page is the one that the browser has."""
    return Response(status_code=304, headers={**_HEADERS, "ETag": tag})


def is_known(caller: Caller, tag: str) -> bool:
    """Whether the browser has the page with this tag."""
    return caller.request.headers.get("if-none-match") == tag


def tag_of(*parts: str) -> str:
    """Return the tag of a page that is determined by these parts and the version."""
    digest = hashlib.sha256("\n".join([version("pairup"), *parts]).encode()).hexdigest()
    return f'"{digest[:32]}"'


def poll_interval_ms(players: int) -> int:
    """Return the milliseconds between two requests for a page: a large pool costs more.

    Examples
    --------
    >>> poll_interval_ms(24), poll_interval_ms(5_000)
    (1000, 10000)
    """
    return max(1_000, 2 * players)


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("pairup.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["share"] = lambda value: "–" if value is None else f"{value:.1%}"
    made.filters["points"] = sentences.in_points
    made.filters["count"] = lambda value: f"{value:,}"
    made.globals |= {"asset": asset_address, "sentences": sentences, "version": version("pairup")}
    return made
