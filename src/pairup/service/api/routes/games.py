"""Routes of matchings, of their games and of the reports about them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.door import Caller, IdempotencyKey, PoolWriter, door
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send, send_reply, send_results
from pairup.service.api.schemas.fields import GameId, MatchingId, PoolName
from pairup.service.api.schemas.games import (
    GameView,
    MatchingView,
    NewMatching,
    NewReport,
    ObservedRound,
    ObservedView,
    ProposalView,
    ReceiptBatch,
    ReceiptView,
    ReportBatch,
)
from pairup.service.pools.observations import ObservedGame
from pairup.service.pools.proposals import Allowed, unknown_matching
from pairup.service.pools.reports import GameReport, unknown_game

matchings_router = APIRouter(prefix="/v1", tags=["matchings"])
router = APIRouter(prefix="/v1", tags=["games"])
_LINKS = {
    "links": {
        name: {"operationId": name, "parameters": {of: f"$response.body#/{where}"}}
        for name, of, where in (
            ("get_matching", "matching", "id"),
            ("release_matching", "matching", "id"),
            ("get_game", "game", "games/0/id"),
            ("report_outcome", "game", "games/0/id"),
        )
    }
}


def _matching_door(scope: str) -> Any:
    return door(lambda to: to.find_pool(scope, to.id_in_path("matching"), unknown_matching))


MatchingReader = Annotated[Caller, _matching_door("read")]
MatchingWriter = Annotated[Caller, _matching_door("write")]


@matchings_router.post(
    "/pools/{pool}/matchings",
    status_code=201,
    response_model=ProposalView,
    responses={201: _LINKS, **refusals(404, 409)},
    openapi_extra=json_body(NewMatching, required=False),
)
def propose_matching(
    caller: PoolWriter, pool: PoolName, idempotency_key: IdempotencyKey = None
) -> Response:
    """Propose the next games, of all players who wait or of those who are available."""
    settings, everyone = caller.service.settings, NewMatching.model_validate({})
    parts = 2 * settings.max_apart + settings.max_allowed
    sizes = {"max_parts": parts, "max_items": settings.max_players + 2 * settings.max_allowed}
    wanted = caller.read(NewMatching, default=everyone, in_parts=True, **sizes)
    check_length("players", wanted.available or (), settings.max_players, "max_players")
    check_length("couples to keep apart", wanted.apart, settings.max_apart, "max_apart")
    allowed = None if wanted.allowed is None else Allowed(**dict(wanted.allowed))
    size = wanted.allowed.size if wanted.allowed else 0
    check_length("allowed couples", range(size), settings.max_allowed, "max_allowed")
    reply = caller.service.propose(
        pool,
        wanted.available,
        wanted.apart,
        wanted.unknown,
        allowed=allowed,
        request=caller.keyed(idempotency_key),
    )
    return send_reply(reply, 201, f"/v1/matchings/{reply.view['id']}")


@matchings_router.get(
    "/matchings/{matching}", response_model=MatchingView, responses=refusals(404, 410)
)
def get_matching(caller: MatchingReader, matching: MatchingId) -> Response:
    """Show a matching with what became of its games."""
    pool = caller.find_pool("read", matching, unknown_matching)
    return send(caller.service.show_matching(pool, matching))


@matchings_router.post(
    "/matchings/{matching}/release", response_model=MatchingView, responses=refusals(404, 409, 410)
)
def release_matching(
    caller: MatchingWriter, matching: MatchingId, idempotency_key: IdempotencyKey = None
) -> Response:
    """Take back the games of a matching that are still open: nothing is learnt from them."""
    pool = caller.find_pool("write", matching, unknown_matching)
    return send_reply(caller.service.release(pool, matching, caller.keyed(idempotency_key)))


def _game_door(scope: str) -> Any:
    return door(lambda to: to.find_pool(scope, to.id_in_path("game"), unknown_game))


GameReader = Annotated[Caller, _game_door("read")]
GameWriter = Annotated[Caller, _game_door("write")]


@router.get("/games/{game}", response_model=GameView, responses=refusals(404, 410))
def get_game(caller: GameReader, game: GameId) -> Response:
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
    sent = GameReport(game, body.outcome, body.answers)
    return send(caller.service.report_outcome(pool, sent))


@router.post(
    "/pools/{pool}/outcomes",
    response_model=ReceiptBatch,
    responses=refusals(404, 409),
    openapi_extra=json_body(ReportBatch),
)
def report_outcomes(
    caller: PoolWriter, pool: PoolName, idempotency_key: IdempotencyKey = None
) -> Response:
    """Report what became of several games; each report is answered as if it were sent alone."""
    maximum = caller.service.settings.max_outcomes
    body = caller.read(ReportBatch, max_parts=7 * maximum)
    check_length("outcomes", body.outcomes, maximum, "max_outcomes")
    request = caller.keyed(idempotency_key)
    sent = [GameReport(each.game, each.outcome, each.answers) for each in body.outcomes]
    reply = caller.service.report_outcomes(pool, sent, request)
    return send_results(reply, lambda each: f"/v1/games/{each['game']}/outcome")


@router.post(
    "/pools/{pool}/observed",
    response_model=ObservedView,
    responses=refusals(404, 409),
    openapi_extra=json_body(ObservedRound),
)
def observe_round(
    caller: PoolWriter, pool: PoolName, idempotency_key: IdempotencyKey = None
) -> Response:
    """Learn a round of another matchmaker, in a pool in shadow; answers what it would have done.

    Players who are not in the pool join, away. Each outcome must be known: send a round when all of
    its games are decided.
    """
    maximum = caller.service.settings.max_outcomes
    body = caller.read(ObservedRound, max_parts=9 * maximum)
    check_length("games", body.games, maximum, "max_outcomes")
    request = caller.keyed(idempotency_key)
    games = [ObservedGame(each.players, each.outcome, each.answers) for each in body.games]
    return send_reply(caller.service.observe(pool, games, request))
