"""Simulated players against a service in a process of its own, and the command itself."""

import itertools
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from pairup import Problem
from pairup.client import Client
from pairup.client.demo import (
    Crowd,
    Habits,
    Pace,
    Simulation,
    expected_games,
)
from pairup.errors import PairupError, ProblemError, SimulationError
from pairup.problem.rates import parse_distribution
from tests.support.service.running import environment, free_port

EVERYTHING = Habits(churn=0.02, late=0.1, twice=0.1, contradict=0.1, away=0.05)


@pytest.fixture
def client(service):
    with Client(service.url) as found:
        yield found


def play(client, pool, rounds, habits, pace, rates, distribution=None):
    """Play rounds without waiting for anything but the service."""
    crowd = Crowd(rates, distribution, seed=3)
    simulation = Simulation(client, pool, crowd, habits, pace)
    return list(itertools.islice(simulation, rounds)), crowd


def test_what_the_service_counts_is_what_the_players_did(client):
    # The rounds last 1.2 s in all: long enough for reports that are late, by about half a second.
    pace = Pace(round_s=0.03, lifetime_s=0.05)
    rounds, crowd = play(client, "all", 40, EVERYTHING, pace, np.linspace(0.9, 0.1, 12), (2, 2))
    stats = client.stats("all")
    assert len(rounds) == stats.matchings == 40
    assert sum(each.games for each in rounds) == stats.games.proposed
    feedback = stats.feedback
    assert min(feedback.late, feedback.repeated, feedback.contradicting) > 0
    cancelled = stats.games.cancelled
    assert min(cancelled.declined, cancelled.timed_out, cancelled.unstated) > 0
    events = list(client.events("all"))
    kinds = {event.kind for event in events}
    assert {"joined", "left", "moved"} <= kinds
    assert {"late", "repeated", "contradicted", "expired"} <= kinds
    assert max(len(event.body.players) for event in events if event.kind == "joined") > 1
    assert {each.player for each in client.players("all")} == set(crowd.rates)
    # What is learnt is what was reported in time.
    in_time = sum(each.games for each in rounds) - stats.games.expired
    released = sum(stats.games.released.model_dump().values())
    assert stats.games.learnt == in_time - released - stats.games.open


def test_without_bad_habits_every_game_is_learnt(client):
    rounds, _ = play(client, "good", 20, Habits(answers=False), Pace(), [1, 1, 0.5, 0.5, 0, 0])
    stats = client.stats("good")
    assert stats.games.learnt == stats.games.proposed == 60
    assert stats.games.played == sum(each.played for each in rounds)
    assert set(stats.feedback.model_dump().values()) == {0}
    assert rounds[0].best == 1.25
    assert rounds[0].random == pytest.approx(3 * 3.25 / 15)


def test_players_wait_again_after_their_game(client):
    play(client, "games", 5, Habits(), Pace(game_s=0.001), [1.0, 1.0, 1.0, 1.0])
    assert client.pool("games").after_game == "playing"
    assert client.stats("games").games.played == 10
    assert client.pool("games").players.waiting == 4


def test_another_run_continues_in_the_same_pool(client):
    play(client, "again", 5, Habits(churn=0.5), Pace(), [0.5] * 6)
    rounds, crowd = play(client, "again", 5, Habits(), Pace(game_s=0.001, lifetime_s=9), [0.5] * 6)
    assert {each.player for each in client.players("again")} == set(crowd.rates)
    assert [each.games for each in rounds] == [3] * 5
    assert client.pool("again").lifetime_s == Pace().lifetime_s  # the pool keeps its rules
    assert client.pool("again").after_game == "waiting"


def test_other_players_are_left_alone(client):
    client.create_pool("real")
    for player in ("ann", "bob", "s1-x"):
        client.join("real", player)
    simulation = Simulation(client, "real", Crowd([0.5] * 4, seed=3), Habits(), Pace())
    with pytest.raises(SimulationError, match="3 players who are not simulated, such as 'ann'"):
        simulation.begin()
    assert len(list(client.players("real"))) == 3
    simulation.begin(among_others=True)
    client.leave("real", "s3-002")  # somebody else removes it
    simulation._put(["s3-002"], "left")
    client.join("real", "s3-002")
    assert [each.games for each in itertools.islice(simulation, 3)] == [2] * 3
    simulation.end()
    waiting = {each.player for each in client.players("real", status="waiting")}
    assert waiting == {"ann", "bob", "s1-x"}
    met = {player for each in client.estimates("real").couples for player in each.players}
    assert met == {"s3-001", "s3-002", "s3-003", "s3-004"}


def test_the_same_seed_gives_the_same_crowd():
    one, other = Crowd([0.5] * 9, (2, 3), seed=5), Crowd([0.5] * 9, (2, 3), seed=5)
    for _ in range(20):
        assert one.sample(0.3) == other.sample(0.3)
        one.replace(next(iter(one.rates)))
        other.replace(next(iter(other.rates)))
    assert one.rates == other.rates


