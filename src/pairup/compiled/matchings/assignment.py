"""The assignment of greatest weight between two sides, each player of the smaller side assigned.

The Hungarian method by shortest augmenting paths (Kuhn, 1955; Jonker and Volgenant, 1987). A
*seeker* is a player of the smaller side, an *offer* one of the larger. Each of them has a price,
and the *surplus* of a seeker with an offer is the sum of their prices less the weight. When all
seekers are assigned,

- no surplus is negative,
- that of each seeker with its offer is 0, and
- the price of an offer is at least 0, and 0 if nobody has it,

so that the prices sum up to the weight of the assignment, and no other one can weigh more: the
prices are a proof. Each seeker in turn takes the offer to which a cheapest path leads, of offers
that others have and give up for their next best. That takes O(few^2 many) steps at most, and
few * many where the best offers differ.
"""

from typing import NamedTuple

import numpy as np

from pairup.compiled.kernels import kernel
from pairup.compiled.matchings.blossoms import NOBODY as NOBODY
from pairup.compiled.state_fields import Flags, Integers, Reals, new_state


class Assignment(NamedTuple):
    """The last assignment with its prices, and a workspace for the next one.

    Beyond those seekers and offers that were last assigned, entries mean nothing.
    """

    weight: np.ndarray = Reals("few, many")  # by seeker and offer
    seeker_price: np.ndarray = Reals("few")
    offer_price: np.ndarray = Reals("many")
    offer: np.ndarray = Integers("few")  # of each seeker
    seeker: np.ndarray = Integers("many")  # who has each offer, or NOBODY
    distance: np.ndarray = Reals("many")  # to each offer, along the cheapest path found
    taken_from: np.ndarray = Integers("many")  # the seeker before the offer on that path
    reached: np.ndarray = Flags("many")  # offers whose distance is final


def new_assignment(rows, columns):
    """A workspace for assignments of at most the given numbers of rows and columns."""
    return new_state(Assignment, {"few": min(rows, columns), "many": max(rows, columns)})


@kernel
def assign_seekers(work, few, many):
    """Assign an offer to each seeker, by `work.weight`, in `work.offer` and `work.seeker`.

    Seekers come one after the other, and of offers that are equally near the first is taken.
    """
    for j in range(many):
        work.offer_price[j] = 0.0
        work.seeker[j] = NOBODY
    for i in range(few):
        _assign_one(work, i, many)


@kernel
def _assign_one(work, first, many):
    """Find the cheapest path from a seeker to an offer that nobody has, and take it."""
    seeker, distance = work.seeker, work.distance
    greatest = -np.inf
    for j in range(many):
        distance[j], work.reached[j] = np.inf, False
        greatest = max(greatest, work.weight[first, j] - work.offer_price[j])
    work.seeker_price[first] = greatest
    i, so_far = first, 0.0
    while True:
        j = _nearest(work, i, so_far, many)
        work.reached[j] = True
        i, so_far = seeker[j], distance[j]
        if i == NOBODY:
            break
    _raise_prices(work, first, so_far, many)
    while i != first:
        i = work.taken_from[j]
        seeker[j], work.offer[i], j = i, j, work.offer[i]


@kernel
def _nearest(work, i, so_far, many):
    """Look at the offers that are not reached from seeker i on; returns the nearest."""
    weight, distance, price, nearest = work.weight[i], work.distance, work.seeker_price[i], NOBODY
    for j in range(many):
        if work.reached[j]:
            continue
        through = so_far + (price + work.offer_price[j] - weight[j])
        if through < distance[j]:
            distance[j], work.taken_from[j] = through, i
        if nearest == NOBODY or distance[j] < distance[nearest]:
            nearest = j
    return nearest


@kernel
def _raise_prices(work, first, length, many):
    """Fit the prices to the path, so that each seeker that was reached may have its next offer."""
    work.seeker_price[first] -= length
    for j in range(many):
        if work.reached[j] and work.seeker[j] != NOBODY:
            raised = length - work.distance[j]
            work.offer_price[j] += raised
            work.seeker_price[work.seeker[j]] -= raised
