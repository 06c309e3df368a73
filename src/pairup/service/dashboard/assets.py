"""Assets of the pages: scripts and a style sheet, and Plotly from its installed package."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response
from starlette.routing import Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PATH = "/dashboard"
_HEADERS = {
    # The address has the version, so that a browser asks again only after an upgrade.
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
}


class _Immutable(StaticFiles):
    def file_response(self, *args: Any, **options: Any) -> Response:
        """Send a file that a browser may keep."""
        response = super().file_response(*args, **options)
        response.headers.update(_HEADERS)
        return response


class _NamedMount(Mount):
    """A mount that the metrics know by its path, as they know a route."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def mount() -> Mount:
    """Return the mount that sends the assets, compressed where the browser allows it."""
    files = _Immutable(
        packages=[("pairup.service.dashboard", "static"), ("plotly", "package_data")]
    )
    return _NamedMount(PATH, GZipMiddleware(files, compresslevel=6))


def address(name: str, package: str = "pairup") -> str:
    """Return the address of an asset, with the version of the package that it is from."""
    return f"{PATH}/{name}?v={version(package)}"
