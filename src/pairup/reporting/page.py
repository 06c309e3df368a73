"""Report: one self-contained HTML page with experiments, results, and how to reproduce them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import jinja2
import polars as pl

from pairup.analysis.claims import Claim, Finding, Holds, check_claims
from pairup.analysis.instances import group_names
from pairup.analysis.standings import TIMING_NOTE, Standing, ties
from pairup.errors import ResultsError
from pairup.experiments.experiment import Experiment
from pairup.experiments.result_files import write_atomically
from pairup.experiments.results import Results
from pairup.experiments.storage import installed_versions
from pairup.reporting.figures import Picture, draw_figures, write_pictures

_TITLE = "The paper's experiments, measured again"
_MAX_COLUMNS = 8  # policies; more have a row each


class _Mark(NamedTuple):
    """How the page shows a finding, and how its lead counts one or several of them."""

    style: str
    sign: str
    one: str
    several: str


_MARKS: dict[Holds, _Mark] = {
    "holds": _Mark("holds", "✓", "holds", "hold"),
    "holds in part": _Mark("part", "◐", "holds in part", "hold in part"),
    "does not hold": _Mark("not", "✗", "does not hold", "do not hold"),
    "not measured": _Mark("unknown", "–", "was not measured", "were not measured"),
}


@dataclass(frozen=True)
class Provenance:
    """How results were made, as far as it is known.

    `command` reproduces the report, as typed; `engine` is where it ran, for example "2 threads".
    """

    command: str
    seconds: float | None = None
    engine: str = ""
    started: str = ""
    versions: Mapping[str, str] = field(default_factory=installed_versions)


@dataclass(frozen=True)
class _Chapter:
    """The part of the page about one experiment."""

    results: Results
    pictures: Sequence[Picture]

    @property
    def experiment(self) -> Experiment:
        return self.results.experiment

    @property
    def limit_regret(self) -> dict[str, float]:
        unit = math.log(self.experiment.rounds)
        return {name: constant * unit for name, constant in self.results.mean_limits.items()}

    @property
    def problems(self) -> list[str]:
        """The names of the problems; for instances the name of their group, and their number."""
        over = self.experiment.over
        counts = Counter(group_names(self.results.frame, over).values())
        return [f"{name}, {_count(n, 'instance')}" if over else name for name, n in counts.items()]

    @property
    def ties(self) -> dict[str, str]:
        return {
            problem: "; ".join(f"{policy} and {others}" for policy, others in ties(rows).items())
            for problem, rows in self.results.standings.items()
        }

    @cached_property
    def policies(self) -> list[tuple[str, dict[str, Standing]]]:
        """Standings by policy and problem, best ranks first; empty if few policies fit columns."""
        if not self.results.timings and len(self.experiment.entries) <= _MAX_COLUMNS:
            return []
        found: dict[str, dict[str, Standing]] = {}
        for problem, rows in self.results.standings.items():
            for row in rows:
                found.setdefault(row.policy, {})[problem] = row
        return sorted(found.items(), key=lambda each: _place(each[1].values()))


def _place(rows: Collection[Standing]) -> tuple[int, float]:
    """Order by the sum of ranks, then by the sum of regret."""
    return sum(row.rank for row in rows), sum(row.estimate for row in rows)


def write_report(
    folder: str | Path,
    results: Sequence[Results],
    provenance: Provenance,
    title: str = "",
) -> Path:
    """Write ``report.html``, and the figures as files beside it; returns the path of the page.

    Parameters
    ----------
    folder
        Folder of the report, created if it is missing. The pictures in its ``figures`` folder are
        for papers and slides: the page holds its own copies and needs no other file.
    results
        The experiments to report on, in their order on the page; at least one.
    provenance
        How the results were made.
    title
        Title of the page; by default it is made from the experiments.

    Examples
    --------
    >>> from pairup import load_experiment, run_experiment
    >>> results = run_experiment(load_experiment("experiment-2"))  # doctest: +SKIP
    >>> write_report("out", [results], Provenance("python mine.py"))  # doctest: +SKIP
    """
    if not results:
        raise ResultsError("a report needs the results of at least one experiment, got none")
    folder = Path(folder)
    chapters = [_Chapter(each, draw_figures(each)) for each in results]
    for chapter in chapters:
        write_pictures(chapter.pictures, folder / "figures")
    path = folder / "report.html"
    write_atomically(path, _render(chapters, provenance, title).encode())
    return path


def _render(chapters: Sequence[_Chapter], provenance: Provenance, title: str) -> str:
    experiments = [chapter.experiment for chapter in chapters]
    findings = _findings([chapter.results for chapter in chapters])
    fitting = _TITLE if findings else ", ".join(each.title for each in experiments)
    return _template().render(
        title=title or fitting,
        lead=_lead(findings, experiments, provenance),
        contents=[
            *([("claims", "Claims of the paper")] if findings else []),
            *((each.name, each.title) for each in experiments),
            ("run", "What was run"),
            ("again", "Make it again"),
            ("reading", "How to read this"),
        ],
        chapters=chapters,
        findings=findings,
        marks=_MARKS,
        provenance=provenance,
        facts=_facts(provenance, experiments),
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pairup.reporting"),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,  # a policy may lack the results on a problem
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value, digits=0: f"{value:,.{digits}f}"
    environment.globals["timing_note"] = TIMING_NOTE
    return environment.get_template("report.html")


def _findings(measured: Sequence[Results]) -> dict[Claim, Finding]:
    """Check the claims, which are about sweeps; empty if no sweep bears on any of them."""
    swept = [
        results
        for results in measured
        if len(results.experiment.problems) > len({p.family for p in results.experiment.problems})
    ]
    if not swept:
        return {}
    checks = [check for results in swept for check in results.horizon_checks]
    frames = pl.concat([results.frame for results in swept], how="diagonal")
    findings = check_claims(frames, checks)
    known = any(finding.holds != "not measured" for finding in findings.values())
    return findings if known else {}


def _lead(
    findings: Mapping[Claim, Finding], experiments: Sequence[Experiment], provenance: Provenance
) -> str:
    counts = Counter(finding.holds for finding in findings.values())
    said = ", ".join(
        f"{counts[holds]} {mark.one if counts[holds] == 1 else mark.several}"
        for holds, mark in _MARKS.items()
        if counts[holds]
    )
    rounds = sum(
        len(each.problems) * len(each.entries) * each.replications * each.rounds
        for each in experiments
    )
    took = "" if provenance.seconds is None else f" in {_duration(provenance.seconds)}"
    judged = f"Of {len(findings)} claims of the paper, {said}. " if findings else ""
    return f"{judged}{rounds:,} rounds were played{took}."


def _facts(provenance: Provenance, experiments: Sequence[Experiment]) -> dict[str, str]:
    """Return what the page says about how the results were made; empty if it is not known."""
    seconds, versions = provenance.seconds, provenance.versions
    return {
        "Seed": ", ".join(dict.fromkeys(str(each.seed) for each in experiments)),
        "Time": "" if seconds is None else _duration(seconds),
        "Engine": provenance.engine,
        "Started": provenance.started,
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
    }


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
    words = _count(minutes, "minute")
    return f"{words} {_count(rest, 'second')}" if rest else words


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
