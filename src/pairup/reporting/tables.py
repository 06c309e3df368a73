"""Tables of the report: policies beside each other on many problems, or below on few."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from pairup.analysis.limits import limits
from pairup.analysis.standings import TIMING_NOTE, Standing, ties
from pairup.experiments.spec import Experiment


def by_problem(experiment: Experiment, tables: Mapping[str, Sequence[Standing]]) -> str:
    """Give each problem a row, each policy a column."""
    constants = limits(experiment)
    labels = [entry.label for entry in experiment.entries]
    rows = []
    for name, ranks in tables.items():
        by_label = {row.policy: row for row in ranks}
        cells = "".join(_cell(by_label.get(label)) for label in labels)
        limit = _limit(constants.get(name), experiment.rounds) if constants else ""
        order = ", ".join(row.policy for row in ranks)
        rows.append(
            f'<tr><th scope="row">{escape(name)}</th>{cells}{limit}'
            f"<td>{escape(order)}</td><td>{escape(_tied(ranks) or '–')}</td></tr>"
        )
    limit_head = ("Limit, c ln T",) if constants else ()
    heads = ("Problem", *labels, *limit_head, "From the least regret", "No difference shown")
    caption = "Mean and 95% interval. Bold: no policy was shown to be better." + (
        " ×: times the limit." if constants else ""
    )
    right = range(1, len(labels) + len(limit_head) + 1)
    return table(caption, heads, rows, style="finals", numbers=right)


def _cell(row: Standing | None) -> str:
    if row is None:
        return '<td class="number">–</td>'
    times = "" if row.times_limit is None else _small(f"× {row.times_limit:,.1f}")
    return _regret(row, times)


def _regret(row: Standing, more: str = "") -> str:
    ends = "" if row.low is None else _small(f"{row.low:,.0f} to {row.high:,.0f}")
    best = " best" if row.rank == 1 else ""
    return f'<td class="number{best}">{row.estimate:,.0f}{ends}{more}</td>'


def _small(text: str) -> str:
    return f'<br><span class="small">{text}</span>'


def _limit(constant: float | None, rounds: int) -> str:
    regret = "–" if constant is None else f"{constant * math.log(rounds):,.1f}"
    return f'<td class="number">{regret}</td>'


def _tied(ranks: Sequence[Standing]) -> str:
    return "; ".join(f"{policy} and {others}" for policy, others in ties(ranks).items())


def by_policy(tables: Mapping[str, Sequence[Standing]]) -> str:
    """Give each policy a row, each problem some columns: for many policies on few problems."""
    mine: dict[str, dict[str, Standing]] = {}
    for name, ranks in tables.items():
        for row in ranks:
            mine.setdefault(row.policy, {})[name] = row
    timed = any(row.nanoseconds for ranks in tables.values() for row in ranks)
    heads = ("Rank", "Regret", "× limit", "ns a round")[: 3 + timed]
    rows = [
        f'<tr><th scope="row">{escape(policy)}</th>'
        + "".join(_columns(found.get(name), len(heads)) for name in tables)
        + "</tr>"
        for policy, found in sorted(mine.items(), key=_places)
    ]
    caption = (
        "From the best ranks down. Mean regret and 95% interval; ×: times the limit c ln T. "
        "Bold: no policy was shown to be better."
    )
    whole = table(
        caption,
        ("Policy", *heads * len(tables)),
        rows,
        style="finals",
        numbers=range(1, len(heads) * len(tables) + 1),
        groups=[(name, len(heads)) for name in tables],
    )
    notes = [
        f"No difference shown on {name}, in the order of the regret: {_tied(ranks) or 'none'}."
        for name, ranks in tables.items()
    ]
    return whole + listed([*notes, TIMING_NOTE] if timed else notes)


def _places(found: tuple[str, Mapping[str, Standing]]) -> tuple[int, float]:
    """Order by the sum of ranks, then by the sum of regret."""
    rows = found[1].values()
    return sum(row.rank for row in rows), sum(row.estimate for row in rows)


def _columns(row: Standing | None, count: int) -> str:
    if row is None:
        return '<td class="number">–</td>' * count
    times = "–" if row.times_limit is None else f"{row.times_limit:,.1f}"
    cost = "–" if row.nanoseconds is None else f"{row.nanoseconds:,.0f}"
    cells = [
        f'<td class="number">{row.rank}</td>',
        _regret(row),
        *(f'<td class="number">{each}</td>' for each in (times, cost)),
    ]
    return "".join(cells[:count])


def listed(sentences: Iterable[str]) -> str:
    """Build a list."""
    return "<ul>" + "".join(f"<li>{escape(each)}</li>" for each in sentences) + "</ul>"


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[str],
    style: str = "",
    numbers: Iterable[int] = (),
    groups: Sequence[tuple[str, int]] = (),
) -> str:
    """Build a table that scrolls inside its own box where the window is narrow.

    `groups` have a name and a number of columns each, from the second column on.
    """
    right = set(numbers)
    above = "".join(
        f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups
    )
    over = f"<tr><td></td>{above}</tr>" if groups else ""
    head = "".join(
        f'<th scope="col"{" class=number" if place in right else ""}>{escape(name)}</th>'
        for place, name in enumerate(heads)
    )
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">'
        f'<table class="{style}"><caption>{escape(caption)}</caption>'
        f"<thead>{over}<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )
