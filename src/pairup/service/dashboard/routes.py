"""Routes of the dashboard: a page of all pools, and a page of each."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Response

from pairup.service.api import views
from pairup.service.api.dependencies import Asks, Caller, after_cursor, cursor_of
from pairup.service.api.routes.pools import Cursor
from pairup.service.api.schemas.fields import POOL_NAME
from pairup.service.api.schemas.insight import EstimatesView, StatsView
from pairup.service.dashboard.charts import MAX_RATES, chart_data
from pairup.service.dashboard.course import course_points
from pairup.service.dashboard.panels import (
    MAX_COUPLES,
    MAX_GAMES,
    GameRow,
    cancellation_bars,
    feedback_bars,
    game_rows,
    reserved_rows,
)
from pairup.service.dashboard.rendering import is_known, page, tag_of, unchanged
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord
from pairup.service.domain.rules import Rules
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Transaction
from pairup.service.use_cases.service import no_pool

router = APIRouter(include_in_schema=False)
_MAX_POOLS = 24  # per page: each is read in full


def _page_of_refusal(route: Callable[..., Response]) -> Callable[..., Response]:
    """Answer a refusal with a page too; the lack of a key with one that asks for it."""

    @functools.wraps(route)
    def answered(caller: Caller, **parameters: Any) -> Response:
        try:
            return route(caller, **parameters)
        except RefusalError as refusal:
            status = refusal.kind.status
            if refusal.slug != "key-needed":
                return page(caller, "refusal", status=status, refusal=refusal)
            refused = "authorization" in caller.request.headers
            return page(caller, "key", status=status if refused else 200, refused=refused)

    return answered


@router.get("/")
@_page_of_refusal
def pools_page(caller: Asks, cursor: Cursor = None) -> Response:
    """Show the pools that the key may read."""
    found, more = _readable_pools(caller, after_cursor(cursor))
    tag = tag_of(*(f"{row.id}-{row.seq}" for row in found))
    if is_known(caller, tag):
        return unchanged(tag)
    pools = [stats for row in found if (stats := _stats(caller, row.id))]
    return page(caller, "pools", tag, pools=pools, more=more)


@router.get("/pools/{pool}")
@_page_of_refusal
def pool_page(caller: Asks, pool: str) -> Response:
    """Show a pool."""
    if not re.match(POOL_NAME, pool):
        raise no_pool(pool)
    id = caller.pool(pool, "read")
    tag, snapshot = caller.service.read(id, functools.partial(_snapshot, caller))
    if snapshot is None:
        return unchanged(tag)
    stats, estimates = snapshot.stats, snapshot.estimates
    points = course_points(stats.course)
    return page(
        caller,
        "pool",
        tag,
        players=len(estimates.players),
        stats=stats,
        estimates=estimates,
        rules=snapshot.rules,
        games=snapshot.games,
        reserved_rows=reserved_rows(len(estimates.players)),
        rates=estimates.players[:MAX_RATES],
        couples=estimates.couples[:MAX_COUPLES],
        points=points,
        cancellations=cancellation_bars(stats, snapshot.rules),
        feedback=feedback_bars(stats),
        charts=chart_data(stats, estimates, points),
    )


@dataclass(frozen=True)
class _Snapshot:
    """A pool at one moment, as its page shows it."""

    stats: StatsView
    estimates: EstimatesView
    rules: Rules
    games: list[GameRow]


def _snapshot(caller: Caller, pool: Pool, transaction: Transaction) -> tuple[str, _Snapshot | None]:
    """Return the tag of a pool's page, and what it shows unless the browser has it."""
    tag = tag_of(pool.id, str(pool.seq))
    if is_known(caller, tag):
        return tag, None
    latest = list[GameRecord]()
    if pool.matching is not None:
        latest = transaction.games_of(pool.matching, MAX_GAMES)
    return tag, _Snapshot(
        StatsView.model_validate(views.stats(pool, MAX_GAMES)),
        EstimatesView.model_validate(views.learnt(pool, caller.service.settings.max_couples)),
        pool.rules,
        game_rows(pool, latest, caller.service.clock.now()),
    )


def _readable_pools(caller: Caller, after: str) -> tuple[list[PoolRow], str | None]:
    """Return a page of the pools that the key may read, and the cursor of the next one."""
    found = list[PoolRow]()
    with caller.service.store.reading() as transaction:
        while rows := transaction.pools(after, _MAX_POOLS + 1):
            found += [row for row in rows if caller.principal.may("read", row.name)]
            after = rows[-1].name
            if len(found) > _MAX_POOLS:
                return found[:_MAX_POOLS], cursor_of(found[_MAX_POOLS - 1].name)
    return found, None


def _stats(caller: Caller, id: str) -> StatsView | None:
    try:
        stats = caller.service.read(id, lambda pool, _: views.stats(pool, 0))
    except RefusalError:  # deleted since the list was read
        return None
    return StatsView.model_validate(stats)
