"""Imports: a pool learns from games of the past, and from a saved learner."""

from __future__ import annotations

from typing import Any

from pairup.errors import PairupError
from pairup.learning import Learner
from pairup.learning.serialization import check_size
from pairup.service.domain import events
from pairup.service.domain.imports import (
    MAX_IMPORTS,
    ImportProgress,
    PastGames,
    PastGamesError,
    loading,
)
from pairup.service.domain.names import normalized_name
from pairup.service.domain.pool import Pool
from pairup.service.pools import views
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError

_MAX_UNPACKED = 500_000_000  # bytes of a saved learner
_MIN_SLOTS = 1_000  # so that a small limit does not refuse a learner that has shrunk


def import_games(
    work: UnitOfWork, source: str, first: int, rows: int, games: PastGames
) -> dict[str, Any]:
    """Learn the next rows of a source; rows that were taken before change nothing."""
    pool = work.pool
    progress = pool.imports.get(source, ImportProgress())
    if first > progress.next:
        raise RefusalError(
            "rows-missing",
            f"row {first} of import {source!r} was sent, but row {progress.next} is next: send the "
            "rows of a source in order",
            {"next": progress.next},
        )
    if first == progress.next and rows:
        _check_imports(pool, source)
        numbers, new = work.numbers_of(games.players)
        work.check_room(len(new))
        columns = {**vars(games), "players": numbers}
        work.add(events.Imported(source, first, rows, **columns), new)
    return views.import_progress(pool, source)


def check_rows(rows: int, games: PastGames) -> None:
    """Refuse games that break a rule."""
    try:
        games.check()
    except PastGamesError as error:
        raise RefusalError("invalid-request", str(error)) from None
    if rows < len(games):
        raise RefusalError(
            "invalid-request",
            f"rows is {rows}, less than the {len(games)} games in them: count the rows of the "
            "source, those left out included",
        )


def load_learner(work: UnitOfWork, learner: Learner, by: str | None = None) -> None:
    """Replace the pool's learner by a saved one."""
    pool = work.pool
    if learner.policy != pool.learner.policy:
        raise RefusalError(
            "learner-unfit",
            f"the saved learner runs {learner.policy}, pool {pool.name!r} runs "
            f"{pool.learner.policy}: give the pool the same policy and options",
        )
    known = [str(player) for player in (*learner.players, *learner.kept)]
    numbers, new = work.numbers_of(known)
    work.check_room(len(new))
    learner = Learner.from_bytes(learner.to_bytes())  # a change may be decided more than once
    learner.rename(dict(zip(known, numbers, strict=True)))
    work.add(loading(learner, by), new)


def save_learner(pool: Pool) -> bytes:
    """Return the learner of a pool, whose players have their names, as `to_bytes` saves it."""
    learner = Learner.from_bytes(pool.learner.to_bytes())
    known: list[Any] = [*learner.players, *learner.kept]
    learner.rename({number: pool.names[number] for number in known})
    return learner.to_bytes()


def read_learner(data: bytes, max_players: int) -> Learner:
    """Read a saved learner, or refuse one that a pool cannot have."""
    try:
        # A learner's capacity doubles as it grows, so that it may be twice what it needs.
        check_size(data, _MAX_UNPACKED, 2 * max_players + _MIN_SLOTS)
        learner = Learner.from_bytes(data)
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from None
    for player in (*learner.players, *learner.kept):
        _check_name(player)
    return learner


def _check_name(player: object) -> None:
    try:
        if not isinstance(player, str) or normalized_name(player) != player:
            raise ValueError("the name of a player in a pool is text, in Unicode's form NFC")
    except ValueError as error:
        raise RefusalError(
            "learner-unfit",
            f"the saved learner has a player who cannot be in a pool, {ascii(player)[:200]}, "
            f"{error}: save one whose players have other names",
        ) from None


def unknown_import(pool: Pool, source: str) -> RefusalError:
    """Make the refusal of an import that does not exist."""
    return RefusalError(
        "no-such-import",
        f"pool {pool.name!r} has had no import {source!r}: its id is the one that it was sent with",
    )


def _check_imports(pool: Pool, source: str) -> None:
    if source not in pool.imports and len(pool.imports) >= MAX_IMPORTS:
        raise RefusalError(
            "too-many-imports",
            f"pool {pool.name!r} has had {MAX_IMPORTS} imports, the most that it remembers: put "
            "what is left into one source, or create another pool",
        )
