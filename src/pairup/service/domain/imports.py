"""Imports: games from before a pool knew of them, and saved learners.

Past games are in columns. The same columns are in a file of history, in a request, and in the
event, where players have numbers instead of names.
"""

from __future__ import annotations

import base64
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, NamedTuple

from pairup.learning import Learner
from pairup.learning.feedback import CoupleFeedback
from pairup.service.domain.events import Imported, Loaded

Said = bool | None  # None: not known


class PastGamesError(ValueError):
    """Past games that break a rule."""


def same_player(player: str) -> str:
    """Return why a game of a player with itself cannot be learnt from."""
    return f"both of its players are {player!a}, and a couple is two players"


@cache
def feedback_problem(accepted_a: Said, accepted_b: Said, played: Said) -> str:
    """Return why nothing can be learnt from a game with this feedback; empty if it can.

    Examples
    --------
    >>> feedback_problem(True, None, None)
    'neither `played` nor the answers tell whether the couple played'
    """
    feedback = CoupleFeedback((accepted_a, accepted_b), played)
    if not feedback.consistent:
        return "a couple plays if and only if both accept, and its outcome is another"
    if feedback.decision is None:
        return "neither `played` nor the answers tell whether the couple played"
    return ""


@dataclass(frozen=True)
class PastGames:
    """Games of the past in columns: who met, and whether they accepted and played.

    Examples
    --------
    >>> games = PastGames(["ann", "bob", "cyd"], [0, 0], [1, 2], [True, None], None, [None, False])
    >>> games.check()
    >>> games.outcomes_of_players()
    {'ann': 2, 'bob': 1, 'cyd': 1}
    """

    players: list[Any]  # each name, or number, once
    player_a: list[int]  # places in `players`
    player_b: list[int]
    played: list[bool | None] | None = None  # None: not known of any game
    accepted_a: list[bool | None] | None = None
    accepted_b: list[bool | None] | None = None

    @classmethod
    def of(cls, event: Imported) -> PastGames:
        """Return the games of an event."""
        return cls(**{each.name: getattr(event, each.name) for each in fields(cls)})

    def __len__(self) -> int:
        return len(self.player_a)

    def check(self) -> None:
        """Refuse games that break a rule with a `PastGamesError`, which names the first."""
        for player, times in Counter(self.players).most_common(1):
            if times > 1:
                raise PastGamesError(f"players has {player!r} {times} times: list each name once")
        for name in ("player_b", "played", "accepted_a", "accepted_b"):
            column = getattr(self, name)
            if column is not None and len(column) != len(self):
                raise PastGamesError(
                    f"{name} has {len(column)} items and player_a {len(self)}: each column has one "
                    "item per game"
                )
        places = {*self.player_a, *self.player_b}
        if places and not 0 <= min(places) <= max(places) < len(self.players):
            raise PastGamesError(
                f"player_a and player_b are places in players, from 0 to {len(self.players) - 1}"
            )
        for row, ((one, other), said) in enumerate(zip(self.couples(), self.said(), strict=True)):
            problem = same_player(one) if one == other else feedback_problem(*said)
            if problem:
                raise PastGamesError(f"game {row} cannot be learnt from, {problem}")

    def couples(self) -> Iterator[tuple[Any, Any]]:
        """Yield the players of each game."""
        names = self.players
        return ((names[a], names[b]) for a, b in zip(self.player_a, self.player_b, strict=True))

    def outcomes_of_players(self) -> dict[Any, int]:
        """Count the games of each player."""
        counted = Counter(self.player_a) + Counter(self.player_b)
        return {player: counted[place] for place, player in enumerate(self.players)}

    def teach(self, learner: Learner) -> None:
        """Teach these games to a learner, in which all the players are present."""
        said = list(self.said())
        accepted = [(accepted_a, accepted_b) for accepted_a, accepted_b, _ in said]
        learner.learn(list(self.couples()), [played for *_, played in said], accepted=accepted)

    def said(self) -> Iterator[tuple[Said, Said, Said]]:
        """Yield the answers of each game's players, and whether it was played."""
        nothing: list[Said] = [None] * len(self)
        columns = (self.accepted_a, self.accepted_b, self.played)
        return zip(*(nothing if each is None else each for each in columns), strict=True)


MAX_IMPORTS = 1_000  # of a pool, which remembers each of them for good


class ImportProgress(NamedTuple):
    """How far an import has come.

    The rows of a source are taken in order, so that a number tells which were: whoever sends them,
    and however often, each is learnt once.

    Examples
    --------
    >>> chunk = Imported("history", 0, 3, ["ann", "bob"], [0, 0], [1, 1], [True, False], None, None)
    >>> ImportProgress().after(chunk)
    ImportProgress(next=3, games=2)
    """

    next: int = 0  # row of the source; all before it were taken, or left out by the sender
    games: int = 0  # learnt from them

    def after(self, event: Imported) -> ImportProgress:
        """Return the progress after the next chunk."""
        if event.first != self.next:
            raise ValueError(f"row {self.next} of import {event.source!r} is next")
        return ImportProgress(event.first + event.rows, self.games + len(event.player_a))


def loading(learner: Learner, by: str | None = None) -> Loaded:
    """Make the event that loads a learner; its pending outcomes, of other games, are withdrawn."""
    for couple, times in learner.pending.items():
        learner.withdraw([couple] * times)
    packed = zlib.compress(learner.evidence(), 6)
    return Loaded(base64.b64encode(packed).decode("ascii"), by)


def loaded(event: Loaded) -> Learner:
    """Make the learner that an event loads.

    Examples
    --------
    >>> from pairup import Unimodal
    >>> learner = Unimodal().learner(["ann", "bob"])
    >>> learner.observe(learner.propose(), [True])
    >>> loaded(loading(learner)).estimates() == learner.estimates()
    True
    """
    return Learner.from_evidence(zlib.decompress(base64.b64decode(event.evidence)))
