"""Routes of matchings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.dependencies import Caller, CurrentCaller, PoolWriter, SentKey, door
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send, send_reply
from pairup.service.api.schemas.fields import MatchingId, PoolName
from pairup.service.api.schemas.games import MatchingView, NewMatching, ProposalView
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


def _find_pool(caller: Caller) -> str:
    return caller.find_pool("write", caller.id_in_path("matching"), unknown_matching)


MatchingWriter = Annotated[Caller, door(_find_pool)]


@router.post(
    "/pools/{pool}/matchings",
    status_code=201,
    response_model=ProposalView,
    responses={201: _LINKS, **refusals(404, 409)},
    openapi_extra=json_body(NewMatching, required=False),
)
def propose_matching(caller: PoolWriter, key: SentKey, pool: PoolName) -> Response:
    """Propose the next games, of all players who wait or of those who are available."""
    settings, everyone = caller.service.settings, NewMatching.model_validate({})
    sizes = {"max_parts": 2 * settings.max_apart, "max_items": settings.max_players}
    wanted = caller.read(NewMatching, default=everyone, **sizes)
    check_length("players", wanted.available or (), settings.max_players, "max_players")
    check_length("couples to keep apart", wanted.apart, settings.max_apart, "max_apart")
    request = caller.keyed(key)
    reply = caller.service.propose(pool, wanted.available, wanted.apart, wanted.unknown, request)
    return send_reply(reply, 201, f"/v1/matchings/{reply.view['id']}")


@router.get("/matchings/{matching}", response_model=MatchingView, responses=refusals(404, 410))
def get_matching(caller: CurrentCaller, matching: MatchingId) -> Response:
    """Show a matching with what became of its games."""
    pool = caller.find_pool("read", matching, unknown_matching)
    return send(caller.service.show_matching(pool, matching))


@router.post(
    "/matchings/{matching}/release", response_model=MatchingView, responses=refusals(404, 409, 410)
)
def release_matching(caller: MatchingWriter, key: SentKey, matching: MatchingId) -> Response:
    """Take back the games of a matching that are still open: nothing is learnt from them."""
    pool = caller.find_pool("write", matching, unknown_matching)
    return send_reply(caller.service.release(pool, matching, caller.keyed(key)))
