"""Sentences about an assessment: the same on the terminal and on the page."""

from __future__ import annotations

from pairup.assessment.assessment import MIN_GAMES, Assessment
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
    return hundredths(interval).replace(" ", " points ", 1)


def hundredths(interval: Interval) -> str:
    """Write a difference of shares with its interval, without a unit.

    Examples
    --------
    >>> hundredths(Interval(0.027, 0.018, 0.037))
    '+2.7 [+1.8, +3.7]'
    """
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:+.1f} [{low:+.1f}, {high:+.1f}]"


def describe_verdict(found: Assessment) -> str:
    """Describe whether it is worth it, and why."""
    gain = (
        f"The best matching gives {points(found.gain)} on the {percent(found.pool.random.estimate)}"
    )
    gain += " of games that random pairing gives"
    if not found.fit.startswith("fits"):
        gain += f", by a model that {found.fit}"
    if found.verdict == "worth it":
        return f"Worth it. {gain}."
    if found.verdict == "not worth it":
        return f"Not worth it. {gain}: players are too much alike."
    if found.rarely_seen:
        often = found.table.games_per_player["mean"]
        return (
            f"Not enough data. Players have {often:.1f} games on average: with fewer than "
            f"{MIN_GAMES:.0f}, that is {found.games_needed:,} games of as many players, it does "
            "not show how much they differ."
        )
    needed = f"About {found.games_needed:,} games such as these would decide it."
    return f"Not enough data. {gain}. {needed}"


def describe_history(found: Assessment) -> str:
    """Describe the history."""
    table, often = found.table, found.table.games_per_player
    text = f"{table.games:,} games of {table.players:,} players, {often['mean']:.0f} per player"
    if often["p10"] < often["p90"]:
        text += f" ({often['p10']:.0f} to {often['p90']:.0f} for four fifths of them)"
    text += f"; {percent(found.played.estimate)} were played"
    if table.truncated:
        text += f". Only the first {table.rows:,} rows were read"
    return f"{text}."


def describe_population(found: Assessment) -> str:
    """Describe how often players accept, and how much that varies."""
    mean, deviation = (found.population[name] for name in ("mean", "deviation"))
    often, varies = (hundredths(each).replace("+", "") for each in (mean, deviation))
    return (
        f"Players accept {often} of 100 games on average, with a standard deviation between "
        f"players of {varies}."
    )


def describe_unchecked(found: Assessment) -> str:
    """Describe which checks the history does not allow; empty if it allows all."""
    if not found.unchecked:
        return ""
    return f"Not checked, as the history does not tell enough: {', '.join(found.unchecked)}."


def describe_tenths(found: Assessment) -> list[dict[str, str]]:
    """Describe what matching does to each tenth of the players, the lowest rates first."""
    rates = [each for name, each in found.population.items() if name.startswith("tenth")]
    rows = [
        {"accepts": percent(rate.estimate)}
        | {f"floor {each.floor:g}": hundredths(each.tenths[x]) for each in found.floors}
        for x, rate in enumerate(rates)
        if x < len(found.floors[0].tenths)
    ]
    everybody = {f"floor {each.floor:g}": hundredths(each.gain) for each in found.floors}
    return [*rows, {"accepts": "all"} | everybody]


def describe_learning(found: Assessment) -> str:
    """Describe how long a pool takes to learn."""
    learning = found.learning
    where = (
        f"a pool of {learning.players} players of whom {percent(learning.churn)} leave per round"
    )
    if found.table.churn > learning.churn:
        where += " (more did in the history)"
    after = f"more than {learning.simulated}" if learning.rounds is None else f"{learning.rounds}"
    text = (
        f"In {where}, our policy takes {after} rounds to learn what gives four fifths of the gain"
    )
    half = learning.simulated // 2
    return f"{text}; from round {half} on it has {percent(learning.reached)} of the gain."


def describe_skipped(found: Assessment) -> list[str]:
    """List why rows were left out, with the first rows of each reason."""
    lines = []
    for reason, count in found.table.skipped.items():
        rows: dict[str, list[str]] = {}
        for each in found.table.listed:
            if each.reason == reason:
                rows.setdefault(each.file, []).append(f"{each.line:,}")
        places = "; ".join(f"{file}: {', '.join(some)}" for file, some in rows.items())
        more = ", ..." if count > sum(map(len, rows.values())) else ""
        where = f" ({places}{more})" if rows else ""
        lines.append(f"{count:,} {'row' if count == 1 else 'rows'}: {reason}{where}")
    return lines
