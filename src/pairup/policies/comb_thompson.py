"""Combinatorial Thompson sampling: a draw for each couple, and the exact best matching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.kernels import comb_thompson as kernel
from pairup.kernels.couple_statistics import new_book
from pairup.kernels.exact_matching.max_matching import forget, new_max_matching
from pairup.kernels.exact_matching.participants import new_seated
from pairup.policies.base import Policy, Slots, StartContext, check_choice_option, register
from pairup.states.couple_statistics import clear_book, load_book, saved_book
from pairup.states.exact_matching import leader_by_means, load_room, saved_room
from pairup.states.saved_arrays import Arrays, numbers


@register
@dataclass(frozen=True)
class CombThompson(Policy):
    """Play the best matching by one posterior draw for each couple (Wang and Chen, 2018).

    Couples are learnt one by one: that a couple's rate is a product of two players' rates is not
    used.

    Parameters
    ----------
    prior : {"beta", "gaussian"}
        Posterior of a couple that played S times of N: Beta(1 + S, 1 + N - S), or normal with mean
        S/N and variance 1/(4N), where couples not seen yet come first.

    Examples
    --------
    >>> from pairup import CombThompson, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), CombThompson(), rounds=500, replications=2)
    >>> run.regret.shape == (2, len(run.rounds))
    True
    """

    prior: Literal["beta", "gaussian"] = "beta"

    name: ClassVar[str] = "comb_thompson"

    def __post_init__(self) -> None:
        check_choice_option(self, "prior", ("beta", "gaussian"))

    def start(self, context: StartContext) -> kernel.CombThompsonState:
        """See `Policy.start`."""
        shape, couples = (context.slots, context.slots), context.slots * (context.slots - 1) // 2
        now = np.zeros(kernel.NUMBERS, np.int64)
        now[kernel.GAUSSIAN] = self.prior == "gaussian"
        first, second = self._unseen
        return kernel.CombThompsonState(
            book=new_book(context.slots),
            room=new_max_matching(context.slots),
            seated=new_seated(context.slots),
            now=now,
            key=np.array([context.key]),
            first=np.full(shape, first),
            second=np.full(shape, second),
            posteriors=np.zeros((2, couples)),
            draws=np.zeros(couples),
        )

    @property
    def _unseen(self) -> tuple[float, float]:
        """The posterior of a couple of which nothing is known."""
        return (1.0, 1.0) if self.prior == "beta" else (np.inf, 0.0)

    def set_present(self, state: Any, present: Slots) -> None:
        """See `Policy.set_present`."""

    def forget(self, state: Any, slot: int) -> None:
        """See `Policy.forget`."""
        clear_book(state.book, slot)
        for table, unseen in zip((state.first, state.second), self._unseen, strict=True):
            table[slot, :] = table[:, slot] = unseen
        forget(state.room)

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        """See `Policy.saved`."""
        kept = saved_book(state.book) | saved_room(state.room)
        return kept | {"round": state.now[[kernel.ROUND]]}

    def load(self, state: Any, arrays: Arrays) -> kernel.CombThompsonState:
        """See `Policy.load`."""
        load_book(state.book, arrays)
        load_room(state.room, arrays)
        (state.now[kernel.ROUND],) = numbers(arrays, "round")
        seen = arrays["low"], arrays["high"]
        tries, games = arrays["tries"], arrays["games"]
        if self.prior == "beta":
            state.first[seen], state.second[seen] = 1.0 + games, 1.0 + (tries - games)
        else:
            state.first[seen], state.second[seen] = games / tries, 0.5 / np.sqrt(tries)
        return state

    def leader(self, state: Any) -> NDArray[np.int64]:
        """See `Policy.leader`."""
        return leader_by_means(state.book, state.seated)

    def statistics(self, state: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """See `Policy.statistics`."""
        return state.book.tries, state.book.games
