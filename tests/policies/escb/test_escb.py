import numpy as np
import pytest

from pairup import ESCB, Learner, Problem, SavingError, simulate
from pairup.learning import serialization
from pairup.policies.escb.approximation import FEWER, MORE


@pytest.mark.parametrize(
    ("problem", "regret"),
    [(Problem.around(0.5, 4, 0.1), 4_500), (Problem.from_zero(4, 0.1), 5_000)],
    ids=["around", "from zero"],
)
def test_regret_after_a_million_rounds_is_as_known(problem, regret):
    run = simulate(problem, ESCB(), 1_000_000, 4)
    assert run.mean()[-1] == pytest.approx(regret, rel=0.15)


# Final regret after 200,000 rounds: the authors of SAM, and an independent program.
@pytest.mark.parametrize("search", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("couples", "known"), [(2, (574, 662)), (3, (1464, 1540)), (4, (2324, 2451))]
)
def test_regret_after_200_000_rounds_is_as_known(couples, known, search):
    run = simulate(Problem.around(0.5, couples, 0.1), ESCB(search), 200_000, 12)
    assert 0.85 * min(known) < run.mean()[-1] < 1.15 * max(known)


def test_the_approximate_search_explores_couples_that_no_weighting_favours():
    """Rare couples of large gaps must not keep those of small gaps from being tried."""
    exact, near = (
        simulate(Problem.from_zero(4, 0.1), ESCB(search), 200_000, 4).mean()
        for search in ("exact", "approximate")
    )
    assert near[-1] == pytest.approx(exact[-1], rel=0.15)


@pytest.mark.parametrize("players", [25, 60])
def test_it_takes_any_number_of_players(players):
    problem = Problem.random(players, seed=2)
    early, late = simulate(problem, ESCB(), 3_000, 1, checkpoints=[1_500, 3_000]).regret[0]
    assert late - early < early


def test_few_of_many_players_are_searched_exactly():
    learner = ESCB().learner(range(20))
    exact = ESCB().learner(range(8))
    for _ in range(60):
        matching = learner.propose(range(8))
        assert matching.couples == exact.propose().couples
        for each in (learner, exact):
            each.observe(matching, [sum(couple) % 3 > 0 for couple in matching])


def played(players, rounds=60):
    learner = ESCB("approximate").learner(range(players))
    for _ in range(rounds):
        matching = learner.propose()
        learner.observe(matching, [sum(couple) % 2 > 0 for couple in matching])
    return learner.to_bytes()


def with_row(row, mates):
    """Replace one of the matchings that are kept as guesses."""

    def change(array):
        changed = array.copy()
        changed[row] = mates
        return changed

    return change


FORGED = {
    "rounds": ("round", lambda array: array + 2**60),
    "duals": ("state.search.exact.kept_dual", lambda array: array * np.nan),
    "certificates": ("state.search.reals", lambda array: array * np.nan),
    "own mate": ("state.search.mates", with_row(FEWER, [1, 0, 3, 2, 4, 5])),
    "mates in a ring": ("state.search.mates", with_row(MORE, [1, 2, 0, 4, 3, 5])),
    "unknown mates": ("state.search.exact.kept_mate", lambda array: array + 9),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_would_lead_the_search_astray_is_refused(forged):
    header, arrays = serialization.unpack(played(5))
    assert Learner.from_bytes(serialization.pack(header, arrays)).to_bytes() == played(5)
    name, change = FORGED[forged]
    with pytest.raises(SavingError):
        Learner.from_bytes(serialization.pack(header, arrays | {name: change(arrays[name])}))


def test_matchings_of_others_are_refused():
    header, arrays = serialization.unpack(played(5))
    mates = with_row(FEWER, [1, 0, -1, -1, -1, -1])(arrays["state.search.mates"])
    with pytest.raises(SavingError, match="of others"):
        Learner.from_bytes(serialization.pack(header, arrays | {"state.search.mates": mates}))
