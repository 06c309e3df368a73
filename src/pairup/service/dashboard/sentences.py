"""Sentences of the pages: how a pool compares with random pairing, and its rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pairup.learning import CoupleDeviation
from pairup.service.api.schemas.insight import HoldoutView, ShadowView, StatsView
from pairup.service.domain.counters import MIN_GAMES
from pairup.service.domain.matchmaking.constraints import Constraint
from pairup.service.domain.matchmaking.matchmaker import ODD
from pairup.service.domain.matchmaking.rules import Rules


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
    """Describe in a sentence how the pool compares with random pairing."""
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
    """Describe how far the pool has come from random pairing to the best matching."""
    if stats.compared is None:
        return "not recorded under this policy" if stats.played_share else "no game decided yet"
    part = stats.compared.of_the_way
    if part is None:
        return "too early to say how close that is to the best matching"
    if part > 1:
        return "all the way from random pairing to the best matching by the estimates"
    return f"{max(0.0, part):.0%} of the way from random pairing to the best matching"


def couple_deviation(stats: StatsView) -> str:
    """Describe how closely couples follow the players' rates; empty if that is not learned.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = SimpleNamespace(estimate=0.041, low=0.022, high=0.068)
    >>> couple_deviation(SimpleNamespace(couple_deviation=found))
    "Couples follow the players' rates to within 4.1 points (95% interval 2.2 to 6.8)."
    """
    found = stats.couple_deviation
    if found is None:
        return ""
    said = str(CoupleDeviation(found.estimate, found.low, found.high))
    return f"{said[0].upper()}{said[1:]}."


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


def meetings(of: Rules) -> list[str]:
    """Write the rules of a pool on who meets as sentences, one for each.

    Examples
    --------
    >>> near = {"kind": "distance", "attribute": "rating", "at_most": 100}
    >>> near["relax"] = [{"after_s": 10, "at_most": 200}, {"after_s": 60, "at_most": None}]
    >>> for each in meetings(Rules(constraints=[near], fairness={"floor": 0.5}, max_wait_s=90)):
    ...     print(each)
    Two players meet if their rating differs by at most 100; by at most 200 after 10 s of waiting;
    whatever it is after 60 s of waiting.
    Each player is promised 50% of the chance of a game that random pairing would give.
    A player who has waited for 90 s is matched before others.
    """
    said = [f"Two players meet if {_constraint(each)}." for each in of.parsed_constraints]
    said += [_worth(each) for each in of.worth]
    if of.floor:
        said.append(
            f"Each player is promised {of.floor:.0%} of the chance of a game that random pairing "
            "would give."
        )
    if of.max_wait_s is not None:
        said.append(f"A player who has waited for {of.max_wait_s:g} s is matched before others.")
    if of.holdout:
        said.append(
            f"{of.holdout:.0%} of the players, drawn again every day, are paired at random, to "
            "compare the others with them."
        )
    if of.mode == "shadow":
        said.append("The pool is in shadow: it proposes nothing, and learns the games observed.")
    return said


def holdout(of: HoldoutView) -> str:
    """Describe how the policy compares with the control arm."""
    policy, control, gain = of.policy, of.control, of.gain
    if gain is None or policy.share is None or control.share is None:
        return "Too early to say: both arms need games of at least 5 players."
    shares = (
        f"{policy.share:.1%} of {policy.games:,} games paired by the policy were played, and "
        f"{control.share:.1%} of {control.games:,} games paired at random: "
        f"{in_points(gain.estimate)} points, "
        f"95% interval {in_points(gain.low)} to {in_points(gain.high)}"
    )
    if of.more_games == 0:
        which = "better" if gain.estimate > 0 else "worse"
        return f"{shares}. The policy does {which}, by more than chance explains."
    if of.more_games is None:
        return f"{shares}. How many more games would decide it cannot be said yet."
    return f"{shares}. About {of.more_games:,} more games decide it, if the difference stays."


def shadow(of: ShadowView) -> str:
    """Describe how another matchmaker's games compare with what the pool would have proposed."""
    found = of.compared
    if found is None:
        return f"Too early to say: of {of.games:,} games that were observed, none can be compared."
    gain, more = found.gain, "more" if found.gain.estimate >= 0 else "less"
    text = (
        f"{found.played.estimate:.1%} of the latest {found.games:,} games observed were played. Of "
        f"the same players the pool would have made couples that play {more} often: "
        f"{in_points(gain.estimate)} points, "
        f"95% interval {in_points(gain.low)} to {in_points(gain.high)}."
    )
    if not found.played.low <= found.observed <= found.played.high:
        text += (
            f" Its estimates expect {found.observed:.1%} of the games observed: do not trust the "
            "gain."
        )
    return text


def _constraint(of: Constraint) -> str:
    first, *later = of.levels
    said = [_allowed(of, first)]
    for after_s, level in zip(of.after_s[1:], later, strict=True):
        lifted = math.isinf(level) or (level == 0 and not of.grows)
        words = "whatever it is" if lifted else _limit(of, level)
        said.append(f"{words} after {after_s:g} s of waiting")
    return "; ".join(said)


def _allowed(of: Constraint, level: float) -> str:
    name = of.attribute
    match of.kind:
        case "distance":
            return f"their {name} differs {_limit(of, level)}"
        case "equal":
            return f"their {name} is the same"
        case "different":
            return f"their {name} differs"
        case "overlap":
            return f"their {name} have an element in common"
        case "latency":
            return f"there is a region in which the {name} of both is {_limit(of, level)}"
        case "block":
            return f"neither lists the other in {name}"
        case "cooldown":
            return f"they have not played each other {_limit(of, level)}"


def _limit(of: Constraint, level: float) -> str:
    if of.kind == "cooldown":
        games = "game" if level == 1 else f"{level:g} games"
        return f"in the last {games} of either" if of.field == "games" else f"for {level:g} s"
    return f"by at most {level:g}" if of.kind == "distance" else f"at most {level:g}"


def _worth(of: Mapping[str, Any]) -> str:
    if of["kind"] == "waiting":
        return f"A game is worth twice as much after {of['double_after_s']:g} s of waiting."
    return f"A game is worth half as much for each {of['half_at']:g} of {of['attribute']} apart."


def unmatched(cause: str) -> str:
    """Describe why players stayed waiting.

    Examples
    --------
    >>> unmatched("odd"), unmatched("distance:rating")
    ('somebody whom they may meet was there, but taken', 'nobody was there whom it lets them meet')
    """
    if cause == ODD:
        return "somebody whom they may meet was there, but taken"
    return "nobody was there whom it lets them meet"


def unreported(of: Rules) -> str:
    """Describe what becomes of games that expire."""
    if of.unreported == "cancelled":
        return "expired, which this pool counts as cancelled"
    return "this pool discards expired games, so that they are not counted here"


def duration(seconds: float) -> str:
    """Write a duration in words, as the script of the page does.

    Examples
    --------
    >>> duration(0.2), duration(89), duration(600), duration(9000)
    ('1 s', '89 s', '10 min', '3 h')
    """
    for unit, size in (("s", 1), ("min", 60)):
        if seconds < 90 * size:
            return f"{max(1, round(seconds / size))} {unit}"
    return f"{max(1, round(seconds / 3600 + 1e-9))} h"
