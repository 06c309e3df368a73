"""Routes of games and of the reports about them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.dependencies import Caller, CurrentCaller, PoolWriter, SentKey, door
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send, send_reply
from pairup.service.api.schemas.fields import GameId, PoolName
from pairup.service.api.schemas.games import (
    GameView,
    NewReport,
    ReceiptBatch,
    ReceiptView,
    ReportBatch,
)
from pairup.service.use_cases.report_handling import SentReport, unknown_game

router = APIRouter(prefix="/v1", tags=["games"])


def _find_pool(caller: Caller) -> str:
    return caller.find_pool("write", caller.id_in_path("game"), unknown_game)


GameWriter = Annotated[Caller, door(_find_pool)]


@router.get("/games/{game}", response_model=GameView, responses=refusals(404, 410))
def get_game(caller: CurrentCaller, game: GameId) -> Response:
    """Show a game."""
    pool = caller.find_pool("read", game, unknown_game)
    return send(caller.service.show_game(pool, game))


@router.put(
    "/games/{game}/outcome",
    response_model=ReceiptView,
    responses=refusals(404, 409, 410),
    openapi_extra=json_body(NewReport),
)
def report_outcome(caller: GameWriter, game: GameId) -> Response:
    """Report what became of a game, or as much as is known of it.

    A report that is sent twice changes nothing; one that contradicts the first is refused with what
    is stored; one that comes late is stored and not learnt.
    """
    pool, body = caller.find_pool("write", game, unknown_game), caller.read(NewReport)
    sent = SentReport(game, body.outcome, body.answers)
    return send(caller.service.report_outcome(pool, sent))


@router.post(
    "/pools/{pool}/outcomes",
    response_model=ReceiptBatch,
    responses=refusals(404, 409),
    openapi_extra=json_body(ReportBatch),
)
def report_outcomes(caller: PoolWriter, key: SentKey, pool: PoolName) -> Response:
    """Report what became of several games; each report is answered as if it were sent alone."""
    maximum = caller.service.settings.max_outcomes
    body = caller.read(ReportBatch, max_parts=7 * maximum)
    check_length("outcomes", body.outcomes, maximum, "max_outcomes")
    given = [SentReport(each.game, each.outcome, each.answers) for each in body.outcomes]
    return send_reply(caller.service.report_outcomes(pool, given, caller.keyed(key)))
