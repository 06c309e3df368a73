"""Missing exploration: the plays needed before the optimum of some rates can be trusted.

The limit asks how to gather information of 1 per ln T against all confusing rates, from nothing.
A policy asks the same after the plays that it has made: which information they gathered, and what
completes it for the least regret. The program is the same, with smaller needs.
"""

from __future__ import annotations

import numpy as np

from pairup.bounds.confusing_rates import ConfusingRates
from pairup.bounds.linear_program import ExplorationProgram
from pairup.bounds.places import Places
from pairup.matching import Matching
from pairup.problem.rates import Floats

_ACCURACY = 1e-2  # relative, of the information: what is then missing, the next plan completes
_MIN_GAIN = 1e-3  # relative: by how much more a matching must tell per regret to be thought of
_ROUNDS = 30
_SURELY = 1.01  # information beyond which it does not matter how much more there is


class MissingExploration:
    """The information gathered so far about a unique optimum, and what is missing.

    Parameters
    ----------
    places
        The players in the order of their rates.
    tries
        How often each couple was played, in a row and a column for each player; symmetric.
    """

    def __init__(self, places: Places, tries: Floats) -> None:
        self.confusing = ConfusingRates(places)
        padded = np.pad(tries, (0, len(places.players) - places.real))
        couples = np.stack([self.confusing.first, self.confusing.second])
        self.plays = padded[tuple(places.players[couples])]
        self.hardest = self.confusing.hardest(self.plays)

    @property
    def gathered(self) -> float:
        """Information against the confusing rates that are hardest to rule out.

        Infinite if no rates are confusing.
        """
        return float(self.hardest.information.min(initial=np.inf))

    def complete(self, needed: float) -> list[tuple[Matching, float]]:
        """List the matchings, and how often to play each, that complete the information.

        After them about `needed` is gathered, for the least regret. If rates are too close to each
        other for the program, they are the neighbours of the optimum, once each.
        """
        program, base = ExplorationProgram(self.confusing, _MIN_GAIN), self.plays / needed
        new = self.hardest.coefficients
        for _ in range(_ROUNDS):
            program.cuts = np.vstack([program.cuts, new])
            solved = program.solve(1.0 - program.cuts @ base)
            if solved is None:
                return [(matching, 1.0) for matching in program.neighbours()]
            spent, prices = solved
            program.price(prices)
            hardest = self.confusing.hardest(base + program.plays(spent), enough=_SURELY)
            new = hardest.coefficients[hardest.information < 1 - _ACCURACY]
            if not len(new) and len(spent) == len(program.matchings):
                break
        return [
            (program.matching(k), needed * spent[k] / program.regret[k])
            for k in np.flatnonzero(spent).tolist()
        ]
