"""Responses: how views, replies and refusals are sent."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from pairup.service.domain.events import dumps
from pairup.service.problem_details import MEDIA_TYPE, PROBLEM_TYPES, RefusalError
from pairup.service.use_cases.idempotency import Reply

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


def send_refusal(refusal: RefusalError, path: str) -> Response:
    """Send a refusal as a problem."""
    body = dumps(refusal.as_json(path))
    return Response(body, refusal.problem.status, refusal.headers, MEDIA_TYPE)


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
