"""Whether a proposed game explores is judged by what the rules of the proposal allow."""

import itertools

from pairup.service.domain.events import Joined, Recorded, Released
from pairup.service.domain.pool import Pool


def test_a_couple_that_the_rules_force_does_not_explore():
    pool, numbers = Pool("chess"), itertools.count()

    def new_ids(count):
        return [str(next(numbers)) for _ in range(count)]

    for player in "abcd":
        pool.apply(Recorded(pool.seq + 1, 1, Joined(player, "waiting")))
    for _ in range(12):
        apart = [["a", "b"], ["a", "d"]]  # leaves a with c, and b with d
        proposed = pool.propose(1, 2, None, apart, new_ids).event
        couples = {tuple(sorted(game["players"])) for game in proposed.games}
        assert couples == {("a", "c"), ("b", "d")}
        assert not any(game["explores"] for game in proposed.games)
        pool.apply(Recorded(pool.seq + 1, 1, Released(list(pool.games), "released")))
