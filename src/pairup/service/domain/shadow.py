"""Shadow: another matchmaker's rounds, against what the pool would have proposed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pairup.service.domain.counters import Z, wilson_interval
from pairup.service.domain.events import Observed

_MAX_STRETCHES = 128


class Stretch(NamedTuple):
    """Compared rounds, one after the other; all but the first two are sums over their games."""

    games: int
    played: int
    expected: float  # games expected of what the pool would have proposed
    observed: float  # games expected of what was observed, by the same estimates
    deviation: float  # of the difference
    random: float  # chance of couples drawn at random from the same players
    best: float  # chance in the best matching of the same players


@dataclass
class Shadow:
    """What was observed of another matchmaker, in room that does not grow.

    Examples
    --------
    >>> would = {"games": [{"players": [1, 2], "chance": 0.75}], "waiting": [], "shares": None}
    >>> would |= {"observed": 0.5, "deviation": 0.01, "random": 0.7, "best": 0.75}
    >>> shadow = Shadow()
    >>> for played in (True, False, True, False):
    ...     shadow.note(Observed([[1, 2]], [played], None, would))
    >>> found = shadow.compare()
    >>> found.games, found.played, found.gain["estimate"]
    (2, 1, 0.25)
    """

    rounds: int = 0
    uncompared: int = 0  # rounds for which nothing could be proposed, or estimated
    games: int = 0
    played: int = 0
    width: int = 1  # compared rounds in a stretch
    compared: int = 0  # rounds in the stretches
    stretches: list[list[Any]] = field(default_factory=list)

    def note(self, event: Observed) -> None:
        """Note a round; where room runs out, two stretches each are joined."""
        games, played = len(event.couples), sum(event.played)
        self.rounds, self.games = self.rounds + 1, self.games + games
        self.played += played
        found = _stretch(event, games, played)
        if found is None:
            self.uncompared += 1
            return
        if self.compared % self.width:
            self.stretches[-1] = _joined(self.stretches[-1], found)
        else:
            if len(self.stretches) == _MAX_STRETCHES:
                pairs = zip(self.stretches[::2], self.stretches[1::2], strict=True)
                self.width, self.stretches = 2 * self.width, [_joined(*pair) for pair in pairs]
            self.stretches.append(list(found))
        self.compared += 1

    def compare(self) -> ShadowComparison | None:
        """Compare the latest half of the games; None if there are none.

        In earlier ones the estimates still rest on first guesses, as in `counters.Comparison`.
        """
        half = sum(games for games, *_ in self.stretches) / 2
        latest: list[Any] = [0, 0, 0.0, 0.0, 0.0, 0.0, 0.0]
        for each in reversed(self.stretches):
            if latest[0] >= half:
                break
            latest = _joined(latest, each)
        games, played, *sums = latest
        return ShadowComparison(games, played, *(each / games for each in sums)) if games else None

    def as_json(self) -> dict[str, Any]:
        """Return what is stored."""
        return vars(self)


def _stretch(event: Observed, games: int, played: int) -> Stretch | None:
    """Return a round as a stretch, None if it cannot be compared."""
    would = event.suggested
    if would is None:
        return None
    chances = [game["chance"] for game in would["games"]]
    known = [each for each in chances if each is not None]
    means = [would["observed"], would["deviation"], would["random"], would["best"]]
    sums = [games * each for each in means if each is not None]
    if len(sums) < len(means) or len(known) < len(chances):
        return None
    return Stretch(games, played, sum(known), *sums)


def _joined(one: list[Any], other: Any) -> list[Any]:
    return [a + b for a, b in zip(one, other, strict=True)]


class ShadowComparison(NamedTuple):
    """The games of another matchmaker, against what the pool would have proposed."""

    games: int
    played: int
    expected: float  # share that would have been played; players left over played nothing
    observed: float  # share expected of what was observed, by the same estimates
    deviation: float  # of the difference
    random: float
    best: float

    @property
    def gain(self) -> dict[str, float]:
        """Share that would have been played less that observed, with its 95% interval.

        Both by the estimates of the moment: the luck of the games observed, and errors that the two
        share, cancel. Errors are taken as the same in all rounds, which is the worst case, and
        count twice, because the estimates that choose a matching judge it too.
        """
        gain, doubt = self.expected - self.observed, 2 * Z * self.deviation
        return {
            "estimate": gain,
            "low": max(-1.0, gain - doubt),
            "high": min(1.0, gain + doubt),
        }

    def as_json(self) -> dict[str, Any]:
        """Return the comparison."""
        return {
            "games": self.games,
            "played": wilson_interval(self.played, self.games),
            "observed": self.observed,
            "expected": self.expected,
            "random": self.random,
            "best": self.best,
            "gain": self.gain,
        }
