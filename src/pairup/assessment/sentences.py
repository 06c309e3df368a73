"""Sentences about an assessment: the same on the terminal and on the page."""

from __future__ import annotations

from pairup.assessment.assessment import Assessment
from pairup.assessment.outlook import Interval


def percent(value: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.1234)
    '12.3%'
    """
    return f"{100 * value:.1f}%"


def points(interval: Interval) -> str:
    """Write a difference of shares with its interval, in percentage points.

    Examples
    --------
    >>> points(Interval(0.027, 0.018, 0.037))
    '+2.7 points [+1.8, +3.7]'
    """
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:+.1f} points [{low:+.1f}, {high:+.1f}]"


def describe_verdict(found: Assessment) -> str:
    """Describe whether it is worth it, and why."""
    gain = (
        f"The best matching gives {points(found.gain)} on the {percent(found.pool.random.estimate)}"
    )
    gain += " of games that random pairing gives"
    if found.verdict == "worth it":
        return f"Worth it. {gain}."
    if found.verdict == "not worth it":
        return f"Not worth it. {gain}: players are too much alike."
    needed = f"About {found.games_needed:,} games such as these would decide it."
    return f"Not enough data. {gain}. {needed}"


def describe_history(found: Assessment) -> str:
    """Describe the history."""
    table = found.table
    text = (
        f"{table.games:,} games of {table.players:,} players, {2 * table.games / table.players:.0f}"
    )
    text += f" per player; {percent(found.played.estimate)} were played"
    if table.truncated:
        text += f". Only the first {table.rows:,} rows were read"
    return f"{text}."


def describe_learning(found: Assessment) -> str:
    """Describe how long a pool takes to learn."""
    learning = found.learning
    where = (
        f"a pool of {learning.players} players of whom {percent(learning.churn)} leave per round"
    )
    if learning.rounds is None:
        return f"In {where}, four fifths of the gain take more than {learning.simulated} rounds."
    return f"In {where}, four fifths of the gain take about {learning.rounds} rounds."


def describe_skipped(found: Assessment) -> list[str]:
    """List why rows were left out, with the first of them."""
    lines = [f"{count:,} rows: {reason}" for reason, count in found.table.skipped.items()]
    rows = ", ".join(str(each.row) for each in found.table.listed)
    return [*lines, f"the first of them: rows {rows}"] if lines else []
