"""Routes of insight: what was learnt, what was counted, and the log itself."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, NamedTuple

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
from pairup.service.pools.service import Service
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
_SILENCE_S = 50.0  # seconds without events until a comment keeps the connection alive
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
    """Yield the log from `after` on, and then what is committed, until the service stops."""
    service, state = caller.service, caller.request.app.state
    yield "retry: 1000\n\n"
    if state.open_streams >= service.settings.max_streams:
        return  # others have begun at the same moment
    following = service.notices.following(number, pool, caller.principal)
    with service.metrics.streams.track_inprogress(), _counted(state), following as follower:
        while not follower.ended and not state.stopping.is_set():
            read = partial(run_in_threadpool, _read_page, service, number, after)
            try:
                page = await service.notices.shared((number, after), read)
            except RefusalError:
                return  # the log was replaced: a new stream is refused
            if page.lines:
                yield page.lines
                after = page.last
            if page.is_end:
                return
            while not page.is_full and not await follower.wait(_SILENCE_S):
                yield ": nothing new\n\n"


class _Page(NamedTuple):
    """Some events as they are sent to all streams that have come as far."""

    lines: str
    last: int  # event
    is_full: bool  # whether there may be more
    is_end: bool  # whether there will be no more


def _read_page(service: Service, number: int, after: int) -> _Page:
    events = service.follow(number, after, _BATCH)["events"]
    lines = (
        f"id: {each['seq']}\nevent: {each['kind']}\ndata: {json.dumps(each)}\n\n" for each in events
    )
    last: dict[str, Any] = events[-1] if events else {"seq": after, "kind": ""}
    return _Page("".join(lines), last["seq"], len(events) == _BATCH, last["kind"] == "deleted")


@contextmanager
def _counted(state: State) -> Iterator[None]:
    state.open_streams += 1
    try:
        yield
    finally:
        state.open_streams -= 1
