"""Sparklines: curves of regret as lines of text, for a terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from pairup.analysis.means import mean_intervals

_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 16  # of a curve in a terminal


def draw_sparklines(frame: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Draw regret over time as a line of text, by problem and policy.

    Both in log scale, on the same scale for all policies on a problem.
    """
    drawn = {}
    for (problem,), curves in mean_intervals(frame).group_by("problem", maintain_order=True):
        highest = curves["estimate"].max()
        for (policy,), curve in curves.group_by("policy", maintain_order=True):
            drawn[str(problem), str(policy)] = _sparkline(
                curve["round"].to_numpy(), curve["estimate"].to_numpy(), highest
            )
    return drawn


def _sparkline(rounds: np.ndarray, regret: np.ndarray, highest: Any) -> str:
    times = np.geomspace(1, rounds[-1], _POINTS)
    heights = np.log1p(np.interp(times, rounds, regret)) / np.log1p(max(float(highest), 1e-9))
    steps = np.clip((heights * len(_BARS)).astype(int), 0, len(_BARS) - 1)
    return "".join(_BARS[step] for step in steps)
