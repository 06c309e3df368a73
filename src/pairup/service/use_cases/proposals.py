"""Proposals: matchings are proposed, and taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pairup.service.domain import events
from pairup.service.domain.pool import Pool
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases import views
from pairup.service.use_cases.unit_of_work import UnitOfWork


def propose(
    work: UnitOfWork, available: list[str] | None, apart: Iterable[list[str]]
) -> dict[str, Any]:
    """Propose a matching of the players who wait, or of those `available`."""
    pool = work.pool
    if available is not None:
        _check_available(pool, available)
    couples = [sorted(couple) for couple in apart]
    for one, other in couples:
        if one == other:
            raise RefusalError(
                "invalid-request",
                f"player {one!r} is to be kept apart from itself: a couple is two players",
            )
        check_known(pool, one)
        check_known(pool, other)
    players = pool.players.waiting if available is None else available
    if len(players) < 2:
        raise RefusalError(
            "too-few-players",
            f"{len(players)} of the {len(pool.players)} players of pool {pool.name!r} are waiting, "
            "a game takes two: try again when someone has joined or a game has ended",
            {"waiting": len(players), "players": pool.players.counts()},
        )
    return _show(work, work.propose(available, couples))


def release(work: UnitOfWork, matching: str) -> dict[str, Any]:
    """Take back the games of a matching that are still open."""
    if matching in work.pool.games.matchings:
        opened = list(work.pool.games.matchings[matching].games)
        work.add(events.Released(opened, "released"))
    return _show(work, matching)


def _show(work: UnitOfWork, matching: str) -> dict[str, Any]:
    """Show a matching with its games as this request leaves them."""
    found = work.matching(matching)
    if found is None:
        raise unknown_matching(matching)
    return views.matching(work.pool.name, *found)


def unknown_matching(matching: str) -> RefusalError:
    """Make the refusal of a matching that does not exist."""
    return RefusalError(
        "no-such-matching",
        f"no matching has the id {matching!r}: send the id that POST .../matchings answered",
    )


def check_known(pool: Pool, player: str) -> None:
    """Refuse a player who is not in the pool."""
    if player not in pool.players:
        raise RefusalError(
            "no-such-player",
            f"player {player!r} is not in pool {pool.name!r}: let them join first, with PUT",
        )


def _check_available(pool: Pool, available: list[str]) -> None:
    if len(set(available)) < len(available):
        ((twice, _),) = Counter(available).most_common(1)
        raise RefusalError(
            "invalid-request", f"player {twice!r} is available twice: name each player once"
        )
    for player in available:
        check_known(pool, player)
    waiting, status = pool.players.waiting, pool.players.status
    others = {player: status(player) for player in available if player not in waiting}
    if others:
        raise RefusalError(
            "players-not-waiting",
            f"{len(others)} of the players available are not waiting, such as "
            f"{next(iter(others))!r}: leave them out, or leave out `available` to take all who are "
            "waiting",
            {"players": others},
        )
