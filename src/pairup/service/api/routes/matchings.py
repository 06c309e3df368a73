"""Routes of matchings."""

from __future__ import annotations

from fastapi import APIRouter, Response

from pairup.service.api.dependencies import CurrentCaller, SentKey
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send, send_reply
from pairup.service.api.schemas.fields import Id, PoolName
from pairup.service.api.schemas.games import MatchingView, NewMatching
from pairup.service.use_cases.proposals import unknown_matching

router = APIRouter(prefix="/v1", tags=["matchings"])
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


@router.post(
    "/pools/{pool}/matchings",
    status_code=201,
    response_model=MatchingView,
    responses={201: _LINKS, **refusals(404, 409)},
)
def propose_matching(
    caller: CurrentCaller, key: SentKey, pool: PoolName, body: NewMatching | None = None
) -> Response:
    """Propose the next games, of all players who wait or of those who are available."""
    caller.require("write", pool)
    wanted, settings = body or NewMatching.model_validate({}), caller.service.settings
    check_length("players", wanted.available or (), settings.max_players, "max_players")
    check_length("couples to keep apart", wanted.apart, settings.max_apart, "max_apart")
    request = caller.keyed(key)
    reply = caller.service.propose(pool, wanted.available, wanted.apart, request)
    return send_reply(reply, 201, f"/v1/matchings/{reply.view['id']}")


@router.get("/matchings/{matching}", response_model=MatchingView, responses=refusals(404, 410))
def get_matching(caller: CurrentCaller, matching: Id) -> Response:
    """Show a matching with what became of its games."""
    service = caller.service
    pool = caller.find_pool("read", matching, service.pool_of_matching, unknown_matching)
    return send(service.show_matching(pool, matching))


@router.post(
    "/matchings/{matching}/release", response_model=MatchingView, responses=refusals(404, 409, 410)
)
def release_matching(caller: CurrentCaller, key: SentKey, matching: Id) -> Response:
    """Take back the games of a matching that are still open: nothing is learnt from them."""
    service = caller.service
    pool = caller.find_pool("write", matching, service.pool_of_matching, unknown_matching)
    return send_reply(service.release(pool, matching, caller.keyed(key)))
