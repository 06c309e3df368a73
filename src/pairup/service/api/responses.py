"""Responses: how views, replies and refusals are sent, and which error becomes which refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import structlog
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match

from pairup.errors import ServiceError
from pairup.service.api.bodies import invalid_request
from pairup.service.api.schemas.problems import MEDIA_TYPE, PROBLEM_TYPES, problem_of
from pairup.service.domain.events import dumps
from pairup.service.pools.idempotency import Reply
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.store.failures import StoreError

# Statuses of refusals that only some operations send; every operation may send the others.
_PARTICULAR = (404, 405, 409, 500)
_USUAL = {each.status for each in PROBLEM_TYPES.values()} - set(_PARTICULAR)


def send(view: dict[str, Any], status: int = 200) -> Response:
    """Send a view."""
    return Response(dumps(view), status, media_type="application/json")


def send_reply(reply: Reply, status: int = 200, location: str | None = None) -> Response:
    """Send a reply, and say whether it is that of an earlier request."""
    headers = {"Location": location} if location else {}
    if reply.replayed:
        headers["Idempotent-Replay"] = "true"
    return Response(reply.text, status, headers, "application/json")


def send_results(reply: Reply, address: Callable[[dict[str, Any]], str]) -> Response:
    """Send the results of a batch; what was refused is a problem at the address of its item."""
    results = reply.view["results"]
    if any("problem" in each for each in results):
        shown = [
            {**each, "problem": problem_of(RefusalError(**each["problem"]), address(each))}
            if "slug" in each.get("problem", ())  # version 0.1.0 stored it as it is sent
            else each
            for each in results
        ]
        reply = replace(reply, view={"results": shown})
    return send_reply(reply)


def send_refusal(refusal: RefusalError, path: str, **headers: str) -> Response:
    """Send a refusal as a problem."""
    status = PROBLEM_TYPES[refusal.slug].status
    if refusal.retry_s is not None:
        headers["Retry-After"] = str(refusal.retry_s)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(dumps(problem_of(refusal, path)), status, headers, MEDIA_TYPE)


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems that a route may answer with, the usual ones included."""
    schema = {"$ref": "#/components/schemas/ProblemView"}
    described: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*statuses, *_USUAL}):
        kinds = [each for each in PROBLEM_TYPES.values() if each.status == status]
        said = "".join(f"\n- [`{each.slug}`]({each.path}): {each.title}." for each in kinds)
        content = {MEDIA_TYPE: {"schema": schema}}
        described[status] = {"description": f"A problem:\n{said}", "content": content}
    return described


log = structlog.get_logger()


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
        return send_refusal(
            RefusalError("method-not-allowed", what), request.url.path, Allow=allowed
        )
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
    slug = getattr(error, "problem", StoreError.problem)
    request.app.state.service.metrics.failures.labels(slug).inc()
    log.error("store", problem=slug, why=str(error))
    detail = getattr(error, "public", "") or str(error)
    return send_refusal(RefusalError(slug, detail, retry_s=5), request.url.path)


async def _on_misdirected(request: Request, error: Exception) -> Response:
    raise error  # which `Forwarding` handles


HANDLERS: dict[Any, Any] = {
    MisdirectedError: _on_misdirected,
    RefusalError: _on_refusal,
    RequestValidationError: _on_invalid,
    HTTPException: _on_http,
    ServiceError: _on_store_error,
}
