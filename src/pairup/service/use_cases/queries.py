"""Queries: reads that need more than one projection of a pool."""

from __future__ import annotations

from typing import Any

from pairup.service.domain.game_record import GameRecord
from pairup.service.domain.pool import Pool
from pairup.service.problem_details import RefusalError
from pairup.service.store import Transaction
from pairup.service.use_cases import views
from pairup.service.use_cases.players import check_known
from pairup.service.use_cases.proposals import unknown_matching


def digest(pool: Pool, _: Transaction) -> dict[str, Any]:
    """Show a digest of the pool's state."""
    return {"seq": pool.seq, "digest": pool.digest}


def player(pool: Pool, _: Transaction, name: str) -> dict[str, Any]:
    """Show a player."""
    check_known(pool, name)
    return views.player(pool, name)


def players(
    pool: Pool, _: Transaction, status: str | None, after: str, limit: int
) -> tuple[list[dict[str, Any]], bool]:
    """List players by name, those after a name; returns also whether there are more."""
    names = sorted(
        name for name in pool.players if name > after and status in (None, pool.status(name))
    )
    return [views.player(pool, name) for name in names[:limit]], len(names) > limit


def matching(pool: Pool, transaction: Transaction, id: str) -> dict[str, Any]:
    """Show a matching with what became of its games."""
    record = transaction.matching(id)
    if record is None or record.pool_id != pool.id:
        raise unknown_matching(id)
    return views.matching(pool.name, record, transaction.games_of(id))


def game(pool: Pool, transaction: Transaction, id: str) -> dict[str, Any]:
    """Show a game."""
    record = transaction.games([id]).get(id)
    if record is None or record.pool_id != pool.id:
        raise unknown_game(id)
    return views.game(record)


def unknown_game(game: str) -> RefusalError:
    """Make the refusal of a game that does not exist."""
    return RefusalError(
        "no-such-game", f"no game has the id {game!r}: send the id that the matching gave it"
    )


def latest_games(pool: Pool, transaction: Transaction, limit: int) -> list[GameRecord]:
    """List games of the latest matching, whatever became of them."""
    return [] if pool.matching is None else transaction.games_of(pool.matching, limit)


def events(pool: Pool, transaction: Transaction, after: int, limit: int) -> dict[str, Any]:
    """Show a page of the log."""
    check_happened(pool, transaction, after)
    rows = transaction.raw_events(pool.id, after, limit + 1)
    shown = [views.event(row) for row in rows[:limit]]
    last = shown[-1]["seq"] if shown else after
    return {"events": shown, "last": last, "more": len(rows) > limit}


def check_happened(pool: Pool, _: Transaction, after: int) -> None:
    """Refuse an event that has not happened."""
    if after > pool.seq:
        raise RefusalError(
            "invalid-request",
            f"event {after} has not happened, the last one is {pool.seq}: go on from there, and if "
            "you have seen it, a copy of the database was restored",
            {"last": pool.seq},
        )
