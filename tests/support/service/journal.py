"""What clients were told, against the log: a bookkeeper that shares no code with the service."""

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import read_snapshot


class Journal:
    """Everything that was acknowledged."""

    def __init__(self):
        self._lock = threading.Lock()
        self.matchings = {}  # by id, as answered
        self.receipts = []  # (what was sent, what was answered)
        self.refused = []  # games whose second outcome was refused
        self.keyed = []  # (path, body, key, status, text): what a repeat must get again

    def proposed(self, matching):
        with self._lock:
            assert matching["id"] not in self.matchings
            self.matchings[matching["id"]] = matching

    def reported(self, sent, receipt):
        with self._lock:
            if receipt["result"] == "refused":
                kind = receipt["problem"]["type"]
                assert kind == "/problems/contradicting-outcome", receipt
                self.refused.append(sent["game"])
            else:
                self.receipts.append((sent, receipt))

    def answered(self, path, body, key, answer):
        with self._lock:
            self.keyed.append((path, body, key, answer.status_code, answer.text))

    def copy(self):
        """What was acknowledged until now: the log read after this must have it."""
        with self._lock:
            seen = Journal()
            seen.matchings, seen.receipts = dict(self.matchings), list(self.receipts)
            seen.refused, seen.keyed = list(self.refused), list(self.keyed)
            return seen


@dataclass
class Book:
    """What the events of a pool say, added up by hand."""

    open: dict = field(default_factory=dict)  # game: players
    matchings: dict = field(default_factory=dict)  # id: couples by game
    learnt: dict = field(default_factory=dict)  # game: whether it was played
    couples: dict = field(default_factory=lambda: defaultdict(lambda: [0, 0]))
    kinds: dict = field(default_factory=lambda: defaultdict(Counter))  # kind: count by game
    players: set = field(default_factory=set)
    seq: int = 0

    def add(self, event):
        """Take in the next event, which must be possible now."""
        assert event["seq"] == self.seq + 1, "the log has a gap"
        self.seq += 1
        kind, body = event["kind"], event["body"]
        named = body.get("players") or [body.get("player")]
        if kind in ("joined", "players_joined"):
            assert not self.players & set(named)
            self.players |= set(named)
        elif kind in ("left", "players_left"):
            assert self.players >= set(named)
            self.players -= set(named)
            for couple in [couple for couple in self.couples if set(couple) & set(named)]:
                del self.couples[couple]
        elif kind == "proposed":
            self._propose(body)
        elif kind == "decided":
            self._learn(body["game"], body["played"])
        elif kind == "games_decided":
            for game, played in zip(body["games"], body["played"], strict=True):
                self._learn(game, played)
        elif kind == "released":
            for game in body["games"]:
                del self.open[game]
        elif kind == "expired":
            for game in body["games"]:
                if body["counts_as"] == "cancelled":
                    self._learn(game, False)
                else:
                    del self.open[game]
        for game in [*(body.get("games") or [body.get("game")]), *body.get("others", ())]:
            self.kinds[kind][game if isinstance(game, str) else None] += 1

    def _propose(self, body):
        busy = [player for players in self.open.values() for player in players]
        assert body["matching"] not in self.matchings, "a matching was proposed twice"
        games = {game["id"]: tuple(sorted(game["players"])) for game in body["games"]}
        coupled = [player for players in games.values() for player in players]
        assert len({*busy, *coupled}) == len(busy) + len(coupled), "a player is in two open games"
        assert set(coupled) <= self.players
        self.open |= games
        self.matchings[body["matching"]] = games

    def _learn(self, game, played):
        assert game not in self.learnt, "an outcome was learnt twice"
        players = self.open.pop(game)
        self.learnt[game] = played
        self.couples[players][0] += 1
        self.couples[players][1] += played


def check_acknowledged(told, book):
    """Everything that was acknowledged is in the log, once."""
    for id, matching in told.matchings.items():
        games = {game["id"]: tuple(sorted(game["players"])) for game in matching["games"]}
        if id in book.matchings:
            assert book.matchings[id] == games
    known = {game for games in book.matchings.values() for game in games}
    for sent, receipt in told.receipts:
        if receipt["game"] in known:
            _check_receipt(sent, receipt, book)
    for game in set(told.refused) & known:
        assert book.kinds["contradicted"][game] >= 1


def _check_receipt(sent, receipt, book):
    game, result = receipt["game"], receipt["result"]
    assert receipt["learnt"] == (game in book.learnt) or receipt["state"] == "proposed"
    if receipt["learnt"] and receipt["state"] in ("played", "cancelled"):
        times = book.kinds["decided"][game] + book.kinds["games_decided"][game]
        assert times == 1, "a learnt outcome is in the log exactly once"
        assert book.learnt[game] == (receipt["state"] == "played")
    if result == "late":
        assert book.kinds["late"][game] >= 1
    elif result == "noted":
        assert book.kinds["answered"][game] + book.kinds["noted"][game] >= 1
    elif result == "repeated":
        assert book.kinds["repeated"][game] >= 1


def check_served(ask, pool, book):
    """What is served is what the log says, as of the same event."""
    stats = ask("GET", f"/v1/pools/{pool}/stats").json()
    estimates = ask("GET", f"/v1/pools/{pool}/estimates?limit=10000").json()
    after = ask("GET", f"/v1/pools/{pool}/stats").json()
    if not stats["seq"] == after["seq"] == book.seq:
        return False  # something happened meanwhile: read on, and look again
    assert stats["games"]["learnt"] == len(book.learnt)
    assert {game["id"] for game in stats["open_games"]} == set(book.open)
    served = {
        tuple(sorted(each["players"])): [each["proposed"], each["played"]]
        for each in estimates["couples"]
    }
    assert served == dict(book.couples), "each outcome is learnt exactly once"
    return True


def check_replayed(store, pool, digest):
    """The whole log, and each snapshot with the rest of the log, give what was served."""
    with store.reading() as transaction:
        id = transaction.pool_named(pool).id
        log = [each for each in transaction.events(id) if each.seq <= digest["seq"]]
        snapshots = list(transaction.snapshots(id))
    for begun in [Pool(id), *(read_snapshot(id, seq, body) for seq, _, body in snapshots)]:
        if begun.seq > digest["seq"]:
            continue
        for recorded in log[begun.seq :]:
            begun.apply(recorded)
        assert begun.digest == digest["digest"], "the replay differs from what was served"
    return len(snapshots)
