"""Pages of the dashboard, and what they are made of."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from pairup.service.api import views
from pairup.service.api.dependencies import Asks, Caller, after_cursor, cursor_of
from pairup.service.api.routes.pools import Cursor
from pairup.service.api.schemas.fields import POOL_NAME
from pairup.service.dashboard import panels, words
from pairup.service.domain.pool import Pool
from pairup.service.domain.records import GameRecord
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Transaction
from pairup.service.use_cases.service import no_pool

router = APIRouter(include_in_schema=False)
_POOLS = 24  # of a page: each is read in full
_HEADERS = {
    "Content-Security-Policy": (
        # Plotly sets styles of what it draws, and makes an image of a heat map.
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Cache-Control": "private, no-cache",
    "Referrer-Policy": "no-referrer",
    "Vary": "Authorization",
    "X-Content-Type-Options": "nosniff",
}
_KINDS = {"page.css": "text/css", "page.js": "text/javascript", "plotly.js": "text/javascript"}


@router.get("/")
def pools_page(caller: Asks, cursor: Cursor = None) -> Response:
    """Show the pools that the key may read."""
    return _answer(caller, lambda: _pools(caller, after_cursor(cursor)))


@router.get("/pools/{pool}")
def pool_page(caller: Asks, pool: str) -> Response:
    """Show a pool."""
    return _answer(caller, lambda: _pool(caller, pool))


@router.get("/dashboard/{name}")
def asset(request: Request, name: str) -> Response:
    """Send a script or a style sheet."""
    if name not in _KINDS:
        raise RefusalError("no-such-page", f"the dashboard has no {name!r}: see /")
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",  # its address has its digest
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
        **({"Content-Encoding": "gzip"} if packed else {}),
    }
    body = _packed(name) if packed else _asset(name)
    return Response(body, 200, headers, f"{_KINDS[name]}; charset=utf-8")


def _answer(caller: Caller, make: Callable[[], Response]) -> Response:
    """Make a page; a refusal is a page too, the lack of a key one that asks for it."""
    try:
        return make()
    except RefusalError as refusal:
        asked = refusal.slug == "key-needed"
        first = asked and "authorization" not in caller.request.headers
        page = "key" if asked else "refusal"
        answer = _page(caller, f"{page}.html", page=page, refusal=refusal, first=first)
        answer.status_code = 200 if first else refusal.kind.status
        return answer


def _pools(caller: Caller, after: str) -> Response:
    may = caller.principal.may
    found, more = list[PoolRow](), None
    with caller.service.store.reading() as transaction:
        while rows := transaction.pools(after, _POOLS + 1):
            found += [row for row in rows if may("read", row.name)]
            after = rows[-1].name
            if len(found) > _POOLS:
                found, more = found[:_POOLS], cursor_of(found[_POOLS - 1].name)
                break
    tag = _tag(*(f"{row.id}-{row.seq}" for row in found))
    if _known(caller, tag):
        return Response(status_code=304, headers={**_HEADERS, "ETag": tag})
    pools = [stats for row in found if (stats := _stats(caller, row.id))]
    return _page(caller, "pools.html", tag, page="pools", pools=pools, more=more)


def _stats(caller: Caller, id: str) -> dict[str, Any] | None:
    try:
        return caller.service.read(id, lambda pool, _: views.stats(pool, 0))
    except RefusalError:  # deleted since the list was read
        return None


def _pool(caller: Caller, name: str) -> Response:
    if not re.match(POOL_NAME, name):
        raise no_pool(name)
    id, most = caller.pool(name, "read"), caller.service.settings.max_couples

    def view(pool: Pool, transaction: Transaction) -> tuple[str, dict[str, Any]]:
        tag = _tag(pool.id, str(pool.seq))
        if _known(caller, tag):
            return tag, {}
        now, latest = caller.service.clock.now(), list[GameRecord]()
        if pool.matching is not None:
            latest = transaction.games_of(pool.matching, panels.MOST_OPEN)
        return tag, {
            "stats": views.stats(pool, panels.MOST_OPEN),
            "learnt": views.learnt(pool, most),
            "rules": pool.rules,
            "matching": panels.matching(pool, latest, now),
        }

    tag, found = caller.service.read(id, view)
    if not found:
        return Response(status_code=304, headers={**_HEADERS, "ETag": tag})
    stats, learnt = found["stats"], found["learnt"]
    return _page(
        caller,
        "pool.html",
        tag,
        page="pool",
        **found,
        room=panels.room(len(learnt["players"])),
        pause=panels.pause(len(learnt["players"])),
        rates=learnt["players"][: panels.MOST_RATES],
        couples=learnt["couples"][: panels.MAX_COUPLES],
        points=panels.points(stats["course"]),
        cancellations=panels.cancellations(stats, found["rules"]),
        feedback=panels.feedback(stats),
        charts=panels.charts(stats, learnt),
    )


def _page(caller: Caller, template: str, tag: str | None = None, **values: Any) -> Response:
    shared = {
        "assets": {name: f"/dashboard/{name}?{_digest(name)}" for name in _KINDS},
        "drawn": caller.request.url.path != "/",
        "keys": caller.service.settings.needs_keys,
        "pause": panels.pause(0),
        "words": words,
        "version": version("pairup"),
    }
    body = _templates().get_template(template).render(shared | values)
    headers = _HEADERS | ({"ETag": tag} if tag else {})
    return Response(body, 200, headers, "text/html; charset=utf-8")


def _tag(*parts: str) -> str:
    made = hashlib.sha256("\n".join([version("pairup"), *parts]).encode()).hexdigest()
    return f'"{made[:32]}"'


def _known(caller: Caller, tag: str) -> bool:
    return caller.request.headers.get("if-none-match") == tag


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("pairup.service", "dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["share"] = lambda value: "–" if value is None else f"{value:.1%}"
    made.filters["points"] = words.in_points
    made.filters["count"] = lambda value: f"{value:,}"
    return made


@cache
def _asset(name: str) -> bytes:
    if name == "plotly.js":
        return files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return files("pairup.service.dashboard").joinpath(name).read_bytes()


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(_asset(name), 6)


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(_asset(name)).hexdigest()[:12]
