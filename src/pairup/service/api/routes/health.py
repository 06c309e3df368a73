"""Routes of the service's health, its metrics and its types of problems."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from pairup.errors import ServiceError
from pairup.service.api.door import Caller, CurrentCaller
from pairup.service.api.responses import refusals, send
from pairup.service.api.schemas.problems import PROBLEM_TYPES, HealthView
from pairup.service.observability.metrics import CONTENT_TYPE
from pairup.service.pools.service import Service
from pairup.service.problems import RefusalError

router = APIRouter(tags=["health"])
_TEXT: dict[str, Any] = {"content": {"text/plain": {"schema": {"type": "string"}}}}


@router.get("/healthz", response_model=HealthView)
async def check_health() -> Response:
    """Answer as long as the process is up."""
    return send({"status": "ok"})


@router.get("/readyz", response_model=HealthView, responses=refusals())
async def check_readiness(request: Request) -> Response:
    """Return whether requests are answered without delay: all is compiled, the database answers.

    A process that cannot store anything is not ready, though it may still answer what only reads.
    """
    state = request.app.state
    if state.stopping.is_set():
        raise RefusalError("not-ready", "the service is shutting down: ask another process")
    if not state.ready.is_set():
        raise RefusalError(
            "not-ready",
            "the service is compiling policies and reading pools: ask again in a few seconds",
            retry_s=1,
        )
    # In a thread of its own, as those of the requests may all be taken.
    if why := await to_thread.run_sync(_ask_store, state.service, limiter=state.health_limiter):
        raise RefusalError("not-ready", f"nothing can be stored now, {why}", retry_s=5)
    # Not a reason to be taken out of service: all other pools are served.
    unreadable = state.service.pools.cache.unreadable
    server = state.service.store.server
    said = {"unreadable_pools": unreadable, "unsafe": server.unsafe if server else []}
    return send({"status": "ok"} | {name: value for name, value in said.items() if value})


def _ask_store(service: Service) -> str:
    """Read something, and say why nothing can be stored, if that is so."""
    with service.store.reading() as transaction:
        transaction.pools("", 1)
    return service.read_only() or service.store.write_trouble


@router.get("/metrics", response_class=Response, responses={200: _TEXT, **refusals()})
async def get_metrics(caller: CurrentCaller) -> Response:
    """Show the metrics of this process and of its fellow workers, as Prometheus reads them.

    Those of single pools are shown to a key that may read them; the others need no key.
    """
    limiter = caller.request.app.state.health_limiter
    shown = await to_thread.run_sync(_show_metrics, caller, limiter=limiter)
    return Response(shown, media_type=CONTENT_TYPE)


def _show_metrics(caller: Caller) -> bytes:
    may: Callable[[str, str], bool] = _may_nothing
    with suppress(ServiceError):  # without its database, the service still shows its metrics
        try:
            may = caller.principal.may
        except RefusalError as refusal:
            sent = "authorization" in caller.request.headers
            if sent and PROBLEM_TYPES[refusal.slug].status in (401, 403):
                raise  # a wrong key gets 401; the status ignores rate limits
    return caller.service.show_metrics(partial(may, "read"))


def _may_nothing(scope: str, pool: str) -> bool:
    return False


@router.get("/problems/{slug}", response_class=Response, responses={200: _TEXT, **refusals(404)})
async def explain_problem(slug: str) -> Response:
    """Explain a type of problem."""
    if slug not in PROBLEM_TYPES:
        raise RefusalError("no-such-page", f"no problem is called {slug!r}: see /openapi.json")
    problem = PROBLEM_TYPES[slug]
    return Response(f"{problem.title} (status {problem.status}).\n", media_type="text/plain")
