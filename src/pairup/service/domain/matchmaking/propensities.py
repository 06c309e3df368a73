"""Propensities: how likely the games of a proposal were to be proposed.

Beside the matching that is proposed, a few more are drawn from the same distribution. None of them
is distinguished from the others by anything but chance: given all of them, a couple was proposed
with the share of them that have it, exactly. A couple that none of them has was not proposed with
certainty: nothing is claimed of it. So few draws already make an exact statement, and more of them
make it about more couples. Where all may meet and all matchings are as likely, no draws are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, TypeVar

from pairup.learning import Learner

Chosen = TypeVar("Chosen")
Couples = Iterable[Sequence[Any]]

MAX_REDRAWS = 7  # matchings that are drawn beside the one that is proposed
_DIGITS = 4
_MAX_PLAYERS = 2_000  # in all of them together: a proposal stays fast


def redraw(
    learner: Learner, players: int, choose: Callable[[int], Chosen], at_random: bool = False
) -> list[Chosen]:
    """Draw what else might be chosen now, where that is left to chance and takes little time.

    Parameters
    ----------
    learner
        Whose policy is asked; it stays as it is.
    players
        Number of players to choose from.
    choose
        Chooses couples, given the number of a stream of random draws.
    at_random
        Whether something else than the policy draws at random.
    """
    found = list[Chosen]()
    if learner.redraws_quickly and (at_random or learner.draws_next):
        for stream in range(1, 1 + min(MAX_REDRAWS, _MAX_PLAYERS // max(players, 1))):
            with learner.redrawing(stream):
                found.append(choose(stream))
    return found


def propensities(
    chosen: Couples, others: Sequence[Couples], known: Sequence[float | None] = ()
) -> list[float] | None:
    """Return how likely each couple was, None if each was certain.

    Parameters
    ----------
    chosen
        Couples that are proposed.
    others
        Those of other draws.
    known
        How likely the first couples are, as far as that is known without draws.

    Examples
    --------
    >>> propensities([(1, 2), (3, 4)], [[(2, 1), (3, 4)], [(1, 3), (2, 4)]])
    [0.6667, 0.6667]
    >>> propensities([(1, 2), (3, 4)], [], [0.2])
    [0.2, 1.0]
    >>> propensities([(1, 2)], [[(2, 1)]]), propensities([(1, 2)], [])
    (None, None)
    """
    keys = [tuple(sorted(couple)) for couple in chosen]
    times = Counter(chain(keys, (tuple(sorted(each)) for each in chain.from_iterable(others))))
    shares = (times[key] / (1 + len(others)) for key in keys)
    given = (share if each is None else each for share, each in zip_longest(shares, known))
    found = [float(f"{share:.{_DIGITS}g}") for share in given]
    return None if all(share == 1.0 for share in found) else found
