"""Players join, wait, are away and leave: one at a time, or many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairup.errors import PairupError
from pairup.service.domain import events
from pairup.service.domain.pool import Pool
from pairup.service.domain.states import BatchWish, PlayerWish
from pairup.service.problem_details import RefusalError
from pairup.service.use_cases import views
from pairup.service.use_cases.proposals import check_known
from pairup.service.use_cases.unit_of_work import UnitOfWork


def put_player(
    work: UnitOfWork, player: str, status: PlayerWish, max_players: int
) -> tuple[dict[str, Any], bool]:
    """Let a player join, wait or be away; returns the player, and whether they joined."""
    known = work.pool.players.wishes.get(player)
    if known is None:
        if player not in work.pool.players.kept:
            check_room(work.pool, max_players)
        work.add(events.Joined(player, status))
    elif known != status:
        work.add(events.Moved(player, status))
    return views.player(work.pool, player), known is None


def remove_player(work: UnitOfWork, player: str, forget: bool | None = None) -> None:
    """Let a player leave, whose open game is released.

    Whether what was learnt about them is forgotten, the pool's rules say if `forget` does not. To
    forget a player who left before erases the record that was kept.
    """
    pool = work.pool
    if forget and player in pool.players.kept:
        work.add(events.Erased(player, _rate(pool, player)))
        return
    check_known(pool, player)
    if player in pool.players.games:
        work.add(events.Released([pool.players.games[player]], "left"))
    forget = not pool.rules.keep_records if forget is None else forget
    work.add(events.Left(player, forget, _rate(pool, player) if forget else None))


def _rate(pool: Pool, player: str) -> float | None:
    rates = pool.rates([player])
    return rates[0] if rates else None


def put_players(
    work: UnitOfWork, wanted: Sequence[tuple[str, BatchWish]], max_players: int
) -> dict[str, list[dict[str, Any]]]:
    """Let players join, wait, be away or leave; each is answered as if it had been sent alone.

    Those who leave do so first, and make room for those who join. A player is named once.
    """
    batch = _Batch(work, max_players)
    first = dict(reversed(wanted))  # what was said first of each player counts
    batch.leave([name for name in first if first[name] == "left" and name in work.pool.players])
    results = [batch.take_in(player, status) for player, status in wanted]
    batch.finish()
    return {"results": results}


class _Batch:
    """Changes of many players, written as few events."""

    def __init__(self, work: UnitOfWork, max_players: int) -> None:
        self._work, self._players, self._max_players = work, work.pool.players, max_players
        self._left: set[str] = set()
        self._seen: set[str] = set()
        self._joined: dict[PlayerWish, list[str]] = {"waiting": [], "away": []}
        self._moved: dict[PlayerWish, list[str]] = {"waiting": [], "away": []}
        self._joining = 0

    def leave(self, players: list[str]) -> None:
        """Let players leave who are in the pool; their open games are released."""
        games = dict.fromkeys(self._players.games[each] for each in players if self._busy(each))
        if games:
            self._work.add(events.Released(list(games), "left"))
        if players:
            forget = not self._work.pool.rules.keep_records
            rates = self._work.pool.rates(players) if forget else None
            self._work.add(events.PlayersLeft(players, forget, rates))
        self._left = set(players)

    def _busy(self, player: str) -> bool:
        return player in self._players.games

    def take_in(self, player: str, status: BatchWish) -> dict[str, Any]:
        """Note what a player wishes; returns what becomes of it."""
        try:
            if player in self._seen:
                raise RefusalError(
                    "invalid-request", f"player {player!r} is named twice: name each player once"
                )
            self._seen.add(player)
            return {"player": player, "result": self._result(player, status)}
        except RefusalError as refusal:
            problem = refusal.as_json(f"/v1/pools/{self._work.pool.name}/players")
            return {"player": player, "result": "refused", "problem": problem}

    def _result(self, player: str, status: BatchWish) -> str:
        if status == "left":
            if player not in self._left:
                check_known(self._work.pool, player)
            return "left"
        known = self._players.wishes.get(player)
        if known == status:
            return "unchanged"
        if known is not None:
            self._moved[status].append(player)
            return "moved"
        if player not in self._players.kept:
            check_room(self._work.pool, self._max_players, self._joining)
            self._joining += 1
        self._joined[status].append(player)
        return "joined"

    def finish(self) -> None:
        """Let those who are not leaving move and join."""
        for status, players in self._moved.items():
            if players:
                self._work.add(events.PlayersMoved(players, status))
        for status, players in self._joined.items():
            if players:
                self._work.add(events.PlayersJoined(players, status))


def check_room(pool: Pool, max_players: int, joining: int = 0) -> None:
    """Refuse one more player than a pool takes, where some are `joining` already."""
    players = len(pool.players) + joining
    known = players + len(pool.players.kept)
    if known >= max_players:
        raise RefusalError(
            "pool-full",
            f"pool {pool.name!r} knows {known} players, the most that the setting max_players "
            "allows: let someone leave and be forgotten, raise it, or create another pool",
        )
    try:
        pool.learner.policy.check_players(players + 1)
    except PairupError as error:
        raise RefusalError("pool-full", str(error)) from None
