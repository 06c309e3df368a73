"""Saving and loading where exact matchings start from, and the matching that looks best now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.couple_statistics import CoupleStatistics
from pairup.kernels.exact_matching.max_matching import (
    MatchingWorkspace,
    new_matching_workspace,
    solve,
)
from pairup.kernels.exact_matching.participants import Participants
from pairup.states.saved_arrays import Arrays, numbers, require


def saved_warm_start(workspace: MatchingWorkspace) -> dict[str, NDArray[Any]]:
    """Pick what the next matching starts from: it decides between equals."""
    return {"duals": workspace.kept_dual, "mates": workspace.kept_mate}


def load_warm_start(workspace: MatchingWorkspace, arrays: Arrays) -> None:
    """Fill a workspace in place; it may have more slots than the one saved."""
    duals, mates = arrays["duals"], numbers(arrays, "mates", minimum=-1)
    slots, phantom = len(mates), len(workspace.kept_mate) - 1
    require(duals.dtype == np.float64 and duals.shape == mates.shape, "its duals are incomplete")
    require(np.all(np.isfinite(duals)), "some of its duals are not finite")
    require(1 <= slots <= phantom + 1 and np.all(mates < slots), "it has mates out of range")
    require(np.all(mates != np.arange(slots)), "a player is its own mate")
    mates = np.where(mates == slots - 1, phantom, mates)
    workspace.kept_mate[: slots - 1], workspace.kept_mate[phantom] = mates[:-1], mates[-1]
    workspace.kept_dual[: slots - 1], workspace.kept_dual[phantom] = duals[:-1], duals[-1]


def leader_by_means(stats: CoupleStatistics, participants: Participants) -> NDArray[np.int64]:
    """Return the best matching of the participants by the means of couples, best couple first.

    It is found from the statistics alone, so that a look at it changes nothing.
    """
    players = participants.players[: participants.size[0]]
    workspace = new_matching_workspace(len(stats.mean))
    solve(workspace, stats.mean, players)
    mate = workspace.kept_mate
    couples = np.array([(i, mate[i]) for i in players if i < mate[i]], np.int64).reshape(-1, 2)
    return couples[np.argsort(-stats.mean[couples[:, 0], couples[:, 1]], kind="stable")]
