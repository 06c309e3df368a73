"""Matching: couples that share no player."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

from pairup.checks import checked_list
from pairup.errors import MatchingError, did_you_mean
from pairup.html_table import html_table

Couple: TypeAlias = tuple[Any, Any]

_SHOWN = 20  # couples in a notebook


class Matching(Sequence[Couple]):
    """Couples that share no player, in order, and the players who wait.

    A matching is a read-only sequence of its couples. The order is kept, because the couples of a
    leader are ordered (Section 4 of the paper), but two matchings are equal when they pair the
    same players, whatever the order of the couples and of the players in them.

    Parameters
    ----------
    couples
        Pairs of distinct players. A player is any hashable value other than None.
    waiting
        Players without a partner in this round.

    Raises
    ------
    MatchingError
        A couple is not two distinct players, or a player appears twice.

    Examples
    --------
    >>> from pairup import Matching
    >>> matching = Matching([("ann", "bob"), ("cid", "dee")], waiting=["eve"])
    >>> matching
    Matching(ann-bob, cid-dee; waiting eve)
    >>> matching.partner("dee")
    'cid'
    >>> ("bob", "ann") in matching
    True
    >>> matching == Matching([("dee", "cid"), ("ann", "bob")], waiting=["eve"])
    True
    """

    __slots__ = ("_couples", "_partners", "_waiting")

    _couples: tuple[Couple, ...]
    _waiting: tuple[Any, ...]
    _partners: dict[Any, Any]  # of each player, None if it waits: the canonical form

    def __init__(
        self, couples: Iterable[Iterable[Hashable]], waiting: Iterable[Hashable] = ()
    ) -> None:
        self._couples = tuple(map(as_couple, checked_list("couples", couples, MatchingError)))
        self._waiting = tuple(checked_list("waiting", waiting, MatchingError))
        self._partners = {}
        for one, other in self._couples:
            self._add(one, other)
            self._add(other, one)
        for player in self._waiting:
            self._add(player, None)

    @classmethod
    def of_distinct(cls, couples: Iterable[Couple], waiting: Iterable[Any] = ()) -> Matching:
        """Make a matching of tuples of players who are known to be distinct, without checks."""
        matching = cls.__new__(cls)
        matching._couples, matching._waiting = tuple(couples), tuple(waiting)
        matching._partners = partners = {}
        for one, other in matching._couples:
            partners[one], partners[other] = other, one
        partners.update(dict.fromkeys(matching._waiting))
        return matching

    def _add(self, player: Hashable, partner: Hashable | None) -> None:
        if player is None:
            raise MatchingError(
                "None cannot be a player, it stands for a missing partner: give another name"
            )
        try:
            known = player in self._partners
        except TypeError:
            raise MatchingError(
                f"players must be hashable, got {player!r}: use a name, a number or a tuple"
            ) from None
        if known:
            raise MatchingError(
                f"a player appears at most once in a matching, got {player!r} twice: "
                "leave out one of the two"
            )
        self._partners[player] = partner

    @property
    def couples(self) -> tuple[Couple, ...]:
        """The couples, each a tuple of two players, in the given order."""
        return self._couples

    @property
    def waiting(self) -> tuple[Any, ...]:
        """The players without a partner, in the given order."""
        return self._waiting

    @property
    def players(self) -> tuple[Any, ...]:
        """All players: couple by couple, then the players who wait."""
        return tuple(self._partners)

    def partner(self, player: Hashable) -> Any:
        """Return the partner of a player, None if the player waits.

        Parameters
        ----------
        player
            A player of this matching.

        Raises
        ------
        MatchingError
            The player is not in this matching.

        Examples
        --------
        >>> Matching([(0, 3), (2, 1)]).partner(3)
        0
        """
        try:
            return self._partners[player]
        except (KeyError, TypeError):  # TypeError: not hashable, so not a player
            hint = did_you_mean(player, self._partners)
            raise MatchingError(f"player {player!r} is not in this matching{hint}") from None

    def __len__(self) -> int:
        return len(self._couples)

    def __iter__(self) -> Iterator[Couple]:
        return iter(self._couples)

    @overload
    def __getitem__(self, index: int) -> Couple: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Couple, ...]: ...
    def __getitem__(self, index: int | slice) -> Couple | tuple[Couple, ...]:
        return self._couples[index]

    def __contains__(self, couple: object) -> bool:
        if isinstance(couple, str | bytes) or not isinstance(couple, Iterable):
            return False
        pair = tuple(couple)
        try:
            return len(pair) == 2 and None not in pair and self._partners.get(pair[0]) == pair[1]
        except TypeError:  # not hashable, so not a player
            return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matching):
            return NotImplemented
        return self._partners == other._partners

    def __hash__(self) -> int:
        return hash(frozenset(self._partners.items()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{one}-{other}" for one, other in self._couples)
        if self._waiting:
            names = ", ".join(str(player) for player in self._waiting)
            shown = f"{shown}; waiting {names}" if shown else f"waiting {names}"
        return f"Matching({shown})"

    def _repr_html_(self) -> str:
        rows: list[tuple[object, object]] = list(self._couples[:_SHOWN])
        if len(self._couples) > _SHOWN:
            rows.append(("...", f"{len(self._couples) - _SHOWN} more couples"))
        rows += [(player, "waits") for player in self._waiting[:_SHOWN]]
        if len(self._waiting) > _SHOWN:
            rows.append(("...", f"{len(self._waiting) - _SHOWN} more players wait"))
        return html_table(f"Matching: {len(self._couples)} couples", (), rows)


def chance_of_couple(players: int) -> float:
    """Return how likely a couple is in a matching of at least two players drawn uniformly.

    Examples
    --------
    >>> chance_of_couple(4) == chance_of_couple(3) == 1 / 3
    True
    """
    return 1.0 / (players - 1 + players % 2)


def as_couple(players: Iterable[Hashable]) -> Couple:
    """Make a couple of two distinct players, or refuse them."""
    rule = "a couple is exactly two distinct players"
    # A string of two letters would pass for a couple of them.
    if isinstance(players, str | bytes) or not isinstance(players, Iterable):
        raise MatchingError(f"{rule}, got {players!r}: write ({players!r}, partner)")
    couple = tuple(players)
    if len(couple) != 2:
        raise MatchingError(
            f"{rule}, got {len(couple)} in {couple!r}: a player without a partner goes in `waiting`"
        )
    if couple[0] == couple[1]:
        raise MatchingError(f"{rule}, got {couple[0]!r} with itself: give it another partner")
    return couple
