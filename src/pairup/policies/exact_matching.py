"""Policies that propose the exact matching of greatest weight."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.kernels.exact_matching.max_matching import new_matching_workspace, reset, solve
from pairup.kernels.state_layout import MEMBERS
from pairup.policies.couples import CouplePolicy
from pairup.saved_arrays import Arrays, numbers, require


class ExactMatchingPolicy(CouplePolicy):
    """A policy whose state also has `players`, those available, and the `workspace` of a matching.

    The next matching starts from the last, which decides between equals, so that it is saved too.
    """

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        reset(state.workspace)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        kept = {"duals": state.workspace.kept_dual, "mates": state.workspace.kept_mate}
        return super().saved(state) | kept

    def load(self, state: Any, arrays: Arrays) -> Any:
        duals = arrays["duals"]
        mates = numbers(arrays, "mates", minimum=-1)
        slots = len(mates)
        workspace = state.workspace
        phantom = len(workspace.kept_mate) - 1
        complete = duals.dtype == np.float64 and duals.shape == mates.shape
        require(complete, "its duals are incomplete")
        require(np.all(np.isfinite(duals)), "some of its duals are not finite")
        require(1 <= slots <= phantom + 1 and np.all(mates < slots), "it has mates out of range")
        require(np.all(mates != np.arange(slots)), "a player is its own mate")
        mates = np.where(mates == slots - 1, phantom, mates)
        workspace.kept_mate[: slots - 1] = mates[:-1]
        workspace.kept_mate[phantom] = mates[-1]
        workspace.kept_dual[: slots - 1] = duals[:-1]
        workspace.kept_dual[phantom] = duals[-1]
        return super().load(state, arrays)

    def leader(self, state: Any) -> NDArray[np.int64]:
        # Found from the statistics alone, so that a look at it changes nothing.
        mean = state.stats.mean
        players = state.players[: state.now[MEMBERS]]
        workspace = new_matching_workspace(len(mean))
        solve(workspace, mean, players)
        mate = workspace.kept_mate
        couples = np.array([(i, mate[i]) for i in players if i < mate[i]], np.int64).reshape(-1, 2)
        return couples[np.argsort(-mean[couples[:, 0], couples[:, 1]], kind="stable")]
