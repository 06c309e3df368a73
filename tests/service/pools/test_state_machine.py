"""The service against a plain model of a pool, in any order of whatever can happen."""

import itertools

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from pairup.service.pools.service import Service
from pairup.service.store import Store
from tests.support.service.clock import SettableClock
from tests.support.service.journal import check_replayed
from tests.support.service.model_pool import ModelPool, max_couples
from tests.support.service.pools import Api

NAMES = st.sampled_from("abcdef")
SAID = st.sampled_from(["accepted", "declined", "timed_out", "unknown"])
# What may be known of a game of the past: who accepted, and whether it was played.
PAST = st.sampled_from(
    [
        ((None, None), True),
        ((None, None), False),
        ((True, True), None),
        ((True, None), True),
        ((True, False), None),
        ((True, None), False),
        ((False, None), None),
        ((None, False), False),
        ((False, False), None),
    ]
)
OUTCOMES = st.sampled_from([None, "played", "cancelled"])


class Machine(RuleBasedStateMachine):
    """One application for all runs; each run has a database of its own, and the clock."""

    def __init__(self, api, database):
        super().__init__()
        self.api, self.database = api, database
        api.clock = SettableClock()
        self.start()
        self.model = ModelPool()
        self.api.pool()
        self.model.tick(self.api.clock.now())
        self.keys = 0
        for player in "abc":
            self.join(player, "waiting")

    def start(self):
        before = self.api.service
        store = Store(str(self.database))
        service = Service(before.settings, store, self.api.clock, before.metrics)
        self.api.app.state.service = service

    def teardown(self):
        self.api.service.close()

    def tick(self):
        self.model.tick(self.api.clock.now())

    def post(self, path, status, body=None):
        """POST twice under one key: done once, answered alike."""
        self.keys += 1
        headers = {"Idempotency-Key": f"key-{self.keys}"}
        first = self.api("POST", path, status, json=body, headers=headers)
        if first.is_success:
            again = self.api("POST", path, status, json=body, headers=headers)
            assert again.text == first.text
        return first.json()

    @rule(player=NAMES, status=st.sampled_from(["waiting", "away"]))
    def join(self, player, status):
        self.tick()
        new = player not in self.model.players
        self.model.join(player, status)
        answer = self.api.join(player, status=status)
        assert answer.status_code == (201 if new else 200)
        assert answer.json()["status"] == self.model.status(player)

    @rule(
        wishes=st.lists(st.tuples(NAMES, st.sampled_from(["waiting", "away", "left"])), max_size=5)
    )
    def put_players(self, wishes):
        self.tick()
        sent = [{"player": player, "status": status} for player, status in wishes]
        told = self.post("/v1/pools/chess/players", 200, {"players": sent})["results"]
        first = dict(reversed(wishes))
        left = {name for name, wish in first.items() if wish == "left"} & set(self.model.players)
        for player in left:
            self.model.leave(player)
        for (player, status), result in zip(wishes, told, strict=True):
            before = None if player in left else self.model.players.get(player)
            if player not in first:
                expected = "refused"  # named twice
            elif status == "left":
                expected = "left" if player in left else "unchanged"
            elif before == status:
                expected = "unchanged"
            else:
                expected = "joined" if before is None else "moved"
                self.model.join(player, status)
            assert result["result"] == expected
            first.pop(player, None)

    @rule(player=NAMES)
    def leave(self, player):
        self.tick()
        self.api("DELETE", f"/v1/pools/chess/players/{player}", 204)
        if player in self.model.players:
            self.model.leave(player)

    @rule(data=st.data(), choose=st.booleans(), apart=st.lists(st.tuples(NAMES, NAMES), max_size=4))
    def propose(self, data, choose, apart):
        self.tick()
        players = self.model.waiting
        apart = [couple for couple in apart if set(couple) <= set(self.model.players)]
        apart = [couple for couple in apart if couple[0] != couple[1]]
        body = {"apart": apart}
        if choose and players:
            players = data.draw(st.lists(st.sampled_from(players), unique=True))
            body["available"] = players
        if len(players) < 2:
            told = self.post("/v1/pools/chess/matchings", 409, body)
            assert told["type"] == "/problems/too-few-players"
            return
        matching = self.post("/v1/pools/chess/matchings", 201, body)
        games = {game["id"]: tuple(sorted(game["players"])) for game in matching["games"]}
        forbidden = {frozenset(couple) for couple in apart}
        assert not forbidden & {frozenset(couple) for couple in games.values()}
        assert len(games) == max_couples(players, forbidden)
        coupled = [player for couple in games.values() for player in couple]
        assert sorted(coupled + matching["waiting"]) == sorted(players)
        self.model.propose(matching["id"], games)

    @precondition(lambda self: set(self.model.players) > set(self.model.waiting))
    @rule(data=st.data())
    def propose_who_does_not_wait(self, data):
        self.tick()
        busy = sorted(set(self.model.players) - set(self.model.waiting))
        if not busy:
            return
        one = data.draw(st.sampled_from(busy))
        told = self.post("/v1/pools/chess/matchings", 409, {"available": [one]})
        assert told["type"] == "/problems/players-not-waiting"
        assert told["players"] == {one: self.model.status(one)}

    def _drawn(self, data):
        id = data.draw(st.sampled_from(sorted(self.model.games)))
        players = self.model.games[id].players
        answers = data.draw(st.dictionaries(st.sampled_from([*players]), SAID))
        return id, data.draw(OUTCOMES), answers

    def _check(self, id, expected, told):
        game = self.model.games[id]
        if expected in ("invalid-request", "contradicting-outcome"):
            assert told["type"] == f"/problems/{expected}"
            return
        assert (told["result"], told["state"]) == (expected, game.state)
        assert (told["learnt"], told["cause"]) == (game.learnt, game.cause)
        assert told["answers"] == game.answers

    @precondition(lambda self: self.model.games)
    @rule(data=st.data())
    def report(self, data):
        self.tick()
        id, outcome, answers = self._drawn(data)
        expected = self.model.report(id, outcome, answers)
        status = {"invalid-request": 422, "contradicting-outcome": 409}.get(expected, 200)
        body = {"outcome": outcome, "answers": answers}
        self._check(
            id, expected, self.api.json("PUT", f"/v1/games/{id}/outcome", status, json=body)
        )

    @precondition(lambda self: self.model.games)
    @rule(data=st.data(), count=st.integers(1, 4))
    def report_many(self, data, count):
        self.tick()
        drawn = [self._drawn(data) for _ in range(count)]
        sent = [{"game": id, "outcome": o, "answers": answers} for id, o, answers in drawn]
        sent.insert(1, {"game": f"1-0-{'0' * 16}-0", "outcome": "played"})
        told = self.post("/v1/pools/chess/outcomes", 200, {"outcomes": sent})["results"]
        stranger = told.pop(1)
        assert stranger["problem"]["type"] == "/problems/no-such-game"
        before = [self.model.report(*each) for each in drawn]
        for (id, _, _), expected, result in zip(drawn, before, told, strict=True):
            assert result.get("problem", {}).get("type", result["result"]).endswith(expected)
            assert result["game"] == id

    @precondition(lambda self: self.model.games)
    @rule(data=st.data())
    def release(self, data):
        self.tick()
        ids = sorted({game.matching for game in self.model.games.values()})
        matching = data.draw(st.sampled_from(ids))
        self.model.release(matching)
        told = self.post(f"/v1/matchings/{matching}/release", 200)
        for game in told["games"]:
            assert game["state"] == self.model.games[game["id"]].state

    @rule(
        source=st.sampled_from(["one", "other"]),
        games=st.lists(st.tuples(st.permutations("abcdefgh"), PAST), min_size=1, max_size=4),
        ahead=st.sampled_from([0, 0, 0, -1, 1]),
    )
    def import_rows(self, source, games, ahead):
        self.tick()
        first = max(0, self.model.imports.get(source, 0) + ahead)
        rows = [(one, other, *said) for (one, other, *_), said in games]
        taken = self.model.import_rows(source, first, rows)
        players = sorted({player for row in rows for player in row[:2]})
        sent = {
            "rows": len(rows),
            "players": players,
            "player_a": [players.index(row[0]) for row in rows],
            "player_b": [players.index(row[1]) for row in rows],
            "accepted_a": [row[2][0] for row in rows],
            "accepted_b": [row[2][1] for row in rows],
            "played": [row[3] for row in rows],
        }
        path = f"/v1/pools/chess/imports/{source}/rows/{first}"
        told = self.api.json("PUT", path, 409 if first > taken else 200, json=sent)
        assert told["next"] == taken

    @rule(
        changes=st.fixed_dictionaries(
            {},
            optional={
                "lifetime_s": st.sampled_from([1, 60]),
                "unreported": st.sampled_from(["discard", "cancelled"]),
                "timeout_declines": st.booleans(),
                "after_game": st.sampled_from(["waiting", "playing"]),
            },
        )
    )
    def configure(self, changes):
        self.tick()
        self.model.rules.update(changes)
        shown = self.api.json("PATCH", "/v1/pools/chess", json=changes)
        assert {name: shown[name] for name in self.model.rules} == self.model.rules

    @rule(seconds=st.sampled_from([-3600, -2, 0.5, 1, 59.999999, 60, 86_400]))
    def jump(self, seconds):
        self.api.clock.advance(seconds)

    @rule(crash=st.booleans())
    def restart(self, crash):
        if crash:
            self.api.service.store.close()  # no snapshot is saved
        else:
            self.api.service.close()
        self.start()

    @rule()
    def replay(self):
        digest = self.api.json("GET", "/v1/pools/chess/digest")
        check_replayed(self.api.service.store, "chess", digest)

    @invariant()
    def served_as_expected(self):
        self.tick()
        model, stats = self.model, self.api.stats()
        page = self.api.json("GET", "/v1/pools/chess/players")["players"]
        assert {each["player"]: (each["status"], each["game"]) for each in page} == {
            player: (model.status(player), model.game_of(player)) for player in model.players
        }
        assert {name: count for name, count in stats["feedback"].items() if count} == {
            name: count for name, count in model.feedback.items() if count
        }
        games = stats["games"]
        for name in ("proposed", "played", "expired", "learnt"):
            assert games[name] == model.counts[name], name
        assert stats["matchings"] == model.counts["matchings"]
        assert stats["imported"] == model.counts["imported"]
        assert stats["reports"] == model.counts["reports"]
        assert {c: n for c, n in games["cancelled"].items() if n} == dict(model.causes)
        assert {c: n for c, n in games["released"].items() if n} == dict(model.taken_back)

    @invariant()
    def learnt_exactly_once(self):
        self.tick()
        couples, answers, pending = self.api.learner()
        model = self.model
        assert {couple: tuple(known) for couple, known in couples.items()} == model.couples
        assert answers == {player: model.answers_of(player) for player in model.players}
        open_games = [game.players for game in model.games.values() if game.state == "proposed"]
        assert sorted(tuple(sorted(couple)) for couple in pending) == sorted(open_games)


@pytest.fixture
def api(tmp_path):
    running = Api(str(tmp_path / "unused.db"), snapshot_every=5)
    first = running.service
    yield running
    running.app.state.service = first
    running.stop()


def test_the_service_does_what_the_model_does(api, tmp_path):
    numbers = itertools.count()

    def machine():
        return Machine(api, tmp_path / f"{next(numbers)}.db")

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=20,
            phases=[Phase.generate],
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
