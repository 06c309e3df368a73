"""Sentences of the pages: how a pool compares with random pairing, and its rules."""

from __future__ import annotations

from pairup.service.api.schemas.insight import StatsView
from pairup.service.domain.counters import MIN_GAMES
from pairup.service.domain.rules import Rules


def in_points(difference: float) -> str:
    """Write a difference of shares in percentage points.

    Examples
    --------
    >>> in_points(0.0625), in_points(-0.1), in_points(-0.0001)
    ('+6.2', '−10.0', '0.0')
    """
    rounded = round(100 * difference, 1)
    return f"{rounded:+.1f}".replace("-", "−") if rounded else "0.0"


def too_early(stats: StatsView) -> bool:
    """Whether too few games can be compared with random pairing."""
    return stats.compared is None or stats.compared.games < MIN_GAMES


def verdict(stats: StatsView) -> str:
    """Say in a sentence how the pool compares with random pairing."""
    found = stats.compared
    if stats.played_share is None:
        return "No game has been decided yet."
    if found is None:
        return (
            f"No comparison: policy {stats.policy} estimates couples rather than players, so what "
            "random pairing of the players present would have given is not recorded."
        )
    if too_early(stats):
        games = "1 game" if found.games == 1 else f"{found.games:,} games"
        needed = f"{MIN_GAMES} are needed"
        return f"Too early to say: {games} can be compared with random pairing, {needed}."
    over = f"over the latest {found.games:,} of {stats.games.learnt:,} games"
    if found.gain.low <= 0 <= found.gain.high:
        return (
            "No difference from random pairing of the same players has shown so far: the interval "
            f"of the gain includes 0, {over}."
        )
    more = "More" if found.gain.low > 0 else "Fewer"
    return (
        f"{more} games are played than random pairing of the same players would have given, {over}."
    )


def progress(stats: StatsView) -> str:
    """Say how far the pool has come from random pairing to the best matching."""
    if stats.compared is None:
        return "not recorded under this policy" if stats.played_share else "no game decided yet"
    part = stats.compared.of_the_way
    if part is None:
        return "too early to say how close that is to the best matching"
    if part > 1:
        return "all the way from random pairing to the best matching by the estimates"
    return f"{max(0.0, part):.0%} of the way from random pairing to the best matching"


def rules(of: Rules) -> str:
    """Write the rules of a pool in a line.

    Examples
    --------
    >>> rules(Rules())
    'A proposal stays open for 60 s; without a report it is discarded; after a game its players
    wait again; a player who times out does not count as declining.'
    """
    unreported = {"discard": "is discarded", "cancelled": "counts as cancelled"}[of.unreported]
    after = {"waiting": "wait again", "playing": "play until you say that they wait"}[of.after_game]
    timeout = "counts" if of.timeout_declines else "does not count"
    return (
        f"A proposal stays open for {of.lifetime_s:g} s; without a report it {unreported}; after a "
        f"game its players {after}; a player who times out {timeout} as declining."
    )


def unreported(of: Rules) -> str:
    """Say what becomes of games that expire."""
    if of.unreported == "cancelled":
        return "expired, which this pool counts as cancelled"
    return "this pool discards expired games, so that they are not counted here"


def time_left(seconds: float) -> str:
    """Say how long something stays open; the script says the same.

    Examples
    --------
    >>> time_left(0.2), time_left(89), time_left(600), time_left(9000)
    ('in 1 s', 'in 89 s', 'in 10 min', 'in 3 h')
    """
    for unit, size in (("s", 1), ("min", 60)):
        if seconds < 90 * size:
            return f"in {max(1, round(seconds / size))} {unit}"
    return f"in {max(1, round(seconds / 3600 + 1e-9))} h"
