"""Combinatorial UCB: optimism for each couple, and the exact best matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import comb_ucb as kernel
from pairup.kernels.couple_statistics import PHANTOM_MEAN, new_book
from pairup.kernels.exact_matching.max_matching import forget, new_max_matching
from pairup.kernels.exact_matching.participants import new_seated
from pairup.policies.base import Policy, Slots, StartContext, check_choice_option, register
from pairup.states.couple_statistics import clear_book, load_book, saved_book
from pairup.states.exact_matching import leader_by_means, load_room, saved_room
from pairup.states.saved_arrays import Arrays, numbers, require


@register
@dataclass(frozen=True)
class CombUCB(Policy):
    """Play the matching of greatest total optimism (CombUCB1, Kveton et al., 2015).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used. Couples not seen yet come first, as many as a matching can hold.

    Parameters
    ----------
    index : {"ucb", "kl"}
        Optimistic estimate of a couple after N proposals, in round t:
        mean + sqrt(1.5 log(t - 1) / N), or the KL-UCB index at level log t + 3 log log t.

    Examples
    --------
    >>> from pairup import CombUCB, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombUCB(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    index: Literal["ucb", "kl"] = "ucb"

    name: ClassVar[str] = "comb_ucb"

    def __post_init__(self) -> None:
        check_choice_option(self, "index", ("ucb", "kl"))

    def start(self, context: StartContext) -> kernel.CombUCBState:
        """See `Policy.start`."""
        shape = (context.slots, context.slots)
        now = np.zeros(kernel.NUMBERS, np.int64)
        now[kernel.KL] = self.index == "kl"
        base = np.full(shape, np.inf)
        base[:, -1] = PHANTOM_MEAN
        return kernel.CombUCBState(
            book=new_book(context.slots),
            room=new_max_matching(context.slots),
            seated=new_seated(context.slots),
            now=now,
            base=base,
            slope=np.zeros(shape),
            solved=np.zeros(shape if self.index == "kl" else (0, 0), np.int64),
        )

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`."""

    def forget(self, state: Any, slot: int) -> None:
        """See `Policy.forget`."""
        clear_book(state.book, slot)
        state.base[slot, :-1] = state.base[:, slot] = np.inf
        state.slope[slot, :-1] = state.slope[:, slot] = 0.0
        forget(state.room)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        kept = saved_book(state.book) | saved_room(state.room)
        if self.index == "kl":
            seen = kept["low"], kept["high"]
            kept |= {"base": state.base[seen], "slope": state.slope[seen]}
        return kept | {"round": state.now[[kernel.ROUND]]}

    def load(self, state: Any, arrays: Arrays) -> kernel.CombUCBState:
        """See `Policy.load`."""
        load_book(state.book, arrays)
        load_room(state.room, arrays)
        (state.now[kernel.ROUND],) = numbers(arrays, "round")
        low, high = arrays["low"], arrays["high"]
        if self.index == "kl":
            base, slope = _checked_tangents(arrays)
        else:
            base, slope = state.book.mean[low, high], 1.0 / np.sqrt(arrays["tries"])
        state.base[low, high], state.slope[low, high] = base, slope
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        """See `Policy.leader`."""
        return leader_by_means(state.book, state.seated)

    def statistics(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `Policy.statistics`."""
        return state.book.tries, state.book.games


def _checked_tangents(arrays: Arrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the tangents of the couples seen: at level 0 above a mean, and no steeper than 1."""
    base, slope = arrays["base"], arrays["slope"]
    for each in (base, slope):
        floats = each.dtype == np.float64 and each.shape == arrays["low"].shape
        require(floats, "its tangents are incomplete")
    require(np.all((base >= -1) & ((base <= 2) | (base == np.inf))), "its tangents are no bounds")
    require(np.all((slope >= 0) & (slope <= 1)), "its tangents do not rise as they should")
    return base, slope
