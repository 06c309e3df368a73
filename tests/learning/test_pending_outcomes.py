from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pairup.learning.pending_outcomes import PendingOutcomes

PLAYERS = 7
COUPLES = [(i, j) for i in range(PLAYERS) for j in range(i + 1, PLAYERS)]


def rows(couples):
    return np.array(couples, np.int64).reshape(-1, 2)


def without_shared_players(couples):
    taken, matching = set(), []
    for couple in couples:
        if not taken & set(couple):
            matching.append(couple)
            taken |= set(couple)
    return matching


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "settle", "drop", "copy"]),
            st.lists(st.sampled_from(COUPLES), max_size=5),
        )
    )
)
def test_outcomes_are_counted_as_by_a_counter(moves):
    pending, counted = PendingOutcomes(), Counter()
    for move, couples in moves:
        if move == "add":
            matching = without_shared_players(couples)
            pending.add(rows(matching))
            counted.update(matching)
        elif move == "settle":
            listed = Counter(couples)
            missing = [each for each in listed if counted[each] < listed[each]]
            assert pending.first_missing(rows(couples)) == (missing[0] if missing else None)
            if not missing:
                pending.settle(rows(couples))
                counted -= listed
        elif move == "drop" and couples:
            player = couples[0][0]
            pending.drop(player)
            counted = Counter({each: n for each, n in counted.items() if player not in each})
        else:
            pending = PendingOutcomes(pending.copy().counts)
        counted = +counted
        assert pending.counts == counted
        assert pending.total == counted.total()
