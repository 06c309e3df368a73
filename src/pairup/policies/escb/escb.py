"""ESCB: efficient sampling for combinatorial bandits."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pairup.compiled.state_fields import new_state
from pairup.compiled.state_layout import ROUND
from pairup.policies.contract import StartContext
from pairup.policies.couple_policies import CouplePolicy
from pairup.policies.escb import approximation, steps
from pairup.policies.escb.approximation import CERTIFICATES, CERTIFIED, WORST
from pairup.policies.escb.enumeration import MAX_PLAYERS
from pairup.policies.registry import register
from pairup.saved_arrays import Arrays, numbers, require

_MAX_ROUNDS = 2**53  # the clock is a float
_MAX_DUAL = 1e6  # more than any weight
_CERTIFICATES = [CERTIFIED, WORST, CERTIFICATES]
_MATCHINGS = ("fewer", "more", "mates")  # as saved


@register
@dataclass(frozen=True)
class ESCB(CouplePolicy):
    """Play the matching with the best joint upper confidence bound (Combes et al., 2015).

    In round t the index of a matching is the sum of its couples' means plus one bonus for all of
    them, ``sqrt(f(t) / 2 * sum(1 / tries))``, which is less than the sum of their own bonuses.
    Couples never seen come first, as many as a turn of a round robin brings together.

    Parameters
    ----------
    search : {"exact", "approximate"}
        "approximate" takes the best of the matchings that are best for some weighting of the two
        sums, found exactly, and certifies how near that is to the best index. "exact" looks at
        every matching of at most 8 players; where there are more, or not all couples may meet, it
        is the approximate search too.
    confidence : {"log", "ols"}
        "log": f(t) = log(t), as usual in practice. "ols": the larger f(t) with which OLS-UCB has
        its bound for independent outcomes (Degenne and Perchet, 2016), very cautious.

    Notes
    -----
    A player who waits because the number of players is odd adds nothing to the index. Couples with
    equal means are told apart by a random billionth, drawn once per run.

    Examples
    --------
    >>> from pairup import ESCB, Problem, simulate
    >>> run = simulate(Problem.around(0.5, 4, 0.1), ESCB(), rounds=2_000, replications=4)
    >>> run.regret.shape == (4, len(run.rounds))
    True
    """

    search: Literal["exact", "approximate"] = "exact"
    confidence: Literal["log", "ols"] = "log"

    name: ClassVar[str] = "escb"
    plays_on_graphs: ClassVar[bool] = True
    nominal_ns: ClassVar[int] = 200

    def start(self, context: StartContext) -> Any:
        sizes, by_least_squares = self.sizes(context), int(self.confidence == "ols")
        enumerated = MAX_PLAYERS if self.search == "exact" else 0
        search = approximation.new_approximate_search(sizes, enumerated, by_least_squares)
        return new_state(steps.ESCBState, sizes, search=search, keys=context.keys(2))

    def forget(self, state: Any, slot: int, rate: float | None = None) -> None:
        super().forget(state, slot, rate)
        slots = len(state.stats.tries)
        for table in state.terms:
            square = table.reshape(slots, slots)
            square[slot, :] = square[:, slot] = 0
        approximation.forget_matchings(state.search)
        state.search.reals[_CERTIFICATES] = 0.0, 1.0, 0.0

    def saved(self, state: Any) -> dict[str, NDArray[Any]]:
        return super().saved(state) | _saved_search(state.search)

    def load(self, state: Any, arrays: Arrays) -> Any:
        super().load(state, arrays)
        require(state.counters[ROUND] < _MAX_ROUNDS, "it has more rounds than anyone could play")
        _load_search(state.search, arrays)
        return state

    def load_evidence(self, state: Any, arrays: Arrays) -> Any:
        super().load_evidence(state, arrays)
        slots = len(state.stats.tries)
        for i, j in np.argwhere(state.stats.tries):
            value = state.stats.mean[i, j] + steps.luck(state.keys[1], i, j)
            for couple in (i * slots + j, j * slots + i):
                state.terms.value[couple] = value
                state.terms.inverse[couple] = 1.0 / state.stats.tries[i, j]
        return state

    def certified(self, state: Any) -> tuple[float, float]:
        """Return the mean and the least ratio of the index played to the best, as certified.

        Over the rounds since a player last left; rounds that cover unseen couples do not count.

        Examples
        --------
        >>> import numpy as np
        >>> policy = ESCB()
        >>> policy.certified(policy.start(StartContext(4, np.uint64(0))))
        (1.0, 1.0)
        """
        total, least, rounds = state.search.reals[_CERTIFICATES].tolist()
        return (total / rounds if rounds else 1.0), least


def _saved_search(search: approximation.ApproximateSearch) -> dict[str, NDArray[Any]]:
    """Pick the guesses for the next round; the phantom, whose slot may move, is slot -2."""
    mates = np.vstack([search.mates[: len(_MATCHINGS) - 1], search.exact.kept_mate])
    mates[mates == len(search.exact.kept_mate) - 1] = -2
    duals = {"duals": search.exact.kept_dual, "certified": search.reals[_CERTIFICATES]}
    return dict(zip(_MATCHINGS, mates, strict=True)) | duals


def _load_search(search: approximation.ApproximateSearch, arrays: Arrays) -> None:
    """Fill in what `_saved_search` picked; with other slots the guesses are void."""
    certified, duals = arrays["certified"], arrays["duals"]
    require(certified.shape == (3,) and np.all(certified >= 0), "its certificates are not ratios")
    search.reals[_CERTIFICATES] = certified
    slots = len(search.exact.kept_mate)
    if len(duals) != slots:
        return
    require(duals.ndim == 1 and np.all(np.abs(duals) < _MAX_DUAL), "its duals are out of range")
    search.exact.kept_dual[:] = duals
    mates = np.array([numbers(arrays, name, minimum=-2) for name in _MATCHINGS])
    require(mates.shape == (len(_MATCHINGS), slots), "its matchings are of others")
    mates[mates == -2] = slots - 1
    known = mates[-1] != approximation.NOBODY
    for row in mates:
        require(_is_matching(row), "its matchings are not matchings")
        coupled = row != approximation.NOBODY
        require(not coupled.any() or np.all(coupled == known), "its matchings are of others")
    search.mates[: len(_MATCHINGS) - 1], search.exact.kept_mate[:] = mates[:-1], mates[-1]


def _is_matching(mates: NDArray[np.int64]) -> bool:
    """Whether each slot is the partner of its partner, and not its own."""
    slots, coupled = np.arange(len(mates)), mates >= 0
    if np.any(mates >= len(mates)) or np.any(mates == slots):
        return False
    return bool(np.all(mates[mates[coupled]] == slots[coupled]))
