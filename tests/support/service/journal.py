"""What clients were told, against the log: a bookkeeper that shares no code with the service."""

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import digest_of, read_snapshot
from tests.support.service.load import ERASED
from tests.support.service.rule_book import RuleBook


class Journal:
    """Everything that was acknowledged."""

    def __init__(self):
        self._lock = threading.Lock()
        self.matchings = {}  # by id, as answered
        self.receipts = []  # (what was sent, what was answered)
        self.refused = []  # games whose second outcome was refused
        self.keyed = []  # (path, body, key, status, text): what a repeat must get again
        self.joined, self.absent = [], []  # (pool, player): who joined, and whose request lost
        self.rows = {}  # (pool, source): rows that were imported
        self.gone = []  # (pool, player): who was erased

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

    def collided(self, won, lost, player):
        with self._lock:
            self.joined.append((won, player))
            self.absent.append((lost, player))

    def imported(self, pool, source, rows):
        with self._lock:
            self.rows[pool, source] = rows

    def erased(self, pool, player):
        with self._lock:
            self.gone.append((pool, player))

    def copy(self):
        """What was acknowledged until now: the log read after this must have it."""
        with self._lock:
            seen = Journal()
            for name, value in vars(self).items():
                if name != "_lock":
                    setattr(seen, name, value.copy())
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
    rows: dict = field(default_factory=Counter)  # source: rows that were imported
    seq: int = 0

    def add(self, event):
        """Take in the next event, which must be possible now."""
        assert event["seq"] == self.seq + 1, "the log has a gap"
        self.seq += 1
        kind, body = event["kind"], event["body"]
        named = set(filter(_stays, body.get("players", ())))
        if kind == "joined":
            assert not self.players & named
            self.players |= named
        elif kind == "left":
            assert self.players >= named
            self.players -= named
            for couple in [couple for couple in self.couples if set(couple) & named]:
                del self.couples[couple]
        elif kind == "imported":
            self._import(body)
        elif kind == "proposed":
            self._propose(body)
        elif kind == "decided":
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
        for game in body.get("games", ()):
            self.kinds[kind][game["id"] if kind == "proposed" else game] += 1

    def _import(self, body):
        assert body["first"] == self.rows[body["source"]], "rows were imported twice, or are lost"
        self.rows[body["source"]] += body["rows"]
        self.players |= set(filter(_stays, body["players"]))
        columns = (body[name] for name in ("player_a", "player_b", "played"))
        for one, other, played in zip(*columns, strict=True):
            couple = tuple(sorted((body["players"][one], body["players"][other])))
            if all(map(_stays, couple)):
                self.couples[couple][0] += 1
                self.couples[couple][1] += played

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


def _stays(player):
    """Whether a player is never erased: what others are called depends on when one looks."""
    return not player.startswith((ERASED, "erased:"))


def check_players(told, pool, book):
    """Who joined is there, whose request was refused is not, and all acknowledged rows are."""
    assert {player for where, player in told.joined if where == pool} <= book.players
    assert not {player for where, player in told.absent if where == pool} & book.players
    for (where, source), rows in told.rows.items():
        assert where != pool or book.rows[source] >= rows, "acknowledged rows are lost"


def check_erased(told, store, pool):
    """Nothing names players who were erased."""
    with store.reading() as transaction:
        number = transaction.pool_named(pool).number
        names = set(transaction.names(number, range(1, 100_000)).values())
    assert not {player for where, player in told.gone if where == pool} & names


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
        assert book.kinds["decided"][game] == 1, "a learnt outcome is in the log exactly once"
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
        if all(map(_stays, each["players"]))
    }
    assert served == dict(book.couples), "each outcome is learnt exactly once"
    return True


def check_replayed(store, pool, digest):
    """Each snapshot is what the log leads to, and the log leads to what was served.

    From its beginning, and from each snapshot on; no couple was proposed that its rules forbade at
    that moment. Returns the number of snapshots.
    """
    with store.reading(still=True) as transaction:
        number = transaction.pool_named(pool).number
        log = list(transaction.events(number))
        saved = [
            read_snapshot(number, each.head, each.body) for each in transaction.snapshots(number)
        ]
    replayed, compared, rules = Pool(number), {each.seq: each for each in saved}, RuleBook()
    for recorded in log:
        replayed.replay(recorded)
        rules.add(recorded)
        if found := compared.pop(recorded.seq, None):
            assert found.head == replayed.head
            assert digest_of(found) == digest_of(replayed), "a snapshot differs from its log"
        if recorded.seq == digest["seq"]:
            assert digest_of(replayed) == digest["digest"], (
                "the replay differs from what was served"
            )
    assert not compared, "a snapshot is ahead of its log"
    assert not rules.forbidden, "a forbidden couple was proposed"
    for begun in saved:
        for recorded in log[begun.seq : digest["seq"]]:
            begun.replay(recorded)
        if begun.seq == digest["seq"]:
            assert digest_of(begun) == digest["digest"], "a snapshot leads elsewhere"
    return len(saved)
