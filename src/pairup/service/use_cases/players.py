"""Players: they join, wait, are away, and leave."""

from __future__ import annotations

from typing import Any

from pairup.errors import PairupError
from pairup.service.domain import events as happened
from pairup.service.domain.pool import Pool
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases import views
from pairup.service.use_cases.unit_of_work import UnitOfWork


def put_player(
    work: UnitOfWork, player: str, status: str, max_players: int
) -> tuple[dict[str, Any], bool]:
    """Let a player join, wait or be away; returns the player, and whether they joined."""
    pool = work.pool
    known = pool.players.get(player)
    if known is None:
        _check_room(pool, max_players)
        work.add(happened.Joined(player, status))
    elif known != status:
        work.add(happened.Moved(player, status))
    return views.player(pool, player), known is None


def _check_room(pool: Pool, max_players: int) -> None:
    if len(pool.players) >= max_players:
        raise RefusalError(
            "pool-full",
            f"pool {pool.name!r} has {len(pool.players)} players, the most that the setting "
            "max_players allows: let someone leave, raise it, or create another pool",
        )
    try:
        pool.learner.policy.check_players(len(pool.players) + 1)
    except PairupError as error:
        raise RefusalError("pool-full", str(error)) from None


def remove_player(work: UnitOfWork, player: str) -> None:
    """Let a player leave; their open game is released first."""
    pool = work.pool
    check_known(pool, player)
    if player in pool.busy:
        work.add(happened.Released([pool.busy[player]], "left"))
    work.add(happened.Left(player))


def check_known(pool: Pool, player: str) -> None:
    """Refuse a player who is not in the pool."""
    if player not in pool.players:
        raise RefusalError(
            "no-such-player",
            f"player {player!r} is not in pool {pool.name!r}: let them join first, with PUT",
        )
