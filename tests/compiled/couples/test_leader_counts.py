from collections import Counter
from itertools import combinations, permutations
from random import Random

import numpy as np
import pytest

from pairup.compiled.couples.leader_counts import (
    clear,
    find,
    fingerprint,
    grown,
    new_counts,
    remove,
    seek,
)


def matchings(players):
    """Every perfect matching, couples ascending."""
    if not players:
        yield ()
        return
    first = players[0]
    for partner in players[1:]:
        rest = [i for i in players[1:] if i != partner]
        for others in matchings(rest):
            yield ((first, partner), *others)


def ordered_matchings(n):
    return [order for matching in matchings(range(n)) for order in permutations(matching)]


def key_of(leader):
    return np.uint64(fingerprint(np.array(leader, np.int64).ravel(), len(leader)))


def count(table, leader):
    """Add one to the count of `leader`; returns the table, which may have grown."""
    while (cell := find(table, key_of(leader))) < 0:
        table = grown(table)
    table.counts[cell] += 1
    return table


def test_every_ordered_matching_has_its_own_fingerprint():
    leaders = [leader for n in (2, 4, 6, 8) for leader in ordered_matchings(n)]
    assert len(leaders) == 1 + 6 + 90 + 2520
    assert len({int(key_of(leader)) for leader in leaders}) == len(leaders)


def test_players_behind_the_leader_do_not_change_its_fingerprint():
    order = np.array([0, 3, 1, 2, 9, 9], np.int64)
    assert fingerprint(order, 2) == key_of([(0, 3), (1, 2)])


def test_counts_equal_a_dictionary_through_every_growth():
    random, leaders = Random(0), ordered_matchings(6)
    table, expected = new_counts(), Counter()
    for _ in range(2000):
        leader = random.choice(leaders)
        table = count(table, leader)
        expected[leader] += 1
        seen = random.choice(leaders)
        if seen in expected:
            assert table.counts[find(table, key_of(seen))] == expected[seen]
    assert len(table.keys) == 256  # the smallest that 90 leaders fill to less than a half
    assert table.used[0] == len(expected) == 90
    assert sorted(table.counts[table.counts > 0]) == sorted(expected.values())


def test_growth_keeps_counts_and_leaves_the_old_table():
    table = new_counts(8)
    for leader in ordered_matchings(4)[:4]:
        for _ in range(leader[0][1] + 1):
            table = count(table, leader)
    bigger = grown(table)
    assert len(bigger.keys) == 16
    assert bigger.used[0] == table.used[0] == 4
    for key in table.keys[table.keys != 0]:
        assert bigger.counts[find(bigger, key)] == table.counts[find(table, key)] > 0


@pytest.mark.parametrize("capacity", [2, 8, 64])
def test_a_half_full_table_knows_its_own_and_refuses_others(capacity):
    table = new_counts(capacity)
    keys = [np.uint64(2 * x + 1) for x in range(capacity // 2)]
    cells = [find(table, key) for key in keys]
    assert len(set(cells)) == len(keys)
    before = table.keys.copy()
    assert find(table, np.uint64(2**40 + 1)) == -1
    assert [find(table, key) for key in keys] == cells
    assert (table.keys == before).all()
    assert table.used[0] == len(keys)


def test_keys_that_want_the_same_cell_get_cells_of_their_own():
    table = new_counts(16)
    keys = [np.uint64(x << 32 | 31) for x in range(8)]  # the last cell, so that they wrap around
    cells = [find(table, key) for key in keys]
    assert len(set(cells)) == len(keys)
    assert [find(table, key) for key in keys] == cells


def test_a_cleared_table_is_empty():
    table = new_counts(16)
    for leader in combinations([(0, 1), (2, 3), (4, 5)], 2):
        table = count(table, leader)
    clear(table)
    assert table.used[0] == 0
    assert not table.keys.any()
    assert not table.counts.any()


def test_removal_leaves_a_dictionary_of_the_others():
    random, table, expected = Random(1), new_counts(64), {}
    # Keys with few homes, some at the end of the table, so that cells crowd and wrap around.
    keys = [
        np.uint64((home << 1 | 1) + (lap << 20)) for home in (0, 5, 61, 62, 63) for lap in range(9)
    ]
    for step in range(5000):
        key = random.choice(keys)
        if key in expected:
            remove(table, key)
            del expected[key]
        elif len(expected) < 32:
            table.counts[find(table, key)] = expected[key] = step
        assert table.used[0] == len(expected) == np.count_nonzero(table.keys)
        for each in keys:
            cell = seek(table, each)
            assert (table.keys[cell] == each) == (each in expected)
            assert table.counts[cell] == expected.get(each, 0)
