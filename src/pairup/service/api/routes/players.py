"""Players: they join, wait, are away, and leave."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response

from pairup.service.api import views
from pairup.service.api.dependencies import (
    Asks,
    after_cursor,
    cursor_of,
    page_size,
    refusals,
    respond,
    shown,
)
from pairup.service.api.routes.pools import Cursor, Limit
from pairup.service.api.schemas.fields import PlayerId, PoolName, Status
from pairup.service.api.schemas.players import PlayerChange, PlayerPage, PlayerView
from pairup.service.domain.pool import Pool
from pairup.service.store import Transaction
from pairup.service.use_cases import commands
from pairup.service.use_cases.idempotency import Answer
from pairup.service.use_cases.unit_of_work import Changes

router = APIRouter(prefix="/v1/pools/{pool}/players", tags=["players"])
Named = Annotated[PlayerId, Path(description="A slash in it is sent as %2F, or as it is.")]
Doing = Annotated[Status | None, Query(alias="status", description="Only who does this.")]


@router.get("", response_model=PlayerPage, responses=refusals(404))
def list_players(
    caller: Asks,
    pool: PoolName,
    cursor: Cursor = None,
    limit: Limit = None,
    doing: Doing = None,
) -> Response:
    """List the players of a pool, by name."""
    id, size = caller.pool(pool, "read"), page_size(limit, caller.service.settings.max_page_items)
    after = after_cursor(cursor)

    def view(found: Pool, _: Transaction) -> dict[str, Any]:
        names = sorted(
            name for name in found.players if name > after and doing in (None, found.status(name))
        )
        more = cursor_of(names[size - 1]) if len(names) > size else None
        return {"players": [views.player(found, name) for name in names[:size]], "next": more}

    return shown(caller.service.read(id, view))


@router.get("/{player:path}", response_model=PlayerView, responses=refusals(404))
def show_player(caller: Asks, pool: PoolName, player: Named) -> Response:
    """Show a player."""
    id = caller.pool(pool, "read")

    def view(found: Pool, _: Transaction) -> dict[str, Any]:
        if player not in found.players:
            raise commands.no_player(found.name, player)
        return views.player(found, player)

    return shown(caller.service.read(id, view))


@router.put(
    "/{player:path}",
    response_model=PlayerView,
    responses={201: {"model": PlayerView, "description": "It joined."}, **refusals(404, 409)},
)
def put_player(
    caller: Asks, pool: PoolName, player: Named, body: PlayerChange | None = None
) -> Response:
    """Let a player join, wait again or be away.

    A game that is proposed to it stays proposed.
    """
    id = caller.pool(pool, "write")
    status, most = (body or PlayerChange()).status, caller.service.settings.max_players

    def command(changes: Changes, _: Transaction) -> Answer:
        joined = commands.join(changes, player, status, most)
        return Answer.of(201 if joined else 200, views.player(changes.pool, player))

    return respond(caller.service.change(id, command))


@router.delete("/{player:path}", status_code=204, responses=refusals(404, 409))
def remove_player(caller: Asks, pool: PoolName, player: Named) -> Response:
    """Let a player leave: what was learnt about it is forgotten, an open game is released."""
    id = caller.pool(pool, "write")

    def command(changes: Changes, _: Transaction) -> Answer:
        commands.leave(changes, player)
        return Answer(204)

    return respond(caller.service.change(id, command))
