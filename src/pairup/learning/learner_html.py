"""A learner as notebooks show it: the matching that looks best now, or what was observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairup.html_table import html_table
from pairup.matching import Matching

if TYPE_CHECKING:
    from pairup.learning.learner import Learner

_SHOWN = 20  # couples


def learner_html(learner: Learner, counts: str) -> str:
    """Write a learner as a table below its policy and its counts."""
    leader, caption = learner.leader, f"{learner.policy}\n{counts}"
    return _observed(learner, caption) if leader is None else _leader(learner, leader, caption)


def _leader(learner: Learner, leader: Matching, caption: str) -> str:
    shown = leader[:_SHOWN]
    likely = learner.play_probabilities(shown)
    chances = [""] * len(shown) if likely is None else [f"{chance:.1%}" for chance in likely]
    rows = [(*couple, chance) for couple, chance in zip(shown, chances, strict=True)]
    if len(leader) > _SHOWN:
        rows.append(("...", f"{len(leader) - _SHOWN} more couples", ""))
    caption += "\nThe matching that looks best now:"
    return html_table(caption, ("one", "other", "estimated to play"), rows)


def _observed(learner: Learner, caption: str) -> str:
    rows = [(*each.couple, each.proposed, each.played) for each in learner.estimates(_SHOWN)]
    caption += "\nThe couples that were proposed most often:" if rows else ""
    return html_table(caption, ("one", "other", "proposed", "played") if rows else (), rows)
