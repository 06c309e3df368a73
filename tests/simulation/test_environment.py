import itertools
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import pairup.simulation.environment
from pairup import (
    Matching,
    MatchingError,
    PolicyError,
    Problem,
    SimulationError,
    Uniform,
    simulate,
)
from pairup.simulation.environment import ID, MatchingEnvironment
from pairup.simulation.playthrough import Playthrough
from pairup.simulation.replication import new_replication
from tests.support.policy_variants import variants

# Multiples of 1/16: sums of their products are exact in any order, so that regrets can be equal.
EXACT = Problem(np.array([15, 14, 11, 9, 6, 4, 1]) / 16)


def play(env, learner, seed):
    """Play an episode by a learner's proposals; returns its regret and games."""
    played, _ = env.reset(seed=seed)
    regret, games, truncated = 0.0, 0.0, False
    while not truncated:
        matching = learner.propose()
        played, reward, terminated, truncated, info = env.step(env.unwrapped.encode(matching))
        assert not terminated
        learner.observe(matching, [bool(played[i]) for i, _ in matching])
        regret += info["regret"]
        games += reward
    return regret, games


@pytest.mark.parametrize("variant", variants(), ids=str)
@pytest.mark.parametrize("problem", [EXACT, Problem(EXACT.rates[:6])], ids=["odd", "even"])
def test_an_agent_gets_what_the_simulator_gives(variant, problem):
    env = gymnasium.make(ID, problem=problem, rounds=200)
    policy = variant.policy(new_replication(problem, 7, 0).rates)
    run = simulate(problem, policy, 200, 1, seed=7)
    regret, games = play(env, policy.learner(range(problem.players), seed=7), seed=7)
    assert regret == run.regret[0, -1]
    assert games == run.games[0, -1]


@pytest.mark.parametrize("players", [2, 3, 4, 7])
def test_passes_gymnasiums_own_check(players):
    with warnings.catch_warnings(action="error"):
        check_env(gymnasium.make(ID, problem=Problem.random(players), rounds=50).unwrapped)


def test_is_registered_by_import():
    assert gymnasium.spec(ID).id == pairup.simulation.environment.ID == "pairup/Matching-v0"
    env = gymnasium.make(ID)
    assert env.unwrapped.problem == Problem.from_zero(4, 0.1)
    assert gymnasium.make(env.spec).unwrapped.rounds == env.unwrapped.rounds


