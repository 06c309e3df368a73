"""Health: whether the service is up and can serve, and its metrics."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from pairup.service.api.dependencies import refusals, shown
from pairup.service.api.schemas.problems import HealthView
from pairup.service.operations.metrics import CONTENT_TYPE
from pairup.service.problem_details import KINDS, RefusalError
from pairup.service.store import Store

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=HealthView)
async def healthy() -> Response:
    """Say that the process is up."""
    return shown({"status": "ok"})


@router.get("/readyz", response_model=HealthView, responses=refusals())
async def ready(request: Request) -> Response:
    """Say whether requests are served at once: all is compiled, and the database answers."""
    state = request.app.state
    if state.stopping.is_set():
        raise RefusalError("not-ready", "the service is shutting down: ask another process")
    if not state.warm.is_set():
        raise RefusalError(
            "not-ready",
            "the service compiles its policies and reads its pools: ask again in a few seconds",
            headers={"Retry-After": "1"},
        )
    # By a thread of its own: those of the requests may all be taken.
    await to_thread.run_sync(_look, state.service.store, limiter=state.looking)
    return shown({"status": "ok"})


def _look(store: Store) -> None:
    with store.reading() as transaction:
        transaction.pools("", 1)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Show the counters of this process, and of the workers beside it, as Prometheus reads them."""
    return Response(request.app.state.service.metrics.exposed(), media_type=CONTENT_TYPE)


@router.get(
    "/problems/{slug}",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **refusals(404)},
)
async def explain(slug: str) -> Response:
    """Explain a type of problem."""
    if slug not in KINDS:
        raise RefusalError("no-such-page", f"no problem is called {slug!r}: see /openapi.json")
    kind = KINDS[slug]
    return Response(f"{kind.title} (status {kind.status}).\n", media_type="text/plain")
