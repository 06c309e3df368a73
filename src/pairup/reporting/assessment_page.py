"""The page of an assessment: one self-contained HTML file to hand on."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import jinja2

from pairup.assessment.assessment import Assessment
from pairup.assessment.sentences import (
    describe_history,
    describe_learning,
    describe_population,
    describe_skipped,
    describe_tenths,
    describe_unchecked,
    describe_verdict,
    percent,
    points,
)
from pairup.experiments.result_files import write_atomically


def write_assessment(path: str | Path, found: Assessment) -> Path:
    """Write an assessment as a page, and return its path."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pairup.reporting"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"percent": percent, "points": points}
    page = environment.get_template("assessment.html").render(
        found=found,
        lead=describe_verdict(found),
        history=describe_history(found),
        learning=describe_learning(found),
        population=describe_population(found),
        unchecked=describe_unchecked(found),
        skipped=describe_skipped(found),
        tenths=describe_tenths(found),
        picture=_picture(found),
        rules=json.dumps(found.rules, indent=1),
    )
    target = Path(path)
    write_atomically(target, page.encode())
    return target


def _picture(found: Assessment) -> str:
    buffer = io.BytesIO()
    found.plot().savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode()
