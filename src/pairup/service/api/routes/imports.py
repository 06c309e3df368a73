"""Routes of imports: games of the past, and saved learners."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from pairup.service.api.bodies import json_body
from pairup.service.api.door import PoolAdmin, PoolReader, PoolWriter
from pairup.service.api.paging import check_length
from pairup.service.api.responses import refusals, send
from pairup.service.api.schemas.fields import PoolName
from pairup.service.api.schemas.imports import ImportedRows, ImportId, ImportView, Row
from pairup.service.api.schemas.pools import PoolView
from pairup.service.domain.imports import PastGames

router = APIRouter(prefix="/v1/pools/{pool}", tags=["imports"])
BYTES = "application/octet-stream"
_SCHEMA = {"schema": {"type": "string", "format": "binary"}}
_LEARNER: dict[str, Any] = {
    "description": "The learner, as `Learner.to_bytes` saves it.",
    "content": {BYTES: _SCHEMA},
}
FirstRow = Annotated[Row, Path(description="Row of the source that is the first of these.")]


@router.put(
    "/imports/{source}/rows/{first}",
    response_model=ImportView,
    responses=refusals(404, 409),
    openapi_extra=json_body(ImportedRows),
)
def import_rows(caller: PoolWriter, pool: PoolName, source: ImportId, first: FirstRow) -> Response:
    """Learn the next games of the past from a source, a file of history for example.

    Rows are sent in order and learnt exactly once: those that were taken before change nothing, and
    the response says which row is next. Players who are not in the pool join it, away.
    """
    most = caller.service.settings.max_import_rows
    body = caller.read(ImportedRows, max_items=7 * most)  # five columns, two names per game
    check_length("games", body.player_a, most, "max_import_rows")
    games = PastGames(**{name: column for name, column in body if name != "rows"})
    return send(caller.service.import_games(pool, source, first, body.rows, games))


@router.get("/imports/{source}", response_model=ImportView, responses=refusals(404))
def get_import(caller: PoolReader, pool: PoolName, source: ImportId) -> Response:
    """Show how far an import has come."""
    return send(caller.service.show_import(pool, source))


@router.get("/learner", response_class=Response, responses={200: _LEARNER, **refusals(404)})
def save_learner(caller: PoolReader, pool: PoolName) -> Response:
    """Take a copy of the pool's learner, which `Learner.from_bytes` reads."""
    return Response(caller.service.save_learner(pool), media_type=BYTES)


@router.put(
    "/learner",
    response_model=PoolView,
    responses=refusals(404, 409),
    openapi_extra={"requestBody": {"required": True, "content": {BYTES: _SCHEMA}}},
)
def load_learner(caller: PoolAdmin, pool: PoolName) -> Response:
    """Replace the pool's learner by a saved one of the same policy.

    Its players who are not in the pool join it, away. Open games stay open.
    """
    return send(caller.service.load_learner(pool, caller.body, caller.principal.name))