def test_is_made_without_an_import_before():
    code = (
        "import gymnasium;"
        "env = gymnasium.make('pairup.simulation.environment:pairup/Matching-v0', "
        "problem=[0.5, 0.2]);"
        "env.reset(seed=1); print(env.step([0])[1:4])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "False, False" in done.stdout


def test_its_specification_is_json():
    spec = gymnasium.make(ID, problem=[0.5, 0.25, 0.125], rounds=3).spec
    env = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert env.unwrapped.problem == Problem([0.5, 0.25, 0.125])


def test_says_how_to_install_gymnasium():
    code = "import sys; sys.modules['gymnasium'] = None; import pairup.simulation.environment"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'pairup[gym]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6, 7, 8])
def test_each_action_is_a_matching_and_each_matching_an_action(players):
    env = MatchingEnvironment(np.full(players, 0.5))
    actions = [*itertools.product(*(range(choices) for choices in env.action_space.nvec))]
    matchings = {env.decode(np.array(action)) for action in actions}
    assert len(matchings) == len(actions) == np.prod(range(players + players % 2 - 1, 0, -2))
    for action in actions:
        matching = env.decode(np.array(action))
        assert sorted(matching.players) == list(range(players))
        assert len(matching.waiting) == players % 2
        assert env.encode(matching).tolist() == list(action)
        assert env.encode(matching) in env.action_space


def test_episodes_are_replications():
    env = MatchingEnvironment(EXACT, rounds=20)
    action = np.zeros(4, np.int64)

    def episode(**options):
        _, info = env.reset(**options)
        return info, [env.step(action)[0].tolist() for _ in range(20)]

    first, second = episode(seed=3), episode()
    assert first[0] == {"seed": 3, "replication": 0}
    assert second[0] == {"seed": 3, "replication": 1}
    assert first[1] != second[1]
    assert episode(options={"replication": 0}) == first
    assert episode() == second
    assert episode(seed=3, options={"replication": 1}) == second
    assert episode(seed=3) == first


def test_without_a_seed_one_is_drawn_and_reported():
    seeds = set()
    for _ in range(3):
        env = MatchingEnvironment(EXACT)
        _, info = env.reset()
        seeds.add(info["seed"])
        assert env.reset()[1] == {"seed": info["seed"], "replication": 1}
    assert len(seeds) == 3


def test_shows_who_played_and_what_it_cost():
    problem = Problem([1, 1, 0, 0.5])
    env = MatchingEnvironment(problem, rounds=50)
    observation, _ = env.reset(seed=2)
    assert observation.tolist() == [0, 0, 0, 0]
    rates = new_replication(problem, 2, 0).rates
    best = Problem(rates).optimum
    for t in range(1, 51):
        observation, reward, terminated, truncated, info = env.step(env.encode(best))
        assert info == {"regret": 0.0, "expected_games": 1.0, "round": t}
        assert [rate == 1 for rate in rates] == observation.tolist()
        assert (reward, terminated, truncated) == (1.0, False, t == 50)
    env.reset(seed=2)
    worst = env.encode([(best[0][0], best[1][0]), (best[0][1], best[1][1])])
    assert env.step(worst)[4] == {"regret": 0.5, "expected_games": 0.5, "round": 1}


@pytest.mark.parametrize(
    "action",
    [
        [3, 0],
        [-1, 0],
        [0, 1],
        [0],
        [0, 0, 0],
        [[0, 0]],
        [0.0, 0.0],
        [True, False],
        ["a", "b"],
        [[0], [0, 1]],
        None,
        0,
        2**70,
    ],
)
def test_invalid_actions_are_refused(action):
    env = MatchingEnvironment([0.1, 0.2, 0.3, 0.4])
    env.reset(seed=1)
    for call in (env.step, env.decode):
        with pytest.raises(MatchingError, match=r"an action is 2 integers, .* below \[3, 1\], got"):
            call(action)
    assert env.step([0, 0])[4]["round"] == 1


@pytest.mark.parametrize(
    ("matching", "says"),
    [
        ([(0, 1)], "has 2 couples, got 1"),
        ([(0, 1), (1, 2)], "at most once"),
        ([(0, 1), (2, 9)], "0 to 3, got 9"),
        ([(0, 1), (2, "b")], "0 to 3, got 'b'"),
        ("ab", "couples must be a list"),
        (3, "couples must be a list"),
        (Matching([(0, 1)], [2, 3]), "has 2 couples, got 1"),
    ],
)
def test_matchings_that_are_not_full_are_refused(matching, says):
    with pytest.raises(MatchingError, match=says):
        MatchingEnvironment([0.1, 0.2, 0.3, 0.4]).encode(matching)


def test_refuses_to_play_without_rounds():
    env = MatchingEnvironment([0.5, 0.5], rounds=1)
    for _ in range(2):
        with pytest.raises(SimulationError, match="no round is left of the episode's 1: reset"):
            env.step([0])
        env.reset(seed=0)
        assert env.step([0])[3] is True


@pytest.mark.parametrize("rounds", [0, -1, 1.0, True, "9", None])
def test_refuses_rounds(rounds):
    with pytest.raises(SimulationError, match="rounds must be an integer of at least 1, got"):
        MatchingEnvironment(rounds=rounds)


def test_refuses_a_reset_and_stays_as_it_was():
    env = MatchingEnvironment(EXACT, rounds=9)
    env.reset(seed=1)
    env.step(np.zeros(4, np.int64))
    for seed in (-1, "1", 2**63, True):
        with pytest.raises(PolicyError, match="seed must be"):
            env.reset(seed=seed)
    for replication in (-1, 0.5, "1", None, True):
        with pytest.raises(SimulationError, match="replication must be"):
            env.reset(options={"replication": replication})
    assert env.step(np.zeros(4, np.int64))[4]["round"] == 2
    assert env.reset()[1] == {"seed": 1, "replication": 1}


def test_runs_side_by_side():
    envs = gymnasium.make_vec(ID, 3, problem=EXACT, rounds=5)
    played, infos = envs.reset(seed=10)
    assert played.shape == (3, 7)
    assert infos["seed"].tolist() == [10, 11, 12]
    for _ in range(4):
        played, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.tolist() == (played.sum(axis=1) / 2).tolist()
    envs.close()


def test_problems_on_graphs_are_refused():
    with pytest.raises(SimulationError, match="not all couples may meet"):
        MatchingEnvironment(Problem.groups(6, 2))


SIDES = {
    "more rows": Problem.two_sided([15 / 16, 9 / 16, 5 / 16, 1 / 16], [1, 0.75, 0.25]),
    "more columns": Problem.two_sided([0.75, 0.25], [1, 0.75, 0.5], draws="common"),
    "equal": Problem.two_sided([0.75, 0.25], [1, 0.75]),
}
SIZES = {"more rows": [4, 3, 2], "more columns": [3, 2], "equal": [2, 1]}


@pytest.mark.parametrize("kind", SIDES)
def test_on_two_sides_each_action_is_a_matching_and_each_matching_an_action(kind):
    env = gymnasium.make(ID, problem=SIDES[kind]).unwrapped
    columns = env.reset(seed=4)[1]["columns"]
    assert env.action_space.nvec.tolist() == SIZES[kind]
    actions = [*itertools.product(*(range(choices) for choices in env.action_space.nvec))]
    matchings = {env.decode(np.array(action)) for action in actions}
    assert len(matchings) == len(actions) == np.prod(SIZES[kind])
    for action in actions:
        matching = env.decode(np.array(action))
        assert all(columns[i] != columns[j] for i, j in matching)
        assert sorted(matching.players) == list(range(len(columns)))
        assert env.encode(matching).tolist() == list(action)
    with warnings.catch_warnings(action="error"):
        check_env(env)


@pytest.mark.parametrize("kind", SIDES)
def test_an_agent_gets_what_the_simulator_gives_on_two_sides(kind):
    problem = SIDES[kind]
    env = gymnasium.make(ID, problem=problem, rounds=100)
    _, info = env.reset(seed=7)
    playthrough = Playthrough(problem, Uniform(), 100, 7, 0)
    regret = games = 0.0
    for t in range(100):
        playthrough.play_to(t + 1)
        couples = [couple for couple in playthrough.totals.couples.tolist() if couple[0] >= 0]
        _, reward, _, _, info = env.step(env.unwrapped.encode(couples))
        regret, games = regret + info["regret"], games + reward
    assert regret == playthrough.totals.regret[0]
    assert games == playthrough.totals.games[0]


def test_couples_of_one_side_are_refused():
    env = MatchingEnvironment(SIDES["equal"])
    columns = env.reset(seed=4)[1]["columns"]
    rows, others = np.flatnonzero(~columns).tolist(), np.flatnonzero(columns).tolist()
    with pytest.raises(MatchingError, match="on the same side: couple rows with columns"):
        env.encode([rows, others])
    with pytest.raises(MatchingError, match="has 2 couples, got 1: only the rest waits"):
        env.encode([(rows[0], others[0])])
