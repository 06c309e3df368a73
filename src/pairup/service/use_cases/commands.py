"""Commands: what can be asked of a pool, as events or as a refusal."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pairup.errors import PairupError
from pairup.service.analytics import estimates
from pairup.service.domain import events as happened
from pairup.service.domain.events import ProposedGame
from pairup.service.domain.pool import WAITING, Pool
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases.unit_of_work import Changes


def new_id() -> str:
    """Draw an id that nobody can guess."""
    return secrets.token_hex(12)


def join(changes: Changes, player: str, status: str, most: int) -> bool:
    """Let a player in, or let it wait or be away; returns whether it is new."""
    pool = changes.pool
    known = pool.players.get(player)
    if known is None:
        if len(pool.players) >= most:
            raise RefusalError(
                "pool-full",
                f"pool {pool.name!r} has {len(pool.players)} players, the most that the setting "
                "max_players allows: let someone leave, raise it, or make another pool",
            )
        try:
            pool.learner.policy.check_players(len(pool.players) + 1)
        except PairupError as error:
            raise RefusalError("pool-full", str(error)) from None
        changes.add(happened.Joined(player, status))
    elif known != status:
        changes.add(happened.Moved(player, status))
    return known is None


def leave(changes: Changes, player: str) -> None:
    """Let a player go; an open game of its is released first."""
    pool = changes.pool
    if player not in pool.players:
        raise no_player(pool.name, player)
    if player in pool.busy:
        changes.add(happened.Released([pool.busy[player]], "left"))
    changes.add(happened.Left(player))


def no_player(pool: str, player: str) -> RefusalError:
    """Say that a player is unknown."""
    return RefusalError(
        "no-such-player",
        f"player {player!r} is not in pool {pool!r}: let it join first, with PUT",
    )


def propose(
    changes: Changes, available: list[str] | None, apart: Iterable[list[str]]
) -> happened.Proposed:
    """Propose a matching of those who wait."""
    pool = changes.pool
    players = pool.waiting if available is None else _checked(changes, available)
    together = [sorted(couple) for couple in apart]
    _check_apart(changes, together)
    if len(players) < 2:
        raise RefusalError(
            "too-few-players",
            f"{len(players)} of the {len(pool.players)} players of pool {pool.name!r} wait, a game "
            "takes two: try again when someone has joined or a game has ended",
            {"waiting": len(players), "players": pool.counts()},
        )
    matching, leader = pool.draft(available, together)
    chances = pool.learner.play_probabilities(matching)
    games: list[ProposedGame] = [
        {
            "id": new_id(),
            "players": list(couple),
            "chance": chance,
            "explores": leader is None or couple not in leader,
        }
        for couple, chance in zip(matching, chances, strict=True)
    ]
    forecast = estimates.pairings(pool.learner, pool.met, players)
    event = happened.Proposed(
        matching=new_id(),
        games=games,
        waiting=list(matching.waiting),
        available=available,
        apart=together,
        expires_at=pool.rules.expiry(changes.now),
        random=forecast.random,
        random_deviation=forecast.deviation,
        best=forecast.best,
    )
    changes.add(event)
    return event


def _checked(changes: Changes, available: list[str]) -> list[str]:
    pool = changes.pool
    if len(set(available)) < len(available):
        ((twice, _),) = Counter(available).most_common(1)
        raise RefusalError(
            "invalid-request", f"player {twice!r} is available twice: name each player once"
        )
    for player in available:
        if player not in pool.players:
            raise no_player(pool.name, player)
    others = {p: pool.status(p) for p in available if pool.status(p) != WAITING}
    if others:
        raise RefusalError(
            "players-not-waiting",
            f"{len(others)} of the players available do not wait, such as {next(iter(others))!r}: "
            "leave them out, or leave out `available` to take all who wait",
            {"players": others},
        )
    return available


def _check_apart(changes: Changes, apart: list[list[str]]) -> None:
    for one, other in apart:
        if one == other:
            raise RefusalError(
                "invalid-request",
                f"player {one!r} is to be kept apart from itself: a couple is two players",
            )
        for player in (one, other):
            if player not in changes.pool.players:
                raise no_player(changes.pool.name, player)


def release(changes: Changes, matching: str) -> list[str]:
    """Take back the games of a matching that are still open; returns them."""
    games = [id for id, game in changes.pool.games.items() if game.matching == matching]
    if games:
        changes.add(happened.Released(games, "released"))
    return games


def configure(changes: Changes, wanted: dict[str, Any]) -> None:
    """Change the rules of the pool."""
    found = news(changes.pool, wanted)
    if found:
        changes.add(happened.Configured(found))


def news(pool: Pool, wanted: dict[str, Any]) -> dict[str, Any]:
    """Pick what is wanted otherwise than it is, or refuse rules that cannot be."""
    rules = pool.rules
    if "policy" in wanted and wanted["policy"] != rules.policy:
        wanted = {"options": {}, **wanted}  # those of the former policy are not of this one
    found = {name: value for name, value in wanted.items() if getattr(rules, name) != value}
    try:
        rules.changed(found).make_policy().check_players(len(pool.players))
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from error
    return found


def delete(changes: Changes) -> None:
    """End the pool."""
    games = list(changes.pool.games)
    if games:
        changes.add(happened.Released(games, "deleted"))
    changes.add(happened.Deleted())
