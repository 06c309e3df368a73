"""The budgeted search: what it proves of its matchings, against all matchings by enumeration."""

import math
from random import Random

import numpy as np
import pytest

from pairup import ESCB, Problem, simulate
from pairup.problem.meeting_graph import MeetingGraph
from tests.policies.escb.test_search import GAMES, TRIES, drawn_games, drawn_tries, loaded, tables
from tests.policies.test_graph_steps import Playing, random_meetings
from tests.support.twins import graphs as naive
from tests.support.twins.brute_escb import best_index
from tests.support.twins.escb import factor


@pytest.mark.parametrize("games", GAMES)
@pytest.mark.parametrize("tries", [*TRIES, "some never"])
@pytest.mark.parametrize("n", range(2, 11))
def test_a_factor_of_its_bonus_makes_up_for_what_the_index_lacks(n, tries, games):
    rng = np.random.default_rng(n)
    for _ in range(12):
        seen = drawn_tries(tries, n * (n - 1) // 2, rng)
        if tries == "some never":
            seen = np.where(rng.random(len(seen)) < 0.3, 1, 10**6)
        clock = int(np.exp(rng.uniform(1, 14)))
        compiled = loaded("budgeted", n, seen, drawn_games(games, seen, rng), clock - 1)
        matching, scale = compiled.propose(), math.sqrt(math.log(clock) / 2)
        value, inverse = tables(compiled, n)
        a, b = (sum(table[couple] for couple in matching) for table in (value, inverse))
        best = best_index(value, inverse, scale)
        wide = a + factor((n + 1) // 2) * scale * math.sqrt(b)
        assert best <= wide + 1e-12
        _, ratio = compiled.policy.certified(compiled.state)
        index = a + scale * math.sqrt(b)
        assert best <= index / ratio + 1e-12  # the bound that it certifies is one
        assert index / ratio <= wide + 1e-12 or ratio == 1.0  # and proves the first


class Wide(naive.ESCB):
    """Any matching of which a factor of its bonus makes up for what its index lacks."""

    def index(self, matching):
        return self.sums(matching, 1.0)

    def sums(self, matching, times):
        seen = [each for each in matching if self.worth[each]]
        spread = math.fsum(self.worth[each] ** 2 / self.tries[each] for each in seen)
        mean = math.fsum(self.worth[each] * self.mean(each) for each in seen)
        return mean + times * math.sqrt(math.log(max(self.rounds, 2)) / 2 * spread)

    def allows(self, matching):
        if any(weight == math.inf for weight in self.weights.values()):
            return super().allows(matching)
        best = max(self.index(each) for each in self._all())
        return self.sums(matching, factor(len(self.available) // 2)) >= best - naive.NEAR


def two_sides(seed, rows=3, columns=4):
    """All couples across, each of a worth of its own."""
    draw = Random(seed)
    worth = {(i, rows + k): 0.1 + 0.9 * draw.random() for i in range(rows) for k in range(columns)}
    table = np.zeros((rows + columns, rows + columns))
    for (i, j), each in worth.items():
        table[i, j] = table[j, i] = each
    return worth, MeetingGraph(rows + columns, list(worth), table)


@pytest.mark.parametrize("meetings", [random_meetings, two_sides])
def test_the_same_holds_on_graphs_and_across_two_sides(meetings):
    policy, least = ESCB("budgeted"), 1.0
    for seed in range(3):
        worth, graph = meetings(seed)
        playing = Playing(policy, graph, seed)
        twin = Wide(worth, playing.key)
        for round in range(60):
            away = playing.draw.sample(range(7), 2 if round % 4 == 3 else 0)
            available = [player for player in range(7) if player not in away]
            couples = playing.propose(available)
            twin.propose(available)
            assert twin.allows(couples), (seed, round)
            twin.observe(couples, playing.observe(couples))
        least = min(least, policy.certified(playing.inner)[1])
    assert least < 1


def test_branches_prove_what_the_first_bound_leaves_open():
    rng, unproved = np.random.default_rng(8), dict.fromkeys(("approximate", "budgeted"), 0)
    for _ in range(200):
        seen = drawn_tries("uneven", 28, rng)
        clock, games = int(np.exp(rng.uniform(1, 14))), drawn_games("drawn", seen, rng)
        scale = math.sqrt(math.log(clock) / 2)
        for search in unproved:
            compiled = loaded(search, 8, seen, games, clock - 1)
            matching = compiled.propose()
            a, b = (sum(table[c] for c in matching) for table in tables(compiled, 8))
            bound = (a + scale * math.sqrt(b)) / compiled.policy.certified(compiled.state)[1]
            unproved[search] += bound > a + factor(4) * scale * math.sqrt(b) + 1e-12
    assert unproved["budgeted"] == 0
    assert unproved["approximate"] > 0


def test_its_regret_is_that_of_the_exact_search():
    exact, near = (
        simulate(Problem.from_zero(4, 0.1), ESCB(each), 30_000, 4).mean()
        for each in ("exact", "budgeted")
    )
    assert near[-1] == pytest.approx(exact[-1], rel=0.2)
