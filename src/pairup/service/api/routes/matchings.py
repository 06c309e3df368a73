"""Matchings: proposed, shown and released."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from pairup.service.api import views
from pairup.service.api.dependencies import (
    Asks,
    Caller,
    DoneOnce,
    at_most,
    refusals,
    respond,
    shown,
)
from pairup.service.api.schemas.fields import Id, PoolName
from pairup.service.api.schemas.matchings import MatchingView, NewMatching
from pairup.service.domain.events import ProposedGame
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord, Ledger
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction
from pairup.service.store.transaction import MatchingRow
from pairup.service.use_cases import commands
from pairup.service.use_cases.idempotency import Answer
from pairup.service.use_cases.unit_of_work import Changes

router = APIRouter(prefix="/v1", tags=["matchings"])


_LINKS = {
    "links": {
        name: {"operationId": name, "parameters": {of: f"$response.body#/{where}"}}
        for name, of, where in (
            ("show_matching", "matching", "id"),
            ("release", "matching", "id"),
            ("show_game", "game", "games/0/id"),
            ("report", "game", "games/0/id"),
        )
    }
}


@router.post(
    "/pools/{pool}/matchings",
    status_code=201,
    response_model=MatchingView,
    responses={201: _LINKS, **refusals(404, 409)},
)
def propose(
    caller: Asks, once: DoneOnce, pool: PoolName, body: NewMatching | None = None
) -> Response:
    """Propose the next games, of everyone who waits or of those who are available."""
    id, settings = caller.pool(pool, "write"), caller.service.settings
    wanted = body or NewMatching.model_validate({})
    at_most("players", wanted.available or (), settings.max_players, "max_players")
    at_most("couples to keep apart", wanted.apart, settings.max_apart, "max_apart")

    def command(changes: Changes, _: Transaction) -> Answer:
        event = commands.propose(changes, wanted.available, wanted.apart)
        id, until = event.matching, event.expires_at
        row = MatchingRow(id, changes.pool.id, changes.at, until, event.waiting)
        games = [
            GameRecord(game["id"], changes.pool.id, id, _couple(game), game["chance"], until)
            for game in event.games
        ]
        body = views.matching(changes.pool, row, games)
        return Answer.of(201, body, {"Location": f"/v1/matchings/{id}"})

    return respond(caller.service.change(id, command, once.by(caller)))


def _couple(game: ProposedGame) -> tuple[str, str]:
    one, other = game["players"]
    return one, other


@router.get("/matchings/{matching}", response_model=MatchingView, responses=refusals(404))
def show_matching(caller: Asks, matching: Id) -> Response:
    """Show a matching with what became of its games."""
    row = _found(caller, matching, "read")

    def view(pool: Pool, transaction: Transaction) -> dict[str, Any]:
        return views.matching(pool, row, transaction.games_of(matching))

    return shown(caller.service.read(row.pool_id, view))


@router.post(
    "/matchings/{matching}/release", response_model=MatchingView, responses=refusals(404, 409)
)
def release(caller: Asks, once: DoneOnce, matching: Id) -> Response:
    """Take back the games of a matching that are open still: nothing is learnt of them."""
    row = _found(caller, matching, "write")

    def command(changes: Changes, transaction: Transaction) -> Answer:
        stored = {game.id: game for game in transaction.games_of(matching)}
        commands.release(changes, matching)
        games = Ledger(stored, changes.log).all()
        return Answer.of(200, views.matching(changes.pool, row, games))

    return respond(caller.service.change(row.pool_id, command, once.by(caller)))


def _found(caller: Caller, matching: str, scope: str) -> MatchingRow:
    may_read = caller.principal.may  # or a refusal, before anything is looked up
    with caller.service.store.reading() as transaction:
        row = transaction.matching(matching)
        pool = transaction.pool(row.pool_id) if row else None
    # Who may not look into its pool is not told whether it exists.
    if row is None or pool is None or not may_read("read", pool.name):
        raise RefusalError(
            "no-such-matching",
            f"no matching has the id {matching!r}: send the id that POST .../matchings answered",
        )
    caller.need(scope, pool.name)
    return row
