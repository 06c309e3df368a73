"""Error handlers: whatever is raised on the way to an answer becomes a problem."""

from __future__ import annotations

from typing import Any

import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from pairup.errors import ServiceError
from pairup.service.api.bodies import invalid_request
from pairup.service.api.responses import send_refusal
from pairup.service.problem_details import RefusalError
from pairup.service.store.failures import (
    StoreBusyError,
    StoreConflictError,
    StoreFullError,
    StoreUnavailableError,
)

log = structlog.get_logger()
_STORE_PROBLEMS: dict[type, str] = {
    StoreFullError: "store-full",
    StoreUnavailableError: "store-unavailable",
    StoreBusyError: "pool-busy",
    StoreConflictError: "busy",
}


async def _on_refusal(request: Request, refusal: Exception) -> Response:
    assert isinstance(refusal, RefusalError)
    return send_refusal(refusal, request.url.path)


async def _on_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # of the address or a header
    return send_refusal(invalid_request(error.errors()), request.url.path)


async def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        problem = RefusalError(
            "no-such-page", f"there is nothing at {request.url.path!r}: see /docs"
        )
    elif error.status_code == 405:
        allowed = _allowed(request)
        what = f"{request.url.path!r} does not take {request.method}: use {allowed}"
        problem = RefusalError("method-not-allowed", what, headers={"Allow": allowed})
    else:
        problem = RefusalError("malformed-request", f"{error.detail}: send JSON as /docs says")
    return send_refusal(problem, request.url.path)


def _allowed(request: Request) -> str:
    """List the methods that the address of a request takes."""
    found = set[str]()
    for each in request.app.routes:
        # The routes of an included router are behind it.
        for route in getattr(getattr(each, "original_router", each), "routes", [each]):
            matches, _ = route.matches(request.scope)
            if matches is not Match.NONE:
                found |= getattr(route, "methods", None) or set()
    return ", ".join(sorted(found))


async def _on_store_error(request: Request, error: Exception) -> Response:
    slug = _STORE_PROBLEMS.get(type(error), "store-damaged")  # an inconsistent log included
    request.app.state.service.metrics.failures.labels(slug).inc()
    log.error("store", problem=slug, why=str(error))
    detail = getattr(error, "public", "") or str(error)
    return send_refusal(RefusalError(slug, detail, headers={"Retry-After": "5"}), request.url.path)


HANDLERS: dict[Any, Any] = {
    RefusalError: _on_refusal,
    RequestValidationError: _on_invalid,
    HTTPException: _on_http,
    ServiceError: _on_store_error,
}
