"""Report: one self-contained HTML page of what was run, what came out, and how to run it again."""

from __future__ import annotations

import base64
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import metadata, resources
from pathlib import Path
from string import Template

import polars as pl

from pairup.analysis.claims import Verdict, check
from pairup.analysis.standings import standings
from pairup.errors import ResultsError
from pairup.experiments.spec import Experiment
from pairup.experiments.storage import write_whole
from pairup.experiments.timing import Timings
from pairup.reporting.figures import Picture, draw
from pairup.reporting.tables import by_policy, by_problem, listed, table

_TITLE = "The paper's experiments, measured again"
_MOST_COLUMNS = 8  # policies; more have a row each
_MARKS = {
    "holds": ("holds", "✓"),
    "holds in part": ("part", "◐"),
    "does not hold": ("not", "✗"),
    "not measured": ("unknown", "–"),
}
_READING = (
    "Regret counts the games lost, in expectation, against the best matching.",
    "In each replication all policies meet the same players, who accept or decline the same games "
    "on the same days. Differences between policies are therefore paired by replication.",
    "Intervals cover the true mean in 95 of 100 cases: Student's for means and differences, "
    "Fieller's for ratios.",
    "Two policies are ranked apart when a paired t-test shows a difference, corrected by Holm's "
    "method for all pairs on the same problem. Otherwise the table says that no difference is "
    "shown.",
    "The bounds of the theorems are asymptotic: only the part that grows with ln(t) is drawn, and "
    "it is proved for the KL index. A bound far above all curves is left out, and the figure says "
    "so.",
    "The limit c ln T is the least regret, asymptotically, of any policy whose regret grows slower "
    "than every power of T on every problem (Graves and Lai). At a given T a policy can be below "
    "it.",
)


def versions() -> dict[str, str]:
    """Return the versions of what computed: Python and the packages that matter."""
    names = ("pairup", "numpy", "numba", "polars", "scipy", "matplotlib")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


@dataclass(frozen=True)
class Making:
    """How the results were made.

    Attributes
    ----------
    command
        What makes the report again, as typed.
    seconds
        Time that it took, if known.
    engine
        Where it ran, "2 threads" say.
    started
        When, if known.
    versions
        By name.
    """

    command: str
    seconds: float | None = None
    engine: str = ""
    started: str = ""
    versions: dict[str, str] = field(default_factory=versions)


def write_report(
    folder: str | Path,
    results: Sequence[tuple[Experiment, pl.DataFrame]],
    making: Making,
    title: str = "",
    costs: Mapping[str, Timings] | None = None,
) -> Path:
    """Write ``report.html``, and the figures as files beside it.

    Parameters
    ----------
    folder
        Where the report goes; made where it is missing. The pictures of its ``figures`` folder
        are for papers and slides: the page itself holds its own copies and needs no other file.
    results
        Experiments with their frames, as `pairup.load_results` gives them.
    making
        How the results were made.
    title
        Of the page; by default one that fits.
    costs
        What a round takes, as `pairup.experiments.timing.read_timings` gives it, by the name of the
        experiment.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> from pairup import load_experiment, load_results
    >>> from pairup.reporting.page import Making, write_report
    >>> results = [(load_experiment("experiment-2"), load_results("out"))]  # doctest: +SKIP
    >>> write_report("out", results, Making("pairup reproduce"))  # doctest: +SKIP
    """
    if not results:
        raise ResultsError("a report needs the results of at least one experiment, got none")
    folder = Path(folder)
    verdicts = _verdicts(results)
    parts = [("claims", "Claims of the paper", _claims(verdicts))] if verdicts else []
    for experiment, frame in results:
        pictures = draw(experiment, frame, folder / "figures")
        known = (costs or {}).get(experiment.name, {})
        content = _experiment(experiment, frame, pictures, known)
        parts.append((experiment.name, experiment.title, content))
    parts += [
        ("run", "What was run", _run([experiment for experiment, _ in results])),
        ("again", "Make it again", _again(making, results)),
        ("reading", "How to read this", listed(_READING)),
    ]
    title = title or (_TITLE if verdicts else ", ".join(each.title for each, _ in results))
    page = _page(title, _lead(verdicts, results, making), parts, making)
    path = folder / "report.html"
    write_whole(path, page.encode("utf-8"))
    return path


def _verdicts(results: Sequence[tuple[Experiment, pl.DataFrame]]) -> list[Verdict]:
    """Check the claims, which are about sweeps: one problem of a family says nothing of them."""
    swept = [
        frame
        for experiment, frame in results
        if len(experiment.problems) > len({posed.family for posed in experiment.problems})
    ]
    return check(pl.concat(swept)) if swept else []


def _page(title: str, lead: str, parts: Sequence[tuple[str, str, str]], making: Making) -> str:
    template = Template(
        resources.files("pairup.reporting").joinpath("page.html").read_text("utf-8")
    )
    return template.substitute(
        title=escape(title),
        version=escape(making.versions.get("pairup", "")),
        lead=escape(lead),
        contents="".join(
            f'<li><a href="#{escape(anchor)}">{escape(name)}</a></li>' for anchor, name, _ in parts
        ),
        body="\n".join(
            f'<section aria-labelledby="{escape(anchor)}"><h2 id="{escape(anchor)}">{escape(name)}'
            f"</h2>\n{content}</section>"
            for anchor, name, content in parts
        ),
    )


