"""Pools: made, listed, changed and deleted."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from pairup.errors import PairupError
from pairup.policies import Policy
from pairup.service.api import views
from pairup.service.api.dependencies import (
    Asks,
    DoneOnce,
    after_cursor,
    cursor_of,
    page_size,
    refusals,
    respond,
    shown,
)
from pairup.service.api.schemas.fields import PoolName
from pairup.service.api.schemas.pools import (
    DigestView,
    NewPool,
    PoolPage,
    PoolView,
    RulesChange,
)
from pairup.service.domain.clock import written
from pairup.service.domain.pool import Pool
from pairup.service.domain.rules import Rules
from pairup.service.operations.verify import digest_of
from pairup.service.operations.warmup import warm
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Transaction
from pairup.service.use_cases import commands
from pairup.service.use_cases.idempotency import Answer
from pairup.service.use_cases.unit_of_work import Changes

router = APIRouter(prefix="/v1/pools", tags=["pools"])
Limit = Annotated[int | None, Query(ge=1, description="Items of the page.")]
Cursor = Annotated[
    str | None,
    Query(max_length=1024, pattern="^[A-Za-z0-9_-]*$", description="The `next` of a page."),
]


_LINKS = {
    "links": {
        name: {"operationId": name, "parameters": {"pool": "$response.body#/name"}}
        for name in ("show_pool", "put_player", "list_players", "propose", "show_stats")
    }
}


@router.post("", status_code=201, response_model=PoolView, responses={201: _LINKS, **refusals(409)})
def make_pool(caller: Asks, once: DoneOnce, body: NewPool) -> Response:
    """Make a pool."""
    caller.need("admin", body.name)
    try:
        rules = Rules.of(body.given())
        warm(rules.make_policy())
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from None

    def render(pool: Pool) -> Answer:
        return Answer.of(201, views.pool(pool), {"Location": f"/v1/pools/{body.name}"})

    return respond(caller.service.create(body.name, rules, render, once.by(caller)))


@router.get("", response_model=PoolPage, responses=refusals())
def list_pools(caller: Asks, cursor: Cursor = None, limit: Limit = None) -> Response:
    """List the pools that the API key may read, by name."""
    caller.principal  # noqa: B018  # who may read no pool at all is refused, not shown none
    service, size = caller.service, page_size(limit, caller.service.settings.max_page_items)
    found, after = list[PoolRow](), after_cursor(cursor)
    with service.store.reading() as transaction:
        while len(found) <= size:
            rows = transaction.pools(after, size + 1)
            found += [row for row in rows if caller.principal.may("read", row.name)]
            if len(rows) <= size:
                break
            after = rows[-1].name
    pools = [
        {"name": row.name, "created_at": written(row.created_at), "seq": row.seq}
        for row in found[:size]
    ]
    more = cursor_of(found[size - 1].name) if len(found) > size else None
    return shown({"pools": pools, "next": more})


@router.get("/{pool}", response_model=PoolView, responses=refusals(404))
def show_pool(caller: Asks, pool: PoolName) -> Response:
    """Show a pool."""
    id = caller.pool(pool, "read")
    return shown(caller.service.read(id, lambda found, _: views.pool(found)))


@router.get("/{pool}/digest", response_model=DigestView, responses=refusals(404))
def show_digest(caller: Asks, pool: PoolName) -> Response:
    """Show a digest of all that a pool is, which `pairup verify` finds again in its log."""
    id = caller.pool(pool, "read")
    view = caller.service.read(id, lambda found, _: {"seq": found.seq, "digest": digest_of(found)})
    return shown(view)


@router.patch("/{pool}", response_model=PoolView, responses=refusals(404, 409))
def change_pool(caller: Asks, pool: PoolName, body: RulesChange) -> Response:
    """Change rules of a pool; a new policy is told what is known of the couples."""
    id, wanted = caller.pool(pool, "admin"), body.given()
    if {"policy", "options"} & wanted.keys():  # compiled before the pool is locked for it
        warm(caller.service.read(id, lambda found, _: _policy_after(found, wanted)))

    def command(changes: Changes, _: Transaction) -> Answer:
        commands.configure(changes, wanted)
        return Answer.of(200, views.pool(changes.pool))

    return respond(caller.service.change(id, command))


def _policy_after(pool: Pool, wanted: dict[str, Any]) -> Policy:
    return pool.rules.changed(commands.news(pool, wanted)).make_policy()


@router.delete("/{pool}", status_code=204, responses=refusals(404, 409))
def delete_pool(caller: Asks, pool: PoolName) -> Response:
    """Delete a pool: its name is free again, open games are released; its log stays stored."""
    id = caller.pool(pool, "admin")

    def command(changes: Changes, _: Transaction) -> Answer:
        commands.delete(changes)
        return Answer(204)

    return respond(caller.service.change(id, command))
