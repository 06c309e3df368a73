"""Players join, wait, are away and leave: one at a time, or many at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from pairup.service.domain import events
from pairup.service.domain.events import BatchWish, PlayerWish
from pairup.service.domain.matchmaking.attributes import (
    MAX_ATTRIBUTES,
    TYPES,
    AttributeType,
    type_of,
)
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.names import normalized_name
from pairup.service.domain.pool import Pool
from pairup.service.pools import views
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.problems import RefusalError


class Wish(NamedTuple):
    """What a player wishes, and which attributes are set."""

    player: str
    status: BatchWish | None = "waiting"  # None: as it is; a player who joins waits
    attributes: Mapping[str, Any] | None = None  # those that change; None removes one


def put_player(work: UnitOfWork, wish: Wish) -> tuple[dict[str, Any], bool]:
    """Set whether a player waits or is away, and attributes; a new player joins.

    Returns the player, and whether they joined.
    """
    joins = work.pool.players.wishes.get(work.number_of(wish.player) or 0) is None
    batch = _Batch(work)
    batch.decide(wish)
    batch.finish()
    number = work.number_of(wish.player)
    assert number is not None
    return views.player(work.pool, number), joins


def remove_player(work: UnitOfWork, player: str, forget: bool | None = None) -> None:
    """Remove a player and release the open game; if the player has left, nothing changes.

    If `forget` is None, the pool's rules say whether what was learnt about them is forgotten. To
    forget a player who left before erases the record that was kept.
    """
    pool, number = work.pool, work.number_of(player)
    if number is None:
        return
    if number in pool.players:
        leave(work, [number], not pool.rules.keep_records if forget is None else forget)
    elif forget and number in pool.players.kept:
        work.add(events.Forgotten([number], pool.rates([number])))


def erase_player(work: UnitOfWork, player: str) -> bool:
    """Remove a player, forget what was learnt about them, and erase what they are called.

    Returns whether a player was called so.
    """
    remove_player(work, player, forget=True)
    return work.erase(player)


def leave(work: UnitOfWork, players: list[int], forget: bool) -> None:
    """Remove players who are in the pool; their open games are released."""
    pool = work.pool
    playing = (pool.players.games[each] for each in players if each in pool.players.games)
    if games := dict.fromkeys(playing):
        work.add(events.Released([list(game) for game in games], "left"))
    if players:
        work.add(events.Left(players, forget, pool.rates(players) if forget else None))


def put_players(work: UnitOfWork, wanted: Sequence[Wish]) -> dict[str, list[dict[str, Any]]]:
    """Set whether players wait, are away or leave; each is answered as if sent alone.

    Those who leave do so first, and make room for those who join. A player is named once.
    """
    batch = _Batch(work)
    first = {wish.player: wish for wish in reversed(wanted)}  # what was said first counts
    batch.leave([name for name, wish in first.items() if wish.status == "left"])
    results = [batch.take_in(wish) for wish in wanted]
    batch.finish()
    return {"results": results}


class _Batch:
    """Changes of many players, written as few events."""

    def __init__(self, work: UnitOfWork) -> None:
        self._work, self._players = work, work.pool.players
        self._left: set[str] = set()
        self._seen: set[str] = set()
        self._joined: dict[PlayerWish, list[str]] = {"waiting": [], "away": []}
        self._moved: dict[PlayerWish, list[int]] = {"waiting": [], "away": []}
        self._attributes: dict[str, dict[str, Any]] = {}  # that change, by player
        self._joining = 0

    def leave(self, names: list[str]) -> None:
        """Remove those of some players who are in the pool."""
        present = {name: self._work.number_of(name) for name in names}
        leaving = {name: each for name, each in present.items() if each in self._players.wishes}
        numbers = [each for each in leaving.values() if each is not None]
        leave(self._work, numbers, not self._work.pool.rules.keep_records)
        self._left = set(leaving)

    def take_in(self, wish: Wish) -> dict[str, Any]:
        """Note what a player wishes; returns what becomes of it."""
        player = wish.player
        try:
            if player in self._seen:
                raise RefusalError(
                    "invalid-request", f"player {player!r} is named twice: name each player once"
                )
            self._seen.add(player)
            return {"player": player, "result": self.decide(wish)}
        except RefusalError as refusal:
            return {"player": player, "result": "refused", "problem": refusal.as_json()}

    def decide(self, wish: Wish) -> events.PlayerResult:
        """Note what a player wishes, or refuse it; returns the word for it."""
        player = wish.player
        if wish.status == "left":
            return "left" if player in self._left else "unchanged"
        number = self._work.number_of(player)
        known = None if number is None else self._players.wishes.get(number)
        changes = self._changes(number, wish, wish.status or known or "waiting")
        if changes:
            self._attributes[player] = changes
        if known is not None and number is not None and wish.status in (None, known):
            return "changed" if changes else "unchanged"
        status: PlayerWish = wish.status or "waiting"
        if known is not None and number is not None:
            self._moved[status].append(number)
            return "moved"
        if number is None or not self._players.knows(number):
            self._work.check_room(self._joining + 1)
            self._joining += 1
        self._joined[status].append(player)
        return "joined"

    def _set_attributes(self) -> None:
        """Set the attributes that change; players who are listed get numbers."""
        work, lists = self._work, list[events.PlayerList]()
        listed = work.pool.rules.player_lists
        names = [
            name
            for changes in self._attributes.values()
            for attribute in listed & changes.keys()
            for name in changes[attribute] or ()
        ]
        numbers, new = work.numbers_of(names)
        numbered = dict(zip(names, numbers, strict=True))
        for player, changes in self._attributes.items():
            number = work.number_of(player) or 0
            for attribute in sorted(listed & changes.keys()):
                if (named := changes.pop(attribute)) is None:
                    changes[attribute] = None
                    continue
                players = [numbered[name] for name in named]
                lists.append({"player": number, "attribute": attribute, "players": players})
        numbers = [work.number_of(name) or 0 for name in self._attributes]
        work.add(events.Attributed(numbers, list(self._attributes.values()), lists), new)

    def _changes(self, number: int | None, wish: Wish, status: str) -> dict[str, Any]:
        """Pick the attributes that change, or refuse them."""
        pool = self._work.pool
        known = {} if number is None else views.attributes(pool, number)
        given = {
            name: value
            if value is None or name not in pool.rules.player_lists
            else _read_names(name, value)
            for name, value in (wish.attributes or {}).items()
        }
        if status != "away":
            lists = self._players.attributes.lists.get(number or 0, {}).keys() - given.keys()
            lists |= pool.rules.player_lists
            check_needs(pool.rules, wish.player, {**known, **given}, lists)
        after = {name for name, value in {**known, **given}.items() if value is not None}
        if len(after) > MAX_ATTRIBUTES:
            raise RefusalError(
                "invalid-request",
                f"player {wish.player!r} would have {len(after)} attributes, at most "
                f"{MAX_ATTRIBUTES} are taken: remove some, by sending null",
            )
        return {name: value for name, value in given.items() if value != known.get(name)}

    def finish(self) -> None:
        """Write the moves, joins and attributes of those who are not leaving."""
        for status, players in self._moved.items():
            if players:
                self._work.add(events.Moved(players, status))
        for status, names in self._joined.items():
            if names:
                numbers, new = self._work.numbers_of(names)
                self._work.add(events.Joined(numbers, status), new)
        if self._attributes:
            self._set_attributes()


def _read_names(attribute: str, value: Any) -> list[str]:
    """Read an attribute that lists players, or refuse it."""
    if type_of(value) != "list":
        raise _wrong_type(attribute, value, ("players",), f"the constraint block:{attribute}")
    try:
        return list(dict.fromkeys(normalized_name(name) for name in value))
    except ValueError as error:
        raise RefusalError(
            "invalid-request",
            f"the attribute {attribute!r} lists players, and one of them cannot be, {error}: "
            "correct the name",
        ) from None


def check_needs(
    rules: Rules, player: str, attributes: Mapping[str, Any], lists: Collection[str]
) -> None:
    """Refuse a player who is to wait without the attributes that the rules need.

    The attributes `lists` list players.
    """
    for attribute, types, why in rules.needs:
        value = attributes.get(attribute)
        if value is None:
            raise RefusalError(
                "invalid-request",
                f"player {player!r} has no attribute {attribute!r}, which {why} needs: send "
                f"{TYPES[types[0]]}, as `attributes`, or let the player be away",
                {"player": player, "attribute": attribute},
            )
        if ("players" if attribute in lists else type_of(value)) not in types:
            raise _wrong_type(attribute, value, types, why)


def _wrong_type(
    attribute: str, value: Any, types: Sequence[AttributeType], why: str
) -> RefusalError:
    words = " or ".join(TYPES[each] for each in types)
    return RefusalError(
        "invalid-request",
        f"the attribute {attribute!r} is {ascii(value)[:200]}, and {why} needs {words}: correct it",
        {"attribute": attribute},
    )


def check_rules(pool: Pool, rules: Rules) -> None:
    """Refuse rules that players of the pool who are not away do not have the attributes for."""
    lists, values = rules.player_lists - pool.rules.player_lists, pool.players.attributes.values
    for number in [*pool.players, *pool.players.kept]:  # those who left may return
        for attribute in lists & values.get(number, {}).keys():
            raise RefusalError(
                "invalid-request",
                f"player {pool.names[number]!r} has the attribute {attribute!r} already, as text, "
                "in which names could not be erased: let the constraint block name another "
                "attribute, and set that one afterwards",
            )
        if rules.needs and pool.players.wishes.get(number, "away") != "away":
            known = pool.players.attributes.lists.get(number, {}).keys()
            check_needs(rules, pool.names[number], views.attributes(pool, number), known)
