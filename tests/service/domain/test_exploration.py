"""Whether a proposed game explores is judged by what the rules of the proposal allow."""

from pairup.service.domain.events import Joined, Recorded, Released
from pairup.service.domain.pool import Pool


def test_a_couple_that_the_rules_force_does_not_explore():
    pool = Pool(1)
    pool.apply(Recorded.of(pool.seq + 1, 1, Joined([1, 2, 3, 4], "waiting")))
    for _ in range(12):
        apart = [[1, 2], [1, 4]]  # leaves 1 with 3, and 2 with 4
        proposed = pool.propose(1, 2, None, apart)
        couples = {tuple(sorted(game["players"])) for game in proposed.games}
        assert couples == {(1, 3), (2, 4)}
        assert not any(game["explores"] for game in proposed.games)
        pool.apply(Recorded.of(pool.seq + 1, 1, proposed))
        assert len(pool.games) == 2
        released = Released([list(game) for game in pool.games], "released")
        pool.apply(Recorded.of(pool.seq + 1, 1, released))
