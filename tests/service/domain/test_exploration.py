"""Whether a proposed game explores is judged by what the rules of the proposal allow."""

import itertools

from pairup.service.domain.pool import Pool


def test_a_couple_that_the_rules_force_does_not_explore():
    pool, ids = Pool("chess"), itertools.count()
    for player in "abcd":
        pool.learner.join(player)
        pool.players[player], pool.met[player] = "waiting", 0
    for _ in range(12):
        apart = [["a", "b"], ["a", "d"]]  # leaves a with c, and b with d
        proposed = pool.propose(1, 2, None, apart, lambda: str(next(ids))).event
        couples = {tuple(sorted(game["players"])) for game in proposed.games}
        assert couples == {("a", "c"), ("b", "d")}
        assert not any(game["explores"] for game in proposed.games)
        pool.games.clear()
        pool.busy.clear()
