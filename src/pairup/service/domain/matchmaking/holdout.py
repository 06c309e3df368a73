"""Holdout: a control arm of players who are paired at random, and how the others compare with it.

Who is in the control arm follows from a hash, and is drawn again every day: nobody is held out for
long, and the players of a day are a fresh sample. Days are those of UTC.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairup.errors import PairupError
from pairup.intervals import student_quantile
from pairup.service.domain.events import SECOND, Arm, Moment
from pairup.service.domain.matchmaking.candidates import filter_couples
from pairup.service.domain.matchmaking.constraints import MAX_HOLDOUT
from pairup.service.domain.matchmaking.filters import Filter, Flags, Places

ARMS: tuple[Arm, Arm] = ("policy", "control")
PERIOD = 86_400 * SECOND  # in which players stay in their arm
_MIN_UNITS = 5  # players of an arm and day, for a difference to have an interval
_MAX_GROWTH = 1_000  # times the games so far, beyond which nothing is predicted
_SHUFFLES = 8  # after which the rest is searched couple by couple
_MAX_REST = 300  # players


def check_holdout(share: float) -> None:
    """Refuse a share of players that cannot be held out."""
    if not 0 <= share <= MAX_HOLDOUT:
        raise PairupError(
            f"holdout is a share of players from 0, none, to {MAX_HOLDOUT:g}, got {share!r}: try "
            "0.1"
        )


def control_arm(pool: str, share: float, players: Sequence[int], at: Moment) -> Flags:
    """Return for each player whether it is in the control arm at a moment.

    It depends on the pool, the day and the player alone. Players who are in the control arm of a
    small holdout are in that of a larger one too.

    Examples
    --------
    >>> players = range(10_000)
    >>> few, many = (control_arm("1 0", share, players, at=0) for share in (0.1, 0.2))
    >>> int(few.sum()), int(many.sum()), bool(many[few].all())
    (1033, 1991, True)
    """
    key = hashlib.blake2b(f"{pool} {at // PERIOD}".encode(), digest_size=32).digest()
    codes = (
        hashlib.blake2b(player.to_bytes(8, "little"), digest_size=8, key=key).digest()
        for player in players
    )
    drawn = np.frombuffer(b"".join(codes), np.uint64)
    return drawn < np.uint64(share * 2.0**64) if share else np.zeros(len(drawn), np.bool_)


def arm_of(couple: Iterable[int], control: Collection[int]) -> Arm:
    """Return the arm of both players of a couple, `mixed` if they are in different ones."""
    one, other = (player in control for player in couple)
    return "mixed" if one != other else ARMS[one]


def pair_at_random(
    filters: Sequence[Filter],
    players: Places,
    draw: np.random.Generator,
    first: Flags,
) -> Places:
    """Pair players at random among those whom they may meet, until no two are left who may.

    Players are shuffled, and neighbours who may meet are paired; then the others likewise. Of those
    who are left over after several times, 300 are looked at couple by couple. Among players who all
    may meet, every matching is equally likely, except that if their number is odd, a player who
    comes `first` does not wait if another one can.
    """
    rest, found = players, [np.zeros((0, 2), np.int64)]
    for _ in range(_SHUFFLES):
        rest = draw.permutation(rest)
        if len(rest) % 2 and len(patient := np.flatnonzero(~first[rest])):
            rest[[patient[-1], -1]] = rest[[-1, patient[-1]]]
        one, other = rest[: len(rest) // 2 * 2 : 2], rest[1::2]
        fine = filter_couples(filters, one, other)
        found.append(np.stack([one[fine], other[fine]], axis=1))
        rest = np.setdiff1d(rest, found[-1])
        if len(rest) < 2:
            return np.concatenate(found)
    found.append(pair_the_rest(filters, rest, rest, draw))
    return np.concatenate(found)


def pair_the_rest(
    filters: Sequence[Filter], some: Places, others: Places, draw: np.random.Generator
) -> Places:
    """Pair some players with others, couple by couple in a random order while both are free."""
    some, others = draw.permutation(some)[:_MAX_REST], draw.permutation(others)[:_MAX_REST]
    one, other = (each.ravel() for each in np.meshgrid(some, others, indexing="ij"))
    kept = np.flatnonzero(one != other)
    order = draw.permutation(kept[filter_couples(filters, one[kept], other[kept])])
    taken, found = set[int](), list[tuple[int, int]]()
    for x, y in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if x not in taken and y not in taken:
            taken |= {x, y}
            found.append((x, y))
    return np.array(found, np.int64).reshape(-1, 2)


@dataclass
class ArmCounts:
    """The games of an arm, and sums over its *units*: a player on a day."""

    games: int = 0
    played: int = 0
    units: int = 0  # that are closed; the sums below are over them
    squared_games: int = 0
    squared_played: int = 0
    products: int = 0  # of games and games played
    open: dict[int, list[int]] = field(default_factory=dict)  # games and games played, by player

    def note(self, couple: Iterable[int], played: bool) -> None:
        """Count a decided game."""
        self.games += 1
        self.played += played
        for player in couple:
            unit = self.open.setdefault(player, [0, 0])
            unit[0] += 1
            unit[1] += played

    def close(self, players: Iterable[int]) -> None:
        """Add the units of some players to the sums."""
        for games, played in filter(None, (self.open.pop(player, None) for player in players)):
            self.units += 1
            self.squared_games += games * games
            self.squared_played += played * played
            self.products += games * played

    def closed(self) -> ArmCounts:
        """Return the counts with all units closed."""
        found = ArmCounts(**{**vars(self), "open": dict(self.open)})
        found.close(list(found.open))
        return found

    @property
    def share(self) -> float:
        """Share of the games that were played."""
        return self.played / self.games

    @property
    def variance(self) -> float:
        """Variance of the share over draws of the arms, from units that are all closed.

        A game counts in full for both of its players, and what this counts twice, its own square,
        is taken away (Aronow, Samii and Assenova, 2015). It is no less than if games were
        independent.
        """
        share, units = self.share, self.units
        alone = self.played * (1 - share) ** 2 + (self.games - self.played) * share**2
        squares = self.squared_played - 2 * share * self.products + share**2 * self.squared_games
        spread = max(squares * units / (units - 1) - alone, alone)
        return spread / self.games**2

    def as_json(self) -> dict[str, Any]:
        """Return all counts by name."""
        return {**vars(self), "open": list(self.open.items())}


@dataclass
class Holdout:
    """The games of both arms since a moment."""

    since: Moment
    day: int = 0  # of the latest proposal
    mixed: int = 0  # decided games of players of different arms
    arms: dict[Arm, ArmCounts] = field(default_factory=lambda: {arm: ArmCounts() for arm in ARMS})

    def begin(self, at: Moment) -> None:
        """Close the units of the day before, where another one has begun."""
        if at // PERIOD != self.day:
            self.day = at // PERIOD
            for arm in self.arms.values():
                arm.close(list(arm.open))

    def note(self, arm: Arm, couple: Iterable[int], played: bool) -> None:
        """Count a decided game."""
        if arm == "mixed":
            self.mixed += 1
        else:
            self.arms[arm].note(couple, played)

    def forget(self, player: int) -> None:
        """Close the units of a player."""
        for arm in self.arms.values():
            arm.close([player])

    def compare(self) -> ArmComparison:
        """Compare the arms."""
        return ArmComparison(*(self.arms[arm].closed() for arm in ARMS))

    def as_json(self) -> dict[str, Any]:
        """Return all that is counted."""
        return {**vars(self), "arms": {name: each.as_json() for name, each in self.arms.items()}}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Holdout:
        """Read counts back."""
        arms = {
            arm: ArmCounts(**{**stored["arms"][arm], "open": dict(stored["arms"][arm]["open"])})
            for arm in ARMS
        }
        return cls(**{**stored, "arms": arms})


@dataclass(frozen=True)
class ArmComparison:
    """Two arms, all of whose units are closed."""

    policy: ArmCounts
    control: ArmCounts

    @property
    def gain(self) -> dict[str, float] | None:
        """Share played of the policy's games less that of the control arm, with its 95% interval.

        By the draw of the arms alone, whatever players are like: players on a day are the units
        that were drawn. None while units are too few.
        """
        if min(self.policy.units, self.control.units) < _MIN_UNITS:
            return None
        gain = self.policy.share - self.control.share
        half = self._half_width
        return {"estimate": gain, "low": max(-1.0, gain - half), "high": min(1.0, gain + half)}

    @property
    def _half_width(self) -> float:
        """Half of the interval: Student's, with the degrees of freedom by Satterthwaite."""
        arms = [(arm.variance, arm.units) for arm in (self.policy, self.control)]
        variance = sum(each for each, _ in arms)
        if not variance:
            return 1.0  # all games, or none, were played: nothing shows the spread
        freedom = variance**2 / sum(each**2 / (units - 1) for each, units in arms)
        return float(student_quantile(freedom + 1)) * math.sqrt(variance)

    @property
    def more_games(self) -> int | None:
        """About how many more games of both arms decide which one is better.

        So many that the interval would leave out 0, if the difference stayed as it is; 0 if it
        does. None while that is too far away to predict.
        """
        gain = self.gain
        if gain is None:
            return None
        if gain["low"] > 0 or gain["high"] < 0:
            return 0
        games, away = self.policy.games + self.control.games, abs(gain["estimate"])
        growth = (self._half_width / away) ** 2 - 1 if away else math.inf
        return math.ceil(growth * games) if growth <= _MAX_GROWTH else None
