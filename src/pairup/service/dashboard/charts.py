"""Charts of a pool: the numbers that the script draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pairup.service.api.schemas.insight import EstimatesView, StatsView
from pairup.service.dashboard.course import CoursePoint

MAX_RATES = 1_000  # players whose rates the page shows
_MAX_MAPPED = 200  # players of the heat map


def chart_data(
    stats: StatsView, estimates: EstimatesView, points: Sequence[CoursePoint]
) -> dict[str, Any]:
    """Return the numbers that the script draws."""
    rates = estimates.players[:MAX_RATES]
    mapped = [each.player for each in rates[:_MAX_MAPPED]]
    return {
        "course": {
            "games": [each.middle for each in points],
            **_columns(points, ("low", "share", "high", "random", "best")),
        },
        "random": stats.random_share and _rounded(stats.random_share.estimate),
        "rates": {
            "players": [each.player for each in rates],
            **_columns(rates, ("rate", "low", "high")),
        },
        "couples": {"players": mapped, "cells": _cells(estimates, mapped)},
    }


def _cells(estimates: EstimatesView, mapped: Sequence[str]) -> list[list[int]]:
    """List the couples of the heat map: the places of both, times proposed, times played."""
    place = {player: number for number, player in enumerate(mapped)}
    return [
        [place[one], place[other], each.proposed, each.played]
        for each in estimates.couples
        for one, other in [each.players]
        if one in place and other in place
    ]


def _columns(rows: Sequence[object], names: Sequence[str]) -> dict[str, list[float | None]]:
    return {name: [_rounded(getattr(row, name)) for row in rows] for name in names}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
