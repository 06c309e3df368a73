"""Worth of a game by the rules of a pool: a product, by which its chance is multiplied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pairup.service.domain.matchmaking.constraints import Need
from pairup.service.domain.matchmaking.filters import Floats, Places, Waiting


def worth_need(given: Mapping[str, Any]) -> Need | None:
    """Return the attribute that players need for a factor of the worth, if it needs one."""
    if given["kind"] != "distance":
        return None
    attribute = given["attribute"]
    return Need(attribute, ("number",), f"the worth distance:{attribute}")


def worth_of(
    factors: Sequence[Mapping[str, Any]], waiting: Waiting, one: Places, other: Places
) -> Floats:
    """Return what a game of each couple is worth.

    Examples
    --------
    >>> from pairup.service.domain.matchmaking.attributes import Attributes
    >>> from pairup.service.domain.matchmaking.recent_games import RecentGames
    >>> attributes = Attributes()
    >>> attributes.change(1, {"rating": 1500.0})
    >>> attributes.change(2, {"rating": 1700.0})
    >>> waiting = Waiting([1, 2], np.array([0.0, 30.0]), attributes, RecentGames(), 0)
    >>> factors = [
    ...     {"kind": "distance", "attribute": "rating", "half_at": 100},
    ...     {"kind": "waiting", "double_after_s": 60},
    ... ]
    >>> worth_of(factors, waiting, np.array([0]), np.array([1]))
    array([0.375])
    """
    worth = np.ones(len(one))
    for each in factors:
        if each["kind"] == "waiting":
            waited = np.maximum(waiting.waited_s[one], waiting.waited_s[other])
            worth *= 1.0 + waited / each["double_after_s"]
        else:
            known, attribute = waiting.attributes.values, each["attribute"]
            values = np.array([known[player][attribute] for player in waiting.players], float)
            worth *= 0.5 ** (np.abs(values[one] - values[other]) / each["half_at"])
    return worth
