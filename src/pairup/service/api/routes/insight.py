"""Insight: what was learnt, what was counted, and the log itself."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from pairup.service.api import views
from pairup.service.api.dependencies import Asks, Caller, page_size, refusals, shown
from pairup.service.api.routes.pools import Limit
from pairup.service.api.schemas.fields import MAX_INTEGER, PoolName
from pairup.service.api.schemas.insight import EstimatesView, EventPage, StatsView
from pairup.service.domain.pool import Pool
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction
from pairup.service.use_cases.service import Service

router = APIRouter(prefix="/v1/pools/{pool}", tags=["insight"])
After = Annotated[int, Query(ge=0, lt=MAX_INTEGER, description="Events after this one.")]
LastEventId = Annotated[
    str | None, Header(max_length=32, description="Where a stream that broke off goes on.")
]
_STREAM = "text/event-stream"
_BATCH = 500
_AGAIN_S = 5.0  # after which a stream is no longer sent to who may not read it any more
_SILENCE_S = 15.0  # after which a line is sent that says nothing, so that the way stays open
_AS_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events as they happen.",
        "content": {_STREAM: {"schema": {"type": "string"}}},
    }
}


@router.get("/estimates", response_model=EstimatesView, responses=refusals(404))
def show_estimates(caller: Asks, pool: PoolName, limit: Limit = None) -> Response:
    """Show the players' estimated rates, the best first, and what is known of the couples."""
    id, most = caller.pool(pool, "read"), caller.service.settings.max_couples
    size = page_size(limit or min(1_000, most), most)
    return shown(caller.service.read(id, lambda found, _: views.learnt(found, size)))


@router.get("/stats", response_model=StatsView, responses=refusals(404))
def show_stats(caller: Asks, pool: PoolName) -> Response:
    """Show what the pool counted, and how it fares against random pairing."""
    id, most = caller.pool(pool, "read"), caller.service.settings.max_page_items
    return shown(caller.service.read(id, lambda found, _: views.stats(found, most)))


@router.get(
    "/events",
    response_model=EventPage,
    responses={
        200: {"content": {_STREAM: {"schema": {"type": "string"}}}},
        **refusals(404),
    },
)
async def list_events(
    caller: Asks,
    pool: PoolName,
    after: After = 0,
    limit: Limit = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
    last_event_id: LastEventId = None,
) -> Response:
    """Read the log after an event: a page, or with `Accept: text/event-stream` as it grows."""
    id = await run_in_threadpool(caller.pool, pool, "read")
    if _STREAM in accept:
        return await _streaming(caller, pool, id, _resumed(after, last_event_id))
    return await run_in_threadpool(_page, caller, id, after, limit)


@router.get(
    "/events/stream", response_class=StreamingResponse, responses={**_AS_STREAM, **refusals(404)}
)
async def stream_events(
    caller: Asks, pool: PoolName, after: After = 0, last_event_id: LastEventId = None
) -> Response:
    """Send the events after one, and then those that happen, as server-sent events."""
    id = await run_in_threadpool(caller.pool, pool, "read")
    return await _streaming(caller, pool, id, _resumed(after, last_event_id))


def _page(caller: Caller, id: str, after: int, limit: int | None) -> Response:
    size = page_size(limit, caller.service.settings.max_page_items)

    def view(pool: Pool, transaction: Transaction) -> dict[str, Any]:
        _check_happened(pool, after)
        rows = transaction.raw_events(id, after, size + 1)
        events = [views.event(row) for row in rows[:size]]
        last = events[-1]["seq"] if events else after
        return {"events": events, "last": last, "more": len(rows) > size}

    return shown(caller.service.read(id, view))


def _resumed(after: int, last_event_id: str | None) -> int:
    if last_event_id is None:
        return after
    ours = last_event_id.isascii() and last_event_id.isdigit() and int(last_event_id) < MAX_INTEGER
    if not ours:
        raise RefusalError(
            "invalid-request",
            f"Last-Event-ID is the number of an event, got {last_event_id!r}: send the id of the "
            "last event that came, or leave it out",
        )
    return int(last_event_id)


def _check_happened(pool: Pool, after: int) -> None:
    if after > pool.seq:
        raise RefusalError(
            "invalid-request",
            f"event {after} has not happened, the last one is {pool.seq}: go on from there, and if "
            "you have seen it, a copy of the database was restored",
            {"last": pool.seq},
        )


async def _streaming(caller: Caller, pool: str, id: str, after: int) -> Response:
    await run_in_threadpool(caller.service.read, id, lambda found, _: _check_happened(found, after))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(caller, pool, id, after), 200, headers, _STREAM)


async def _events(caller: Caller, pool: str, id: str, after: int) -> AsyncIterator[str]:
    """Yield the log from `after` on, looking for more until the service stops."""
    service, stopping = caller.service, caller.request.app.state.stopping
    wait = service.settings.poll_s
    silent, allowed = 0.0, time.monotonic()
    yield "retry: 1000\n\n"
    with service.metrics.streams.track_inprogress():
        while not stopping.is_set():
            if time.monotonic() - allowed > _AGAIN_S:
                if not await run_in_threadpool(_may_still, caller, pool, id):
                    return
                allowed = time.monotonic()
            rows = await run_in_threadpool(_read, service, id, after)
            for row in rows:
                data = json.dumps(views.event(row))
                yield f"id: {row.seq}\nevent: {row.kind}\ndata: {data}\n\n"
                after = row.seq
            if rows and rows[-1].kind == "deleted":
                return
            silent = 0.0 if rows else silent + wait
            if silent >= _SILENCE_S:
                silent = 0.0
                yield ": nothing new\n\n"
            if len(rows) < _BATCH:
                await asyncio.sleep(wait)


def _may_still(caller: Caller, pool: str, id: str) -> bool:
    """Whether the key was not revoked, nor the pool deleted, since the stream began."""
    try:
        return caller.again().pool(pool, "read") == id
    except RefusalError:
        return False


def _read(service: Service, id: str, after: int) -> list[Any]:
    with service.store.reading() as transaction:
        return transaction.raw_events(id, after, _BATCH)
