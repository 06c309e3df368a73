"""Routes of pools and of their players."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.door import (
    Caller,
    IdempotencyKey,
    KnownCaller,
    PoolAdmin,
    PoolReader,
    PoolWriter,
    door,
)
from pairup.service.api.paging import (
    Cursor,
    Limit,
    check_length,
    decode_cursor,
    encode_cursor,
    page_size,
)
from pairup.service.api.responses import refusals, send, send_reply, send_results
from pairup.service.api.schemas.fields import PoolName, SentPlayer
from pairup.service.api.schemas.pools import (
    DigestView,
    NewPool,
    PlayerBatch,
    PlayerChange,
    PlayerPage,
    PlayerResults,
    PlayerView,
    PoolPage,
    PoolView,
    RulesChange,
)
from pairup.service.domain.events import PlayerStatus
from pairup.service.pools import views
from pairup.service.pools.players import Wish

router = APIRouter(prefix="/v1/pools", tags=["pools"])
players_router = APIRouter(prefix="/v1/pools/{pool}/players", tags=["players"])
# Which pool it is, only the body says.
PoolCreator = Annotated[Caller, door(lambda caller: caller.require_anywhere("admin"))]
_MAX_PARTS = 100_000  # of rules that are read, if only to say how many may be sent
_LINKS = {
    "links": {
        name: {"operationId": name, "parameters": {"pool": "$response.body#/name"}}
        for name in ("get_pool", "put_player", "list_players", "propose_matching", "get_stats")
    }
}


@router.post(
    "",
    status_code=201,
    response_model=PoolView,
    responses={201: _LINKS, **refusals(409)},
    openapi_extra=json_body(NewPool),
)
def create_pool(caller: PoolCreator, idempotency_key: IdempotencyKey = None) -> Response:
    """Create a pool."""
    body = caller.read(NewPool, max_parts=_MAX_PARTS)
    caller.require("admin", body.name)
    request, by = caller.keyed(idempotency_key), caller.principal.name
    reply = caller.service.create_pool(body.name, body.given(), request, by)
    return send_reply(reply, 201, f"/v1/pools/{body.name}")


@router.get("", response_model=PoolPage, responses=refusals())
def list_pools(caller: KnownCaller, cursor: Cursor = None, limit: Limit = None) -> Response:
    """List the pools that the API key may read, by name."""
    may, size = caller.principal.may, page_size(limit, caller.service.settings.max_page_items)
    after = decode_cursor(cursor)
    rows, more = caller.service.list_pools(lambda pool: may("read", pool), after, size)
    following = encode_cursor(rows[-1].name) if more else None
    return send({"pools": [views.pool_item(row) for row in rows], "next": following})


@router.get("/{pool}", response_model=PoolView, responses=refusals(404))
def get_pool(caller: PoolReader, pool: PoolName) -> Response:
    """Show a pool."""
    return send(caller.service.show_pool(pool))


@router.get("/{pool}/digest", response_model=DigestView, responses=refusals(404))
def get_pool_digest(caller: PoolReader, pool: PoolName) -> Response:
    """Show a digest of the state of a pool, which `pairup verify` computes from its log."""
    return send(caller.service.show_digest(pool))


@router.patch(
    "/{pool}",
    response_model=PoolView,
    responses=refusals(404, 409),
    openapi_extra=json_body(RulesChange),
)
def update_pool(caller: PoolAdmin, pool: PoolName) -> Response:
    """Change rules of a pool; a new policy learns what is known of the couples."""
    body = caller.read(RulesChange, max_parts=_MAX_PARTS)
    return send(caller.service.configure_pool(pool, body.given(), caller.principal.name))


@router.delete("/{pool}", status_code=204, responses=refusals(404, 409))
def delete_pool(caller: PoolAdmin, pool: PoolName) -> Response:
    """Delete a pool: its name is free again, open games are released; its log stays stored."""
    caller.service.delete_pool(pool, caller.principal.name)
    return Response(status_code=204)


_MEAN_ATTRIBUTES = 8  # of the players in a large batch, at most
_MEAN_ITEMS = 8  # ... of the attributes of each that are lists
PlayerPath = Annotated[SentPlayer, Path(description="Player; a slash may be sent as %2F or as /.")]
_JOINED = {"model": PlayerView, "description": "The player joined."}
StatusFilter = Annotated[
    PlayerStatus | None, Query(alias="status", description="Status of the players to list.")
]
Forget = Annotated[
    bool | None,
    Query(
        description="Whether the player's record is forgotten; by default unless the pool's rule "
        "`keep_records` says otherwise."
    ),
]
Erase = Annotated[
    bool, Query(description="Whether the player's name is erased, and the record forgotten.")
]


@players_router.get("", response_model=PlayerPage, responses=refusals(404))
def list_players(
    caller: PoolReader,
    pool: PoolName,
    cursor: Cursor = None,
    limit: Limit = None,
    status: StatusFilter = None,
) -> Response:
    """List the players of a pool, by name."""
    size = page_size(limit, caller.service.settings.max_page_items)
    players, more = caller.service.list_players(pool, status, decode_cursor(cursor), size)
    following = encode_cursor(players[-1]["player"]) if more else None
    return send({"players": players, "next": following})


@players_router.post(
    "",
    response_model=PlayerResults,
    responses=refusals(404, 409),
    openapi_extra=json_body(PlayerBatch),
)
def put_players(
    caller: PoolWriter, pool: PoolName, idempotency_key: IdempotencyKey = None
) -> Response:
    """Set whether several players wait, are away or leave; each is answered as if sent alone.

    Those who leave do so first, and make room for others.
    """
    maximum = caller.service.settings.max_player_changes
    sizes = {"max_parts": (4 + _MEAN_ATTRIBUTES) * maximum, "max_items": _MEAN_ITEMS * maximum}
    body = caller.read(PlayerBatch, **sizes)
    check_length("players", body.players, maximum, "max_player_changes")
    wanted = [Wish(each.player, each.wish, each.attributes) for each in body.players]
    reply = caller.service.put_players(pool, wanted, caller.keyed(idempotency_key))
    return send_results(reply, lambda _: f"/v1/pools/{pool}/players")


@players_router.get("/{player:path}", response_model=PlayerView, responses=refusals(404))
def get_player(caller: PoolReader, pool: PoolName, player: PlayerPath) -> Response:
    """Show a player."""
    return send(caller.service.show_player(pool, player))


@players_router.put(
    "/{player:path}",
    response_model=PlayerView,
    responses={201: _JOINED, **refusals(404, 409)},
    openapi_extra=json_body(PlayerChange, required=False),
)
def put_player(caller: PoolWriter, pool: PoolName, player: PlayerPath) -> Response:
    """Set whether a player waits or is away, and attributes; a new player joins.

    A game that is proposed to the player stays proposed.
    """
    sent = caller.read(PlayerChange, default=PlayerChange.model_validate({}))
    view, joined = caller.service.put_player(pool, player, sent.wish, sent.attributes)
    return send(view, 201 if joined else 200)


@players_router.delete("/{player:path}", status_code=204, responses=refusals(404, 409))
def remove_player(
    caller: PoolWriter,
    pool: PoolName,
    player: PlayerPath,
    forget: Forget = None,
    erase: Erase = False,
) -> Response:
    """Remove a player, and forget what was learnt about them; an open game is released.

    With `forget=false`, or by the pool's rule `keep_records`, their record is kept until they join
    again; `forget=true` forgets the record of a player who left before, too. `erase=true` also
    erases their name wherever it is stored. To remove a player again changes nothing.
    """
    if erase:
        caller.service.erase_player(pool, player)
    else:
        caller.service.remove_player(pool, player, forget)
    return Response(status_code=204)
