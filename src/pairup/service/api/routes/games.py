"""Routes of games and of the reports about them."""

from __future__ import annotations

from fastapi import APIRouter, Response

from pairup.service.api.dependencies import CurrentCaller, SentKey
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send, send_reply
from pairup.service.api.schemas.fields import Id, PoolName
from pairup.service.api.schemas.games import (
    GameView,
    NewReport,
    ReceiptBatch,
    ReceiptView,
    ReportBatch,
)
from pairup.service.domain.game_report import Report
from pairup.service.use_cases.report_handling import unknown_game

router = APIRouter(prefix="/v1", tags=["games"])


@router.get("/games/{game}", response_model=GameView, responses=refusals(404, 410))
def get_game(caller: CurrentCaller, game: Id) -> Response:
    """Show a game."""
    pool = caller.find_pool("read", game, caller.service.pool_of_game, unknown_game)
    return send(caller.service.show_game(pool, game))


@router.put("/games/{game}/outcome", response_model=ReceiptView, responses=refusals(404, 409, 410))
def report_outcome(caller: CurrentCaller, game: Id, body: NewReport) -> Response:
    """Report what became of a game, or as much as is known of it.

    A report that is sent twice changes nothing; one that contradicts the first is refused with what
    is stored; one that comes late is stored and not learnt.
    """
    pool = caller.find_pool("write", game, caller.service.pool_of_game, unknown_game)
    given = Report.of(body.outcome, body.answers)
    return send(caller.service.report_outcome(pool, game, given))


@router.post("/pools/{pool}/outcomes", response_model=ReceiptBatch, responses=refusals(404, 409))
def report_outcomes(
    caller: CurrentCaller, key: SentKey, pool: PoolName, body: ReportBatch
) -> Response:
    """Report what became of several games; each report is answered as if it were sent alone."""
    caller.require("write", pool)
    maximum = caller.service.settings.max_outcomes
    check_length("outcomes", body.outcomes, maximum, "max_outcomes")
    given = [(each.game, Report.of(each.outcome, each.answers)) for each in body.outcomes]
    return send_reply(caller.service.report_outcomes(pool, given, caller.keyed(key)))
