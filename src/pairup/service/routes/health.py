"""Health: whether the service is up and can serve, and its metrics."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from pairup.service.metrics import CONTENT_TYPE
from pairup.service.problems import KINDS, RefusalError
from pairup.service.schemas import Health
from pairup.service.web import refusals, shown

router = APIRouter(tags=["health"])


@router.get("/healthz", response_model=Health)
async def healthy() -> Response:
    """Say that the process is up."""
    return shown({"status": "ok"})


@router.get("/readyz", response_model=Health, responses=refusals())
def ready(request: Request) -> Response:
    """Say whether requests can be served: the database answers, and no shutdown has begun."""
    if request.app.state.stopping.is_set():
        raise RefusalError("store-unavailable", "the service is shutting down: ask another process")
    with request.app.state.service.store.reading() as transaction:
        transaction.pools("", 1)
    return shown({"status": "ok"})


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request) -> Response:
    """Show the counters of this process as Prometheus reads them."""
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
