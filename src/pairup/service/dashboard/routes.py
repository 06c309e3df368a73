"""Routes of the dashboard: a page of all pools, and a page of each."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Response

from pairup.service.api.door import Caller, CurrentCaller
from pairup.service.api.forwarding import ask_owner
from pairup.service.api.paging import Cursor, decode_cursor, encode_cursor
from pairup.service.api.schemas.insight import EstimatesView, StatsView
from pairup.service.api.schemas.problems import PROBLEM_TYPES
from pairup.service.dashboard import panels
from pairup.service.dashboard.charts import MAX_RATES, chart_data, course_points, first_of_page
from pairup.service.dashboard.rendering import is_known, page, poll_interval_ms, tag_of, unchanged
from pairup.service.dashboard.tenths import Tenth, tenths_of
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.names import POOL_NAME
from pairup.service.domain.pool import Pool
from pairup.service.pools import views
from pairup.service.pools.cache import UnreadablePoolError, unknown_pool
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.store import Transaction

router = APIRouter(include_in_schema=False)
_MAX_POOLS = 24  # per page: each is read in full


class _Snapshot(NamedTuple):
    """What the page of a pool shows, at one moment."""

    stats: StatsView
    estimates: EstimatesView
    rules: Rules
    games: list[dict[str, Any]]
    tenths: list[Tenth]


def _page_of_refusal(route: Callable[..., Response]) -> Callable[..., Response]:
    """Answer a refusal with a page too; the lack of a key with one that asks for it."""

    @functools.wraps(route)
    def answered(caller: Caller, **parameters: Any) -> Response:
        try:
            return route(caller, **parameters)
        except MisdirectedError:
            raise  # the process that serves the pool makes the page
        except RefusalError as refusal:
            kind = PROBLEM_TYPES[refusal.slug]
            status, detail = kind.status, refusal.detail
            if refusal.slug != "key-needed":
                return page(caller, "refusal", status=status, title=kind.title, detail=detail)
            refused = "authorization" in caller.request.headers
            return page(caller, "key", status=status if refused else 200, refused=refused)

    return answered


@router.get("/")
@_page_of_refusal
def pools_page(caller: CurrentCaller, cursor: Cursor = None) -> Response:
    """Show the pools that the key may read."""
    may, after = caller.principal.may, decode_cursor(cursor)
    found, others = caller.service.list_pools(lambda pool: may("read", pool), after, _MAX_POOLS)
    more = encode_cursor(found[-1].name) if others else None
    unreadable = str(caller.service.pools.cache.unreadable)  # a repair need not add an event
    tag = tag_of(unreadable, *(row.chain.hex() for row in found))
    if is_known(caller, tag):
        return unchanged(tag)
    pools, unread = [], []
    for row in found:
        try:
            pools.append(StatsView.model_validate(caller.service.stats(row.name, 0)))
        except MisdirectedError as misdirected:
            path = f"/v1/pools/{row.name}/stats"
            if told := ask_owner(caller, misdirected, path):
                pools.append(StatsView.model_validate_json(told))
            else:
                unread.append(row.name)
        except UnreadablePoolError:
            unread.append(row.name)
        except RefusalError:
            continue  # deleted since the list was read
    return page(caller, "pools", tag, pools=pools, unread=unread, more=more)


@router.get("/pools/{pool}")
@_page_of_refusal
def pool_page(
    caller: CurrentCaller, pool: str, first: Annotated[int, Query(ge=1, le=10**9)] = 1
) -> Response:
    """Show a pool, with the rates of the players from the `first` on, the best being 1."""
    if not re.match(POOL_NAME, pool):
        raise unknown_pool(pool)
    caller.require("read", pool)
    tag, snapshot = caller.service.read(pool, functools.partial(_snapshot, caller))
    if snapshot is None:
        return unchanged(tag)
    stats, estimates = snapshot.stats, snapshot.estimates
    points, first = course_points(stats.course), first_of_page(first, len(estimates.players))
    return page(
        caller,
        "pool",
        tag,
        interval_ms=poll_interval_ms(len(estimates.players)),
        **snapshot._asdict(),
        reserved_rows=panels.reserved_rows(len(estimates.players)),
        first=first,
        rates=estimates.players[first - 1 :][:MAX_RATES],
        page_size=MAX_RATES,
        couples=estimates.couples[: panels.MAX_COUPLES],
        points=points,
        cancellations=panels.cancellation_bars(stats, snapshot.rules),
        feedback=panels.feedback_bars(stats),
        unmatched=panels.unmatched_bars(stats.unmatched),
        charts=chart_data(stats, estimates, points, tenths=snapshot.tenths, first=first),
    )


def _snapshot(caller: Caller, pool: Pool, transaction: Transaction) -> tuple[str, _Snapshot | None]:
    """Return the tag of a pool's page, and what it shows unless the browser has it."""
    tag = tag_of(pool.head.chain.hex())
    if is_known(caller, tag):
        return tag, None
    latest = transaction.games_of(pool.number, pool.matching, panels.MAX_GAMES)
    name = views.namer(pool, transaction, (each for game in latest for each in game.players))
    now = caller.service.clock.now()
    return tag, _Snapshot(
        StatsView.model_validate(views.stats(pool, panels.MAX_GAMES, now)),
        EstimatesView.model_validate(views.estimates(pool, caller.service.settings.max_couples)),
        pool.rules,
        panels.listed_games(pool, latest, name, now),
        tenths_of(pool),
    )
