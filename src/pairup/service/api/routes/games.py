"""Games: shown, and their outcomes reported."""

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
from pairup.service.api.schemas.games import (
    GameView,
    NewReport,
    ReceiptBatch,
    ReceiptView,
    ReportBatch,
)
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord, Ledger
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction
from pairup.service.use_cases import outcomes
from pairup.service.use_cases.idempotency import Answer
from pairup.service.use_cases.outcomes import Sent
from pairup.service.use_cases.unit_of_work import Changes

router = APIRouter(prefix="/v1", tags=["games"])


@router.get("/games/{game}", response_model=GameView, responses=refusals(404))
def show_game(caller: Asks, game: Id) -> Response:
    """Show a game."""
    found = _found(caller, game, "read")

    def view(pool: Pool, transaction: Transaction) -> dict[str, Any]:
        return views.game(transaction.games([game])[game])

    return shown(caller.service.read(found.pool_id, view))


@router.put("/games/{game}/outcome", response_model=ReceiptView, responses=refusals(404, 409))
def report(caller: Asks, game: Id, body: NewReport) -> Response:
    """Report what became of a game, or as much as is known of it.

    Sent twice it changes nothing; what contradicts the first report is refused with what is stored;
    what comes late is stored and not learnt.
    """
    found = _found(caller, game, "write")

    def command(changes: Changes, transaction: Transaction) -> Answer:
        ledger = Ledger(transaction.games([game]), changes.log)
        sent = Sent(game, body.outcome, body.answers)
        return Answer.of(200, outcomes.report(changes, sent, ledger.get(game)).as_json())

    return respond(caller.service.change(found.pool_id, command))


@router.post("/pools/{pool}/outcomes", response_model=ReceiptBatch, responses=refusals(404, 409))
def report_many(caller: Asks, once: DoneOnce, pool: PoolName, body: ReportBatch) -> Response:
    """Report what became of several games; each report gets the answer it would get alone."""
    id, most = caller.pool(pool, "write"), caller.service.settings.max_outcomes
    at_most("outcomes", body.outcomes, most, "max_outcomes")
    sent = [Sent(each.game, each.outcome, each.answers) for each in body.outcomes]

    def command(changes: Changes, transaction: Transaction) -> Answer:
        ledger = Ledger(transaction.games({each.game for each in sent}), changes.log)
        return Answer.of(200, {"results": [_result(changes, each, ledger) for each in sent]})

    return respond(caller.service.change(id, command, once.by(caller)))


def _result(changes: Changes, sent: Sent, ledger: Ledger) -> dict[str, Any]:
    try:
        return outcomes.report(changes, sent, ledger.get(sent.game)).as_json()
    except RefusalError as problem:
        shown = problem.as_json(f"/v1/games/{sent.game}/outcome")
        return {"game": sent.game, "result": "refused", "problem": shown}


def _found(caller: Caller, game: str, scope: str) -> GameRecord:
    may_read = caller.principal.may  # or a refusal, before anything is looked up
    with caller.service.store.reading() as transaction:
        record = transaction.games([game]).get(game)
        pool = transaction.pool(record.pool_id) if record else None
    # Who may not look into its pool is not told whether it exists.
    if record is None or pool is None or not may_read("read", pool.name):
        raise RefusalError(
            "no-such-game", f"no game has the id {game!r}: send the id that the matching gave it"
        )
    caller.need(scope, pool.name)
    return record
