"""Ids of matchings and games: what callers see of the keys by which the service knows them.

A matching is known by the moment at which it was proposed, which is unique in its pool, and a game
by its matching and its place in it. The id that callers see has the number of the pool in front and
a code behind, which follows from them and from a secret of the pool. So nothing of an id is stored,
nobody can guess one, and whoever sends one has said which pool it is about.
"""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache
from typing import NamedTuple

from pairup.service.domain.clock import Moment

MATCHING_ID = r"^[0-9a-f]{1,16}-[0-9a-f]{1,16}-[0-9a-f]{16}$"
GAME_ID = r"^[0-9a-f]{1,16}-[0-9a-f]{1,16}-[0-9a-f]{16}-[0-9a-f]{1,8}$"
_CODE_BYTES = 8


class GameKey(NamedTuple):
    """A game of a pool."""

    matching: Moment  # at which it was proposed
    place: int  # in its matching


class Ids:
    """The ids of the matchings and games of a pool.

    Examples
    --------
    >>> ids = Ids(3, "a secret")
    >>> ids.game(GameKey(1_024, 7))
    '3-400-a5ad2135519db806-7'
    >>> ids.find_game("3-400-a5ad2135519db806-7"), ids.find_game("3-400-0000000000000000-7")
    (GameKey(matching=1024, place=7), None)
    """

    def __init__(self, pool: int, secret: str) -> None:
        self._pool, self._secret = pool, secret

    def matching(self, matching: Moment) -> str:
        """Return the id of a matching."""
        return _matching_id(self._pool, self._secret, matching)

    def game(self, game: GameKey) -> str:
        """Return the id of a game."""
        return f"{_matching_id(self._pool, self._secret, game.matching)}-{game.place:x}"

    def find_matching(self, id: str) -> Moment | None:
        """Return the matching that has an id, None if none of this pool can have it."""
        return _find_matching(self._pool, self._secret, id)

    def find_game(self, id: str) -> GameKey | None:
        """Return the game that has an id, None if none of this pool can have it."""
        head, _, last = id.rpartition("-")
        matching, place = self.find_matching(head), _number(last)
        if matching is None or place is None or f"{place:x}" != last:
            return None
        return GameKey(matching, place)


def pool_of(id: str) -> int | None:
    """Return the number of the pool that the id of a matching or a game names.

    Examples
    --------
    >>> pool_of("1f-400-a5ad2135519db806-7"), pool_of("nonsense")
    (31, None)
    """
    return _number(id.partition("-")[0])


def new_secret() -> str:
    """Draw the secret of a pool, which also tells it from all others."""
    return secrets.token_hex(16)


def _number(digits: str) -> int | None:
    """Read a number that a database can have; None if it is not one."""
    try:
        value = int(digits, 16)
    except ValueError:
        return None
    return value if 0 <= value < 1 << 63 else None


@lru_cache(1_024)  # the games of a matching are named and found one after the other
def _matching_id(pool: int, secret: str, matching: Moment) -> str:
    text = f"{pool} {matching}".encode()
    code = hashlib.blake2b(text, digest_size=_CODE_BYTES, key=secret.encode()).hexdigest()
    return f"{pool:x}-{matching:x}-{code}"


@lru_cache(1_024)
def _find_matching(pool: int, secret: str, id: str) -> Moment | None:
    _, _, rest = id.partition("-")
    matching = _number(rest.partition("-")[0])
    known = matching is not None and _matching_id(pool, secret, matching) == id
    return matching if known else None