def _lead(
    verdicts: Sequence[Verdict],
    results: Sequence[tuple[Experiment, pl.DataFrame]],
    making: Making,
) -> str:
    counts: Counter[str] = Counter(verdict.holds for verdict in verdicts)
    said = ", ".join(
        f"{counts[each]} {_plural(each, counts[each])}" for each in _MARKS if counts[each]
    )
    rounds = sum(
        len(experiment.problems)
        * len(experiment.entries)
        * experiment.replications
        * experiment.rounds
        for experiment, _ in results
    )
    took = f" in {_duration(making.seconds)}" if making.seconds is not None else ""
    judged = f"Of {len(verdicts)} claims of the paper, {said}. " if verdicts else ""
    return f"{judged}{rounds:,} rounds were played{took}."


def _plural(holds: str, count: int) -> str:
    if count == 1:
        return f"was {holds}" if holds == "not measured" else holds
    more = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}
    return more.get(holds, "were not measured")


def _claims(verdicts: Iterable[Verdict]) -> str:
    rows = []
    for verdict in verdicts:
        style, mark = _MARKS[verdict.holds]
        comment = f'<br><span class="small">{escape(verdict.comment)}</span>'
        rows.append(
            f'<tr><th scope="row">{escape(verdict.claim.text)}<br>'
            f'<span class="small">{escape(verdict.claim.where)}</span></th>'
            f'<td><span class="verdict {style}"><span aria-hidden="true">{mark}</span> '
            f"{escape(verdict.holds)}</span></td>"
            f'<td class="long">{escape(verdict.measured)}{comment if verdict.comment else ""}</td>'
            f'<td class="number">{_ends(verdict.low, verdict.high)}</td></tr>'
        )
    return table(
        "Each verdict follows a fixed rule on the interval.",
        ("Claim", "Verdict", "Measured", "95% interval"),
        rows,
        style="claims",
    )


def _ends(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "–"
    digits = 2 if abs(high) >= 0.1 else 6
    return f"{low:,.{digits}f} to {high:,.{digits}f}"


def _experiment(
    experiment: Experiment, frame: pl.DataFrame, pictures: Sequence[Picture], costs: Timings
) -> str:
    figures = "\n".join(map(_figure, pictures))
    tables = standings(experiment, frame, costs)
    many = costs or len(experiment.entries) > _MOST_COLUMNS
    return (
        f"<p>{escape(experiment.about)}</p>\n"
        f'<div class="figures">{figures}</div>\n'
        f"<h3>Regret after {experiment.rounds:,} rounds</h3>\n"
        f"{by_policy(tables) if many else by_problem(experiment, tables)}"
    )


def _figure(picture: Picture) -> str:
    svg = picture.stem.with_name(f"{picture.stem.name}.svg").read_bytes()
    source = f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"
    return (
        f'<figure><img src="{source}" alt="{escape(picture.alt)}">'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _run(experiments: Iterable[Experiment]) -> str:
    rows = []
    for experiment in experiments:
        policies = ", ".join(f"{entry.label} = {entry.policy}" for entry in experiment.entries)
        problems = ", ".join(posed.problem.name for posed in experiment.problems)
        numbers = (experiment.rounds, experiment.replications, experiment.seed)
        cells = "".join(f'<td class="number">{number:,}</td>' for number in numbers)
        rows.append(
            f'<tr><th scope="row">{escape(experiment.title)}</th>{cells}'
            f'<td class="long">{escape(problems)}</td><td class="long">{escape(policies)}</td></tr>'
        )
    heads = ("Experiment", "Rounds", "Replications", "Seed", "Problems", "Policies")
    return table("Experiments", heads, rows, style="claims", numbers=range(1, 4))


def _again(making: Making, results: Sequence[tuple[Experiment, pl.DataFrame]]) -> str:
    seeds = ", ".join(dict.fromkeys(str(experiment.seed) for experiment, _ in results))
    facts = {"Seed": seeds}
    if making.seconds is not None:
        facts["Time"] = _duration(making.seconds)
    if making.engine:
        facts["Engine"] = making.engine
    if making.started:
        facts["Started"] = making.started
    facts["Versions"] = ", ".join(f"{name} {version}" for name, version in making.versions.items())
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    return (
        f"<pre><code>{escape(making.command)}</code></pre>\n<dl>{listed}</dl>\n"
        "<p>The same versions and seed give the same numbers, on any number of threads and on any "
        "machine.</p>"
    )


def _duration(seconds: float) -> str:
    """Write a time in words.

    Examples
    --------
    >>> _duration(7.31), _duration(312), _duration(60)
    ('7.3 seconds', '5 minutes 12 seconds', '1 minute')
    """
    if seconds < 60:
        return f"{seconds:.1f} seconds"
    minutes, rest = divmod(round(seconds), 60)
    words = f"{minutes} minute{'s' * (minutes > 1)}"
    return f"{words} {rest} second{'s' * (rest > 1)}" if rest else words
