"""What the pages say in words."""

from __future__ import annotations

from typing import Any

from pairup.service.analytics.shares import LEAST_GAMES
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


def early(stats: dict[str, Any]) -> bool:
    """Whether too few games can be compared with random pairing."""
    return stats["compared"] is None or stats["compared"]["games"] < LEAST_GAMES


def verdict(stats: dict[str, Any]) -> str:
    """Say in a sentence how the pool fares."""
    found = stats["compared"]
    if stats["played_share"] is None:
        return "No game has been decided yet."
    if found is None:
        return (
            f"Nothing is claimed: policy {stats['policy']} estimates couples, not players, so what "
            "random pairing of those who were there would have given is not recorded."
        )
    if early(stats):
        return (
            f"Too early to say: {found['games']:,} games can be compared with random pairing, "
            f"{LEAST_GAMES} are needed."
        )
    low, high = found["gain"]["low"], found["gain"]["high"]
    if low <= 0 <= high:
        return (
            "No difference from random pairing of the same players is shown so far: the interval "
            f"of the gain has 0 in it, {_over(stats)}."
        )
    more = "More" if low > 0 else "Fewer"
    return (
        f"{more} games are played than random pairing of the same players would have given, "
        f"{_over(stats)}."
    )


def _over(stats: dict[str, Any]) -> str:
    return f"over the latest {stats['compared']['games']:,} of {stats['games']['learnt']:,} games"


def way(stats: dict[str, Any]) -> str:
    """Say how far the pool came from random pairing to the best."""
    found = stats["compared"]
    if found is None:
        return "not recorded under this policy" if stats["played_share"] else "no game decided yet"
    part = found["of_the_way"]
    if part is None:
        return "too early to say how much of the way to the best matching that is"
    if part > 1:
        return "all the way from random pairing to the best matching by the estimates"
    return f"{max(0.0, part):.0%} of the way from random pairing to the best matching"


def rules(of: Rules) -> str:
    """Write the rules of a pool in a line.

    Examples
    --------
    >>> rules(Rules())
    'A proposal is open for 60 s; unreported, it is discarded; after a game players wait again;
    who times out is not taken to have declined.'
    """
    unreported = {"discard": "discarded", "cancelled": "counted as cancelled"}[of.unreported]
    after = {"waiting": "wait again", "playing": "play until you say that they wait"}[of.after_game]
    timeout = (
        "is taken to have declined" if of.timeout_declines else "is not taken to have declined"
    )
    return (
        f"A proposal is open for {of.lifetime_s:g} s; unreported, it is {unreported}; after a game "
        f"players {after}; who times out {timeout}."
    )


def unreported(of: Rules) -> str:
    """Say what becomes of games that expire."""
    if of.unreported == "cancelled":
        return "expired; this pool counts that as cancelled"
    return "this pool discards games that expire: they are not counted here"


def left(seconds: float) -> str:
    """Say how long something is open still; the script says the same.

    Examples
    --------
    >>> left(0.2), left(89), left(600), left(9000)
    ('in 1 s', 'in 89 s', 'in 10 min', 'in 3 h')
    """
    for unit, size in (("s", 1), ("min", 60)):
        if seconds < 90 * size:
            return f"in {max(1, round(seconds / size))} {unit}"
    return f"in {max(1, round(seconds / 3600 + 1e-9))} h"