@pytest.mark.parametrize("count", [2, 3, 6, 7])
def test_expected_games_are_those_of_all_couples_and_of_the_best_matching(count):
    rates = np.random.default_rng(count).random(count)
    best, random = expected_games(rates)
    couples = [rates[i] * rates[j] for i in range(count) for j in range(i)]
    assert random == pytest.approx(np.mean(couples) * (count // 2))
    assert best == pytest.approx(Problem(rates).best_games)
    assert best >= random - 1e-12


@pytest.mark.parametrize("text", ["", "beta", "beta:2", "beta:0,1", "beta:a,b", "gamma:1,2"])
def test_a_law_that_is_not_a_beta_distribution_is_refused(text):
    with pytest.raises(ProblemError, match="a distribution is beta:A,B"):
        parse_distribution(text)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(SimulationError, match="churn is a probability"):
        Habits(churn=1.5)
    with pytest.raises(SimulationError, match="a round lasts at least 0 seconds"):
        Pace(round_s=-1)
    with pytest.raises(PairupError, match="acceptance rates"):
        Crowd([0.5, 1.5])


def command(*options):
    return [sys.executable, "-m", "pairup", "simulate-players", *options]


def test_the_command_prints_the_share_of_games_played(service, client):
    options = ["--url", service.url, "--theta", "0.9,0.8,0.2,0.1", "--pool", "told"]
    options += ["--rounds", "10", "--pace", "0", "--churn", "0", "--late", "0"]
    done = subprocess.run(command(*options), env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{service.url}/pools/told" in done.stdout
    last = done.stdout.splitlines()[-1]
    share = client.stats("told").games.played / 20
    assert last.startswith(f"round 10: {share:.1%} of 20 games played; ")
    assert last.endswith("random pairing 20.8%, best possible 37.0%")


def test_the_command_says_in_one_line_that_no_service_answers():
    url = f"http://localhost:{free_port()}"
    done = subprocess.run(command("--url", url), env=environment(), capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(rf"pairup: no service answers at {url} .*`pairup serve`.*\n", done.stderr)


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGINT, 1), (signal.SIGTERM, 20)],  # the end of a group may reach it more than once
    ids=["ctrl-c", "sigterm"],
)
def test_the_command_ends_on_a_signal_and_reports_how_it_went(service, client, number, times):
    pool = f"endless-{times}"
    options = ["--url", service.url, "--pool", pool, "--pace", "0.01"]
    process = subprocess.Popen(command(*options), env=environment(), stdout=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"24 players")
    while pool not in [each.name for each in client.pools()] or client.stats(pool).matchings < 3:
        assert process.poll() is None
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.002)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"games played" in rest
    players = client.pool(pool).players
    assert players.away + players.proposed == 24


def test_the_number_of_players_is_given_once(service):
    options = ["--url", f"{service.url}/v1", "--theta", "0.9,0.8", "--players", "9"]
    done = subprocess.run(command(*options), env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "leave out --players 9" in done.stderr


def test_rated_players_meet_by_the_rules_of_their_pool(client):
    crowd = Crowd(np.full(12, 0.9).tolist(), seed=5, rated=True)
    simulation = Simulation(client, "rated", crowd, Habits(churn=0.05), Pace(lifetime_s=5.0))
    rounds = list(itertools.islice(simulation, 6))
    rules, known = client.pool("rated"), {}
    assert rules.fairness.floor == 0.5
    for event in client.events("rated"):
        if event.kind == "attributed":
            known |= dict(zip(event.body.players, event.body.attributes, strict=True))
    games = [game.players for game in proposed_games(client, "rated")]
    assert len(games) == sum(each.games for each in rounds) > 0
    for one, other in games:
        assert known[one]["region"] == known[other]["region"]
    assert {each.player for each in client.players("rated")} == set(crowd.attributes)


def proposed_games(client, pool):
    events = [event for event in client.events(pool) if event.kind == "proposed"]
    return [game for event in events for game in event.body.games]


def test_players_without_a_game_lose_their_patience(client):
    crowd, pace = Crowd([0.0, 0.0, 1.0, 1.0], seed=6), Pace(round_s=0.05)
    before = list(crowd.rates)
    simulation = Simulation(client, "hasty", crowd, Habits(patience_s=0.2), pace)
    for _ in itertools.islice(simulation, 30):
        pass
    assert not set(before[:2]) & set(crowd.rates)
    assert len(crowd.rates) == 4


def test_ratings_do_not_change_who_comes_and_goes():
    plain, rated = (Crowd([0.9, 0.5, 0.3], (2, 3), seed=4, rated=each) for each in (False, True))
    assert plain.attributes == {}
    assert plain.replace("s4-002") == rated.replace("s4-002")
    assert plain.rates == rated.rates
    assert rated.attributes.keys() == rated.rates.keys()
