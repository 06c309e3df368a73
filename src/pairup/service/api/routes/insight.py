"""Routes of insight: what was learnt, what was counted, and the log itself."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.datastructures import State

from pairup.service.api.door import Caller, PoolReader
from pairup.service.api.paging import Limit, page_size
from pairup.service.api.responses import refusals, send
from pairup.service.api.schemas.events import EventPage
from pairup.service.api.schemas.fields import MAX_INTEGER, PoolName
from pairup.service.api.schemas.insight import EstimatesView, StatsView
from pairup.service.problems import RefusalError

router = APIRouter(prefix="/v1/pools/{pool}", tags=["insight"])
After = Annotated[
    int,
    Query(
        ge=0,
        lt=MAX_INTEGER,
        description="Number of the event before the first one: the `next` of the page before.",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        max_length=32,
        description="Number of the last event that came, where a stream broke off.",
    ),
]
MaxCouples = Annotated[
    int | None,
    Query(
        ge=1,
        description="Number of couples, 1,000 by default; the setting `max_couples` limits it.",
    ),
]
_STREAM = "text/event-stream"
_BATCH = 500  # events read at once
_CHECK_S = 5.0  # seconds between checks that the key still allows to read
_SILENCE_S = 15.0  # seconds until a line is sent that says nothing, so that the way stays open
_AS_STREAM: dict[str, Any] = {
    "description": "Events as they happen.",
    # Generators take the schema of a stream as that of the data in it.
    "content": {_STREAM: {"schema": {"$ref": "#/components/schemas/EventView"}}},
}


@router.get("/estimates", response_model=EstimatesView, responses=refusals(404))
def get_estimates(caller: PoolReader, pool: PoolName, limit: MaxCouples = None) -> Response:
    """Show the players' estimated rates, the best first, and what is known of the couples."""
    maximum = caller.service.settings.max_couples
    return send(caller.service.estimates(pool, page_size(limit or min(1_000, maximum), maximum)))


@router.get("/stats", response_model=StatsView, responses=refusals(404))
def get_stats(caller: PoolReader, pool: PoolName) -> Response:
    """Show what the pool counted, and how it fares against random pairing."""
    return send(caller.service.stats(pool, caller.service.settings.max_page_items))


@router.get("/events", response_model=EventPage, responses=refusals(404))
def list_events(
    caller: PoolReader, pool: PoolName, after: After = 0, limit: Limit = None
) -> Response:
    """Read a page of the log, the events after one."""
    size = page_size(limit, caller.service.settings.max_page_items)
    return send(caller.service.events(pool, after, size))


@router.get(
    "/events/stream", response_class=StreamingResponse, responses={200: _AS_STREAM, **refusals(404)}
)
async def stream_events(
    caller: PoolReader, pool: PoolName, after: After = 0, last_event_id: LastEventId = None
) -> Response:
    """Send the events after one, and then those that happen, as server-sent events.

    The data of each is an `EventView`, its id the number of the event.
    """
    number = await run_in_threadpool(caller.service.pool_number, pool)
    _check_streams(caller)
    start = _resume(after, last_event_id)
    await run_in_threadpool(caller.service.follow, number, start, 1)  # refuses what is not yet
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_lines(caller, pool, number, start), 200, headers, _STREAM)


def _check_streams(caller: Caller) -> None:
    most, service = caller.service.settings.max_streams, caller.service
    if caller.request.app.state.open_streams >= most:
        service.metrics.limits.labels("max_streams").inc()
        raise RefusalError(
            "too-many-streams",
            f"{most} streams of events are open, the most that the setting max_streams allows: "
            "close one, read the log page by page, or raise it",
            retry_s=5,
        )


def _resume(after: int, last_event_id: str | None) -> int:
    """Return the event after which a stream goes on."""
    if last_event_id is None:
        return after
    number = last_event_id.isascii() and last_event_id.isdigit()
    if not number or int(last_event_id) >= MAX_INTEGER:
        raise RefusalError(
            "invalid-request",
            f"Last-Event-ID is the number of an event, got {last_event_id!r}: send the id of the "
            "last event that came, or leave it out",
        )
    return int(last_event_id)


async def _lines(caller: Caller, pool: str, number: int, after: int) -> AsyncIterator[str]:
    """Yield the log from `after` on, looking for more until the service stops."""
    service, stopping = caller.service, caller.request.app.state.stopping
    wait = service.settings.poll_s
    silent, checked = 0.0, time.monotonic()
    yield "retry: 1000\n\n"
    if caller.request.app.state.open_streams >= service.settings.max_streams:
        return  # others have begun at the same moment
    with service.metrics.streams.track_inprogress(), _counted(caller.request.app.state):
        while not stopping.is_set():
            if time.monotonic() - checked > _CHECK_S:
                if not await run_in_threadpool(_may_still_read, caller, pool, number):
                    return
                checked = time.monotonic()
            try:
                page = await run_in_threadpool(service.follow, number, after, _BATCH)
            except RefusalError:
                return  # the log was replaced: a new stream is told so
            events = page["events"]
            for event in events:
                yield f"id: {event['seq']}\nevent: {event['kind']}\ndata: {json.dumps(event)}\n\n"
                after = event["seq"]
            if events and events[-1]["kind"] == "deleted":
                return
            silent = 0.0 if events else silent + wait
            if silent >= _SILENCE_S:
                silent = 0.0
                yield ": nothing new\n\n"
            if len(events) < _BATCH:
                await asyncio.sleep(wait)


@contextmanager
def _counted(state: State) -> Iterator[None]:
    state.open_streams += 1
    try:
        yield
    finally:
        state.open_streams -= 1


def _may_still_read(caller: Caller, pool: str, number: int) -> bool:
    """Return whether key and pool still exist since the stream began."""
    try:
        caller.reauthenticated().require("read", pool)
        return caller.service.pool_number(pool) == number  # another one may get its name
    except RefusalError:
        return False
