import numpy as np
import pytest

from pairup.learning.estimates import couple_estimates
from pairup.policies.couple_counts import pick_counts

NAMES = dict(enumerate("abcdefg"))


@pytest.mark.parametrize("seed", range(20))
def test_the_couples_proposed_most_are_picked_as_if_all_were_listed(seed):
    rng = np.random.default_rng(seed)
    tries = np.triu(rng.integers(0, 4, (7, 7)), 1)  # many are tried equally often
    games = rng.binomial(tries, 0.5)
    counts = pick_counts(tries, games)
    listed = couple_estimates(counts, NAMES)
    assert len(listed) == np.count_nonzero(tries)
    assert [each.rate for each in listed] == sorted((each.rate for each in listed), reverse=True)
    order = sorted(listed, key=lambda each: (-each.proposed, -each.rate, each.couple))
    for limit in range(len(order) + 2):
        picked = couple_estimates(counts, NAMES, limit)
        assert sorted(picked) == sorted(order[:limit])
