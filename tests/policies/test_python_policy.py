"""Policies in plain Python play what others play."""

import dataclasses
import sys
from typing import ClassVar

import numpy as np
import pytest

from pairup import PolicyError, Problem, PythonPolicy, SimulationError, Uniform, compare, simulate
from pairup.cli.specs import read_policies
from pairup.testing import BrokenContractError, check_policy
from tests.support.foreign import Folder

PROBLEM = Problem.around(0.5, 2, 0.2)


class Greedy(PythonPolicy):
    """Couple neighbours in the order of the players' means."""

    epsilon: float = 0.1

    def begin(self, players, rng):
        self.rng, self.seen = rng, []
        self.games, self.tries = np.ones(players), np.full(players, 2)

    def propose(self, available):
        order = sorted(available, key=lambda i: -self.games[i] / self.tries[i])
        if self.rng.random() < self.epsilon:
            order = self.rng.permutation(available)
        return zip(order[::2], order[1::2], strict=False)

    def observe(self, couples, played):
        self.seen.append((couples, played))
        for couple, game in zip(couples, played, strict=True):
            self.tries[list(couple)] += 1
            self.games[list(couple)] += game


class Twin(PythonPolicy):
    """The policy Uniform of pairup says nothing about order: this one couples 0-1, 2-3, ..."""

    log: ClassVar[list] = []

    def propose(self, available):
        return [(j, i) for i, j in zip(available[::2], available[1::2], strict=False)]

    def observe(self, couples, played):
        Twin.log.append((couples, played))


def test_it_plays_the_same_players_on_the_same_days():
    Twin.log.clear()
    run = simulate(PROBLEM, Twin(), 50, 1)
    assert len(Twin.log) == 49  # the last round is not followed by a proposal
    assert {tuple(couples) for couples, _ in Twin.log} == {((0, 1), (2, 3))}
    games = sum(sum(played) for _, played in Twin.log)
    assert int(run.games[0, -1]) - games in (0, 1, 2)
    assert len(Twin.log[0][1]) == 2


def test_it_learns_repeats_and_is_compared():
    easy = Problem([0.95, 0.9, 0.2, 0.1], "easy")
    policies = {"greedy": [Greedy(epsilon=0.1), Greedy(epsilon=0.2)], "random": Uniform()}
    results = compare(easy, policies, 400, replications=6)
    order = [row.policy for row in results.standings["easy"]]
    assert order[-1] == "random"
    assert set(order[:2]) == {"greedy epsilon=0.1", "greedy epsilon=0.2"}
    again = simulate(easy, Greedy(epsilon=0.1), 400, 6)
    mine = results.frame.filter(policy="greedy epsilon=0.1")["regret"].to_list()
    assert mine == again.regret.ravel().tolist()


def test_replications_share_nothing():
    policy = Greedy()
    alone = simulate(PROBLEM, policy, 100, range(3, 4)).regret
    assert (simulate(PROBLEM, policy, 100, 5).regret[3] == alone[0]).all()
    assert "games" not in vars(policy)


def test_options_are_a_frozen_dataclass():
    assert str(Greedy(epsilon=0.5)) == "Greedy(epsilon=0.5)"
    assert Greedy(0.5) == Greedy(epsilon=0.5)
    with pytest.raises(dataclasses.FrozenInstanceError, match=r"set it in begin\(players, rng\)"):
        Greedy().games = 3


