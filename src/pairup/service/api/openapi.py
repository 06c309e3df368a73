"""The OpenAPI description of the service, which clients are generated from.

FastAPI describes the routes. What it cannot say is added here: that keys are optional where none
are needed, each refusal once, as a component that all operations refer to, the bodies that `bodies`
reads, and which numbers need 64 bits, of which many languages take 32 otherwise.
"""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi_offline import FastAPIOffline

from pairup.service.api.door import KEY_SCHEME
from pairup.service.api.routes import games, health, imports, insight, pools
from pairup.service.api.schemas.problems import MEDIA_TYPE

_ABOUT = """Learns who to pair with whom, live.

A backend says which players wait, asks for the next games, and reports which were played. Every
refusal is a problem (RFC 9457) with a stable `type`; every POST takes an `Idempotency-Key`. A page
of a list has `next`, which is null on the last one. Moments are in UTC.
"""
_ROUTERS = (
    (pools.router, "Pools of players, and their rules."),
    (pools.players_router, "Players of a pool, who wait or are away."),
    (games.matchings_router, "Proposals of the next games."),
    (games.router, "Games, and reports of what became of them."),
    (imports.router, "Games of the past, and saved learners, from which a pool starts."),
    (insight.router, "What a pool learnt, what it counted, and its log."),
    (health.router, "The state of the service itself."),
)


def make_api(needs_keys: bool, **options: Any) -> FastAPI:
    """Make an application with all routes of the API, which describes itself at /openapi.json."""
    api = FastAPIOffline(
        title="pairup",
        version=version("pairup"),
        description=_ABOUT,
        license_info={"name": "MIT", "identifier": "MIT"},
        openapi_tags=[{"name": router.tags[0], "description": about} for router, about in _ROUTERS],
        docs_url="/docs",
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        **options,
    )
    for router, _ in _ROUTERS:
        api.include_router(router)
    # FastAPI wants this method replaced, which mypy does not take as a plain assignment.
    setattr(api, "openapi", lambda: _complete(api, needs_keys))  # noqa: B010
    return api


def describe(needs_keys: bool) -> dict[str, Any]:
    """Return the description of a service that needs API keys, or does not."""
    return make_api(needs_keys).openapi()


def _complete(api: FastAPI, needs_keys: bool) -> dict[str, Any]:
    if api.openapi_schema is not None:
        return api.openapi_schema
    described = FastAPI.openapi(api)
    components = described["components"]
    refusals = components.setdefault("responses", {})
    for path, operations in described["paths"].items():
        for operation in operations.values():
            if "security" in operation and not (needs_keys and path.startswith("/v1/")):
                operation["security"] = [{}, {KEY_SCHEME: []}]
            _share_refusals(operation["responses"], refusals)
            _share_schemas(operation.get("requestBody", {}), components["schemas"])
    components["schemas"] = dict(sorted(components["schemas"].items()))
    _widen_integers(described)
    return described


def _widen_integers(described: Any) -> None:
    """Mark the integers that may have more than 32 bits; in place."""
    if isinstance(described, dict):
        if described.get("type") == "integer":
            bounds = (described.get(name, math.inf) for name in ("maximum", "exclusiveMaximum"))
            if min(bounds) > 2**31:
                described["format"] = "int64"
        described = list(described.values())
    if isinstance(described, list):
        for each in described:
            _widen_integers(each)


def _share_refusals(responses: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the refusals of an operation to the components; in place."""
    for status, response in responses.items():
        if MEDIA_TYPE in response.get("content", ()):
            name = f"Problem{status}"
            shared[name] = response
            responses[status] = {"$ref": f"#/components/responses/{name}"}


def _share_schemas(body: dict[str, Any], shared: dict[str, Any]) -> None:
    """Move the definitions within the schema of a body to the components; in place."""
    for content in body.get("content", {}).values():
        shared.update(content["schema"].pop("$defs", {}))
