"""Every operation of both clients, against a service in a process of its own."""

import inspect
import itertools
import re
import threading

import pytest

from pairup.client import Client, NewGameReport, Patience, RefusedError
from tests.support.paths import DOCS
from tests.support.service.running import Running

PAGE = DOCS / "how-to/use-the-client.md"
ODD_NAME = "a/b ?#%ü"
_numbers = itertools.count()


@pytest.fixture
def pool(client):
    name = f"pool-{next(_numbers)}"
    client.create_pool(name, lifetime_s=60)
    for player in ("ann", "bob", ODD_NAME):
        client.join(name, player)
    return name


def test_pools_are_created_listed_changed_and_deleted(client, pool):
    shown = client.pool(pool)
    assert (shown.name, shown.lifetime_s) == (pool, 60)
    assert shown.players.model_dump() == {"waiting": 3, "proposed": 0, "playing": 0, "away": 0}
    assert pool in [each.name for each in client.pools()]
    assert client.change_pool(pool, unreported="cancelled").unreported == "cancelled"
    assert client.delete_pool(pool) is None
    with pytest.raises(RefusedError, match=f"no pool is called '{pool}'") as refused:
        client.pool(pool)
    assert (refused.value.status, refused.value.kind) == (404, "no-such-pool")


def test_players_join_are_away_and_leave_whatever_their_names(client, pool):
    assert client.player(pool, ODD_NAME).player == ODD_NAME
    assert client.join(pool, ODD_NAME, "away").status == "away"
    assert [each.player for each in client.players(pool, status="away")] == [ODD_NAME]
    assert sorted(each.player for each in client.players(pool)) == sorted(("ann", "bob", ODD_NAME))
    client.leave(pool, ODD_NAME)
    with pytest.raises(RefusedError, match="is not in pool"):
        client.player(pool, ODD_NAME)
    seq = client.pool(pool).seq
    client.leave(pool, ODD_NAME)  # again, which changes nothing
    assert client.pool(pool).seq == seq


def test_the_name_of_a_player_is_erased(client, pool):
    client.erase(pool, ODD_NAME)
    assert sorted(each.player for each in client.players(pool)) == ["ann", "bob"]
    *_, joined, left, erased = client.events(pool)
    assert (joined.kind, left.kind, erased.kind) == ("joined", "left", "erased")
    assert left.body.players == erased.body.players == joined.body.players
    assert joined.body.players[0].startswith("erased:")


def test_pages_are_joined(client, pool):
    for number in range(150):
        client.join(pool, f"p{number:03d}")
    found = [each.player for each in client.players(pool)]
    assert len(found) == len(set(found)) == 153
    events = list(client.events(pool))
    assert [event.seq for event in events] == list(range(1, 155))
    assert [event.seq for event in client.events(pool, after=152)] == [153, 154]


def test_a_reported_game_is_learnt_and_a_contradiction_refused(client, pool):
    matching = client.propose(pool, available=["ann", "bob"])
    (game,) = matching.games
    assert sorted(game.players) == ["ann", "bob"]
    assert client.report(game.id, answers={"ann": "accepted"}).result == "noted"
    assert client.report(game.id, "played").result == "learnt"
    with pytest.raises(RefusedError) as refused:
        client.report(game.id, "cancelled")
    assert refused.value.kind == "contradicting-outcome"
    assert refused.value.fields["stored"]["outcome"] == "played"
    assert client.game(game.id).state == "played"
    assert client.matching(matching.id).games == [client.game(game.id)]
    stats = client.stats(pool)
    assert (stats.games.played, stats.feedback.contradicting) == (1, 1)
    (couple,) = client.estimates(pool, limit=10).couples
    assert (sorted(couple.players), couple.played) == (["ann", "bob"], 1)


def test_couples_kept_apart_are_not_proposed(client, pool):
    assert client.propose(pool, ["ann", "bob"], apart=[("ann", "bob")]).games == []


def test_players_who_are_gone_are_skipped_where_that_is_asked_for(client, pool):
    wanted, apart = ["ann", "bob", "gone"], [("ann", "away")]
    with pytest.raises(RefusedError, match="'gone' is not in pool"):
        client.propose(pool, wanted)
    matching = client.propose(pool, wanted, apart, unknown="skip")
    assert matching.skipped == ["gone", "away"]
    assert [sorted(game.players) for game in matching.games] == [["ann", "bob"]]


def test_released_games_are_taken_back(client, pool):
    released = client.release(client.propose(pool).id)
    assert [game.state for game in released.games] == ["released"]


def test_each_report_of_a_batch_has_its_result(client, pool):
    (game,) = client.propose(pool).games
    reports = [NewGameReport(game=id, outcome="played") for id in (game.id, f"{game.id}0")]
    good, bad = client.report_all(pool, reports).results
    assert good.result == "learnt"
    assert bad.result == "refused"
    assert bad.problem.type == "/problems/no-such-game"


def test_events_are_followed_as_they_happen(client, pool):
    seen = client.follow(pool, after=client.pool(pool).seq)
    client.join(pool, "newcomer")
    event = next(seen)
    assert (event.kind, event.body.players) == ("joined", ["newcomer"])
    client.delete_pool(pool)
    assert [each.kind for each in seen] == ["deleted"]


def test_a_stream_that_is_refused_says_why(client):
    with pytest.raises(RefusedError, match="no pool is called 'none'"):
        next(client.follow("none"))


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    """A service that nobody may use without a key."""
    running = Running(tmp_path_factory.mktemp("locked"), keys="required")
    yield running
    running.stop()


def test_the_key_is_sent(locked, make_client):
    with make_client(locked.url, key=locked.admin) as client:
        client.create_pool("chess")
        assert [each.name for each in client.pools()] == ["chess"]
        client.delete_pool("chess")
    with make_client(locked.url) as client, pytest.raises(RefusedError, match="key is needed"):
        list(client.pools())


def test_a_restart_of_the_service_is_not_noticed(tmp_path, make_client):
    running = Running(tmp_path)
    try:
        with make_client(running.url, patience=Patience(tries=12)) as client:
            client.create_pool("chess")
            running.kill()
            again = threading.Thread(target=running.start)
            again.start()
            assert client.join("chess", "ann").status == "waiting"
            again.join()
    finally:
        running.stop()


def test_threads_share_a_client(service):
    with Client(service.url) as client:
        client.create_pool("threads")
        names = [f"p{number}" for number in range(32)]
        threads = [threading.Thread(target=client.join, args=("threads", name)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(each.player for each in client.players("threads")) == sorted(names)


def test_operations_keep_their_signature_and_docstring(client):
    assert list(inspect.signature(Client.report).parameters) == [
        "self",
        "game",
        "outcome",
        "answers",
    ]
    with Client("localhost") as made:
        assert made.report.__doc__ == Client.report.__doc__
        assert made.report.__doc__.startswith("Report whether a game was played")


def test_the_documented_examples_run(service, capsys):
    blocking, asynchronous = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(blocking.replace("http://localhost:8000", service.url), {})
    assert "estimate=1.0" in capsys.readouterr().out
    exec(asynchronous.replace("http://localhost:8000", service.url), {})
    assert capsys.readouterr().out.startswith("2 games\n")