@pytest.mark.parametrize(
    ("proposed", "words"),
    [
        ([(0, 1)], r"in round 1: propose must return 2 couples of players, got \[\[0, 1\]\]"),
        ([(0, 1), (2, 2.5)], "must return 2 couples of players"),
        ([], r"must return 2 couples of players, got \[\]"),
        (None, "must return 2 couples of players, got None"),
        ([(0, 1), (2, 3, 3)], r"must return 2 couples of players, got \[\(0, 1\), \(2, 3, 3\)\]"),
        ([0, 1], r"must return 2 couples of players, got \[0, 1\]"),
        ([(0, 1), (1, 2)], "in round 1: a player can be in one couple only"),
        ([(0, 1), (2, 2)], "in round 1: a player can be in one couple only"),
        ([(0, 1), (2, 7)], r"in round 1: couples are of the players available, \[0, 1, 2, 3\]"),
    ],
)
def test_each_proposal_is_checked(proposed, words):
    class Wrong(PythonPolicy):
        def propose(self, available):
            return proposed

    with pytest.raises(PolicyError, match=words):
        simulate(PROBLEM, Wrong(), 5, 1)


class Failing(PythonPolicy):
    where: str = "propose"

    def begin(self, players, rng):
        self.fail("begin")

    def propose(self, available):
        self.fail("propose")
        yield from zip(available[::2], available[1::2], strict=False)

    def observe(self, couples, played):
        self.fail("observe")

    def fail(self, method):
        if method == self.where:
            {}["mine"]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("begin", "begin failed: KeyError: 'mine'"),
        ("propose", "propose failed in round 1: KeyError: 'mine'"),
        ("observe", "observe failed in round 1: KeyError: 'mine'"),
    ],
)
def test_a_method_that_fails_is_named_with_its_line(method, words):
    with pytest.raises(
        PolicyError, match=rf"{words} \(test_python_policy.py, line \d+\)$"
    ) as found:
        compare(PROBLEM, Failing(method), 5, replications=1)
    assert isinstance(found.value.__cause__, KeyError)


def test_arguments_that_do_not_fit_are_told_with_the_line_of_the_method():
    class Short(PythonPolicy):
        def propose(self):
            return []

    line = Short.propose.__code__.co_firstlineno
    with pytest.raises(PolicyError, match=rf"propose failed .* 2 were given \(.*py, line {line}\)"):
        simulate(PROBLEM, Short(), 5, 1)


@pytest.mark.parametrize("reserved", ["start", "replan", "learner"])
def test_a_method_that_would_replace_ours_is_refused(reserved):
    with pytest.raises(PolicyError, match=rf"Own.{reserved}: .* get ready in begin"):
        type("Own", (PythonPolicy,), {reserved: lambda self, players: None})


def test_live_players_and_gpus_are_refused_in_one_line():
    with pytest.raises(PolicyError, match="plain Python, and plays in simulations only: for live"):
        Greedy().learner("abcd")
    with pytest.raises(SimulationError, match="cuda"):
        simulate(PROBLEM, Greedy(), 5, engine="cuda")
    assert not Greedy.serves_pools
    with pytest.raises(PolicyError, match="for complete graphs"):
        simulate(Problem.random_graph(6, 0.5), Greedy(), 5)


def test_an_odd_player_waits():
    run = simulate(Problem([1, 1, 1, 1, 1]), Twin(), 20, 2)
    assert (run.games[:, -1] == 40).all()
    assert (run.regret == 0).all()


def test_it_is_checked():
    check_policy(Greedy)

    class Restless(PythonPolicy):
        def propose(self, available):
            order = np.random.default_rng().permutation(available)
            return zip(order[::2], order[1::2], strict=False)

    with pytest.raises(BrokenContractError, match="players, played again"):
        check_policy(Restless)


def test_the_command_line_takes_it(tmp_path, monkeypatch):
    folder = Folder(tmp_path, monkeypatch)
    folder.write(
        "sketch",
        """
from pairup import PythonPolicy

class Beside(PythonPolicy):
    step: int = 1
    def propose(self, available):
        return zip(available[::2], available[1::2])
""",
    )
    monkeypatch.chdir(tmp_path)
    (policy,) = read_policies(["sketch:Beside:step=2"]).values()
    assert str(policy) == "Beside(step=2)"
    results = compare(PROBLEM, policy, 10, replications=2, out=tmp_path / "out")
    assert results.run.computed == 1
    assert "sketch:Beside" in results.frame["options"][0]
    assert "sketch" in sys.modules
