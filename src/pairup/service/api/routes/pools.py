"""Routes of pools."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.dependencies import Caller, CurrentCaller, PoolAdmin, SentKey, door
from pairup.service.api.paging import Cursor, Limit, decode_cursor, encode_cursor, page_size
from pairup.service.api.responses import refusals, send, send_reply
from pairup.service.api.schemas.fields import PoolName
from pairup.service.api.schemas.pools import DigestView, NewPool, PoolPage, PoolView, RulesChange
from pairup.service.use_cases import views

router = APIRouter(prefix="/v1/pools", tags=["pools"])
# Which pool it is, only the body says.
PoolCreator = Annotated[Caller, door(lambda caller: caller.require_anywhere("admin"))]
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
def create_pool(caller: PoolCreator, key: SentKey) -> Response:
    """Create a pool."""
    body = caller.read(NewPool)
    caller.require("admin", body.name)
    reply = caller.service.create_pool(body.name, body.given(), caller.keyed(key))
    return send_reply(reply, 201, f"/v1/pools/{body.name}")


@router.get("", response_model=PoolPage, responses=refusals())
def list_pools(caller: CurrentCaller, cursor: Cursor = None, limit: Limit = None) -> Response:
    """List the pools that the API key may read, by name."""
    may, size = caller.principal.may, page_size(limit, caller.service.settings.max_page_items)
    after = decode_cursor(cursor)
    rows, more = caller.service.list_pools(lambda pool: may("read", pool), after, size)
    following = encode_cursor(rows[-1].name) if more else None
    return send({"pools": [views.pool_item(row) for row in rows], "next": following})


@router.get("/{pool}", response_model=PoolView, responses=refusals(404))
def get_pool(caller: CurrentCaller, pool: PoolName) -> Response:
    """Show a pool."""
    caller.require("read", pool)
    return send(caller.service.show_pool(pool))


@router.get("/{pool}/digest", response_model=DigestView, responses=refusals(404))
def get_pool_digest(caller: CurrentCaller, pool: PoolName) -> Response:
    """Show a digest of the state of a pool, which `pairup verify` computes from its log."""
    caller.require("read", pool)
    return send(caller.service.show_digest(pool))


@router.patch(
    "/{pool}",
    response_model=PoolView,
    responses=refusals(404, 409),
    openapi_extra=json_body(RulesChange),
)
def update_pool(caller: PoolAdmin, pool: PoolName) -> Response:
    """Change rules of a pool; a new policy is told what is known of the couples."""
    body = caller.read(RulesChange)
    return send(caller.service.configure_pool(pool, body.given()))


@router.delete("/{pool}", status_code=204, responses=refusals(404, 409))
def delete_pool(caller: CurrentCaller, pool: PoolName) -> Response:
    """Delete a pool: its name is free again, open games are released; its log stays stored."""
    caller.require("admin", pool)
    caller.service.delete_pool(pool)
    return Response(status_code=204)
