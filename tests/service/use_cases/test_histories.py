"""Random histories: what is served is what the log says, byte for byte."""

import random

import pytest

from pairup.service.domain.game_record import project
from pairup.service.domain.pool import replay
from pairup.service.operations.verify import verify
from tests.support.service.pools import Api

ANSWERS = ("accepted", "declined", "timed_out", "unknown")


class History:
    """Lets things happen to a pool, in the order that a seed draws."""

    def __init__(self, api, seed, **rules):
        self.api, self.draw = api, random.Random(seed)
        self.games, self.learnt = [], {}
        api.pool(lifetime_s=20, **rules)

    def go_on(self, steps):
        for _ in range(steps):
            self.draw.choice(
                [
                    self.join,
                    self.join,
                    self.leave,
                    self.propose,
                    self.report,
                    self.report,
                    self.report,
                    self.wait,
                    self.release,
                ]
            )()
            self.check()

    def join(self):
        player = f"p{self.draw.randrange(14)}"
        self.api.join(player, status=self.draw.choice(["waiting", "waiting", "away"]))

    def leave(self):
        if self.draw.random() < 0.4:
            self.api("DELETE", f"/v1/pools/chess/players/p{self.draw.randrange(14)}")

    def propose(self):
        waiting = self.api.json("GET", "/v1/pools/chess/players?status=waiting")["players"]
        names = [each["player"] for each in waiting]
        wanted = {}
        if self.draw.random() < 0.3:
            wanted["available"] = self.draw.sample(names, self.draw.randrange(len(names) + 1))
        if self.draw.random() < 0.5 and len(names) > 1:
            wanted["apart"] = [self.draw.sample(names, 2) for _ in range(3)]
        answer = self.api("POST", "/v1/pools/chess/matchings", json=wanted)
        assert answer.status_code in (201, 409)
        if answer.status_code == 201:
            for game in answer.json()["games"]:
                assert sorted(game["players"]) not in map(sorted, wanted.get("apart", []))
                self.games.append(game)

    def report(self):
        if not self.games:
            return
        sent = []
        for game in self.draw.choices(self.games[-8:], k=self.draw.randrange(1, 4)):
            report = {"game": game["id"]}
            if self.draw.random() < 0.4:
                report["outcome"] = self.draw.choice(["played", "cancelled"])
            else:
                some = self.draw.sample(game["players"], self.draw.randrange(3))
                report["answers"] = {player: self.draw.choice(ANSWERS) for player in some}
            sent.append(report)
        answer = self.api.json("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})
        for result in answer["results"]:
            if result["result"] == "learnt":
                assert result["game"] not in self.learnt
                self.learnt[result["game"]] = result["state"]

    def wait(self):
        self.api.clock.advance(self.draw.choice([1, 8, 25]))

    def release(self):
        if self.games and self.draw.random() < 0.3:
            game = self.draw.choice(self.games[-6:])
            self.api("POST", f"/v1/matchings/{game['matching']}/release", 200)

    def check(self):
        """Nobody is in two open games, and all that was acknowledged is still so."""
        stats = self.api.stats()
        players = [player for game in stats["open_games"] for player in game["players"]]
        assert len(set(players)) == len(players) == stats["players"]["proposed"]
        assert stats["games"]["learnt"] >= len(self.learnt)

    def finish(self):
        for game, state in self.learnt.items():
            shown = self.api.json("GET", f"/v1/games/{game}")
            assert (shown["state"], shown["learnt"]) == (state, True)


def served(api):
    service = api.service
    return service.read("chess", lambda pool, _: pool.to_bytes())


def projected(id, log):
    records = {}
    for recorded in log:
        project(records, id, recorded)
    return records


def compare_with_the_log(api):
    """What is served, and the records of games, are what the log says."""
    store, id = api.service.store, api.service.pool_id("chess")
    bytes_served = served(api)
    with store.reading() as transaction:
        log = list(transaction.events(id))
        assert replay(id, log).to_bytes() == bytes_served
        assert transaction.games_in(id) == projected(id, log)
    decided = [each.event.game for each in log if each.event.kind == "decided"]
    assert len(set(decided)) == len(decided)
    assert [verdict.error for verdict in verify(store)] == [""]


@pytest.mark.parametrize("seed", range(2))
def test_a_replay_gives_what_is_served(api, seed):
    history = History(api, seed, unreported="cancelled" if seed else "discard")
    history.go_on(150)
    compare_with_the_log(api)
    assert len(history.learnt) > 5
    history.finish()


@pytest.mark.parametrize("policy", ["rank_one_thompson", "unimodal", "uniform"])
def test_restarts_change_nothing(tmp_path, policy):
    api = Api(str(tmp_path / "pools.db"), snapshot_every=7)
    try:
        history = History(api, 5, policy=policy, timeout_declines=True)
        for crash in (False, True, True):
            history.go_on(30)
            before = served(api)
            api.restart(crash=crash)
            assert served(api) == before
        compare_with_the_log(api)
        history.finish()
    finally:
        api.stop()


def test_a_restart_reads_the_end_of_the_log_only(tmp_path, monkeypatch):
    api = Api(str(tmp_path / "pools.db"))
    try:
        History(api, 1).go_on(40)
        api.restart()
        applied = []
        monkeypatch.setattr("pairup.service.domain.pool.Pool.apply", lambda *_: applied.append(1))
        served(api)
        assert applied == []
    finally:
        api.stop()


def test_a_replay_gives_what_is_served_after_changes_of_policy(lone):
    history = History(lone, 2)
    for policy in ("unimodal", "rank_one_thompson", "epsilon_greedy"):
        history.go_on(25)
        lone("PATCH", "/v1/pools/chess", 200, json={"policy": policy})
    history.go_on(25)
    compare_with_the_log(lone)


def test_two_services_on_one_database_agree(postgres):
    first = Api(postgres.new_database())
    second = Api(first.database, first.clock)
    try:
        history = History(first, 3)
        for _ in range(30):
            history.go_on(2)
            history.api = second if history.api is first else first
        assert served(first) == served(second)
        compare_with_the_log(second)
    finally:
        first.stop()
        second.stop()
