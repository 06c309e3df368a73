"""Players join, wait, are away and leave: one at a time, or many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairup.errors import PairupError
from pairup.service.domain import events
from pairup.service.domain.events import BatchWish, PlayerWish
from pairup.service.domain.pool import Pool
from pairup.service.pools import views
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError, players_path


def put_player(
    work: UnitOfWork, player: str, status: PlayerWish, max_players: int
) -> tuple[dict[str, Any], bool]:
    """Let a player join, wait or be away; returns the player, and whether they joined."""
    number = work.number_of(player)
    known = None if number is None else work.pool.players.wishes.get(number)
    if known is None:
        number = _join(work, player, status, max_players)
    elif number is not None and known != status:
        work.add(events.Moved([number], status))
    assert number is not None
    return views.player(work.pool, number), known is None


def _join(work: UnitOfWork, player: str, status: PlayerWish, max_players: int) -> int:
    """Let a player in who is new, or whose record was kept; returns the number."""
    number = work.number_of(player)
    if number is not None:
        work.add(events.Joined([number], status))
        return number
    check_room(work.pool, max_players)
    new = work.new_numbers([player])
    work.add(events.Joined(list(new.values()), status), new)
    return new[player]


def remove_player(work: UnitOfWork, player: str, forget: bool | None = None) -> None:
    """Let a player leave, whose open game is released; one who is not there has left already.

    Whether what was learnt about them is forgotten, the pool's rules say if `forget` does not. To
    forget a player who left before erases the record that was kept.
    """
    pool, number = work.pool, work.number_of(player)
    if number is None:
        return
    if number in pool.players:
        leave(work, [number], not pool.rules.keep_records if forget is None else forget)
    elif forget:
        work.add(events.Forgotten([number], pool.rates([number])))


def erase_player(work: UnitOfWork, player: str) -> bool:
    """Let a player leave, forget what was learnt about them, and erase what they are called.

    Returns whether a player was called so.
    """
    remove_player(work, player, forget=True)
    return work.erase(player)


def leave(work: UnitOfWork, players: list[int], forget: bool) -> None:
    """Let players leave who are in the pool; their open games are released."""
    pool = work.pool
    playing = (pool.players.games[each] for each in players if each in pool.players.games)
    if games := dict.fromkeys(playing):
        work.add(events.Released([list(game) for game in games], "left"))
    if players:
        work.add(events.Left(players, forget, pool.rates(players) if forget else None))


def put_players(
    work: UnitOfWork, wanted: Sequence[tuple[str, BatchWish]], max_players: int
) -> dict[str, list[dict[str, Any]]]:
    """Let players join, wait, be away or leave; each is answered as if it had been sent alone.

    Those who leave do so first, and make room for those who join. A player is named once.
    """
    batch = _Batch(work, max_players)
    first = dict(reversed(wanted))  # what was said first of each player counts
    batch.leave([name for name, wish in first.items() if wish == "left"])
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
        self._moved: dict[PlayerWish, list[int]] = {"waiting": [], "away": []}
        self._joining = 0

    def leave(self, names: list[str]) -> None:
        """Let those of some players leave who are in the pool."""
        present = {name: self._work.number_of(name) for name in names}
        leaving = {name: each for name, each in present.items() if each in self._players.wishes}
        numbers = [each for each in leaving.values() if each is not None]
        leave(self._work, numbers, not self._work.pool.rules.keep_records)
        self._left = set(leaving)

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
            problem = refusal.as_json(players_path(self._work.pool.name))
            return {"player": player, "result": "refused", "problem": problem}

    def _result(self, player: str, status: BatchWish) -> str:
        if status == "left":
            return "left" if player in self._left else "unchanged"
        number = self._work.number_of(player)
        known = None if number is None else self._players.wishes.get(number)
        if known == status:
            return "unchanged"
        if known is not None and number is not None:
            self._moved[status].append(number)
            return "moved"
        if number is None:
            check_room(self._work.pool, self._max_players, self._joining)
            self._joining += 1
        self._joined[status].append(player)
        return "joined"

    def finish(self) -> None:
        """Let those who are not leaving move and join."""
        for status, players in self._moved.items():
            if players:
                self._work.add(events.Moved(players, status))
        for status, names in self._joined.items():
            if names:
                new = self._work.new_numbers(names)
                numbers = [new.get(name) or self._work.number_of(name) or 0 for name in names]
                self._work.add(events.Joined(numbers, status), new)


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
