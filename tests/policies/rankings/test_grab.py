from itertools import product

import pytest

from pairup import GRAB
from tests.support.twins import grab as naive_grab
from tests.support.twins.side_families import SIDES, SideDuel

OPTIONS = [
    {"index": index, "clock": clock, "period": period}
    for (index, clock), period in zip(
        product(("kl", "ucb"), ("leader", "horizon")), (None, 10, 3, None), strict=True
    )
]
every_option = pytest.mark.parametrize(
    "options", OPTIONS, ids=lambda o: "-".join(map(str, o.values()))
)


class Duel(SideDuel):
    def __init__(self, options, sides, seed, horizon=1_000):
        super().__init__(GRAB(**options), sides, seed, horizon)
        items, positions = self.rows, self.columns
        if len(items) < len(positions):
            items, positions = positions, items
        self.positions = set(positions)
        self.twin = naive_grab.GRAB(
            items,
            positions,
            self.policy_key,
            options["period"],
            options["index"],
            horizon if options["clock"] == "horizon" else None,
        )
        self.doubtful = 0

    def leader(self):
        """The compiled leader: items by positions, in the order of their ranks."""
        couples = self.compiled.leader
        return {
            next(i for i in couple if i in self.positions): next(
                i for i in couple if i not in self.positions
            )
            for couple in couples
        }

    def propose(self):
        leader = self.leader()
        assert self.twin.may_follow(leader)
        expected, proposed = self.twin.propose(leader), self.compiled.propose()
        assert list(leader) == self.twin.ranks()
        assert proposed == expected or proposed in self.twin.doubts
        self.doubtful += bool(self.twin.doubts)
        return proposed


@every_option
@pytest.mark.parametrize("sides", SIDES)
def test_equals_its_twin_step_for_step(options, sides):
    duel = Duel(options, SIDES[sides], seed=len(sides)).play(150)
    # Certain players make equal sums of different indices, and then rounding decides.
    assert duel.doubtful <= (60 if sides == "zeros and ones" else 5)


@every_option
def test_equals_its_twin_in_the_long_run(options):
    duel = Duel(options, ([0.8, 0.7, 0.6, 0.55, 0.5], [0.9, 0.8, 0.7]), seed=3).play(1_500)
    assert duel.doubtful <= 10
    assert len(duel.twin.led) > 5


def test_a_neighbour_swaps_two_positions_or_shows_a_hidden_item():
    duel = Duel(OPTIONS[0], SIDES["ranking"], seed=1).play(50)
    changes = [set(change) for _, change in duel.twin.neighbours()]
    assert len(changes) == 10 - 1
    assert [len(change) for change in changes] == [2] * 4 + [1] * 5


@pytest.mark.parametrize("period", [1, 4])
def test_a_leader_is_played_itself_the_first_time_and_every_period(period):
    duel = Duel({"index": "ucb", "clock": "leader", "period": period}, SIDES["ranking"], seed=1)
    for _ in range(200):
        leader = duel.leader()
        led = duel.twin.led[tuple(sorted(leader.items()))]
        matching = duel.propose()
        if led % period == 0:
            assert matching == sorted(tuple(sorted(couple)) for couple in leader.items())
        duel.compiled.observe(matching, duel.outcomes(matching))
        duel.twin.observe(matching, duel.outcomes(matching))
        duel.rounds += 1
