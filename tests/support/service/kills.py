"""Kills: service processes die with -9, again and again, and nothing acknowledged is lost."""

import random
import threading
import time

from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.journal import (
    Book,
    Journal,
    check_acknowledged,
    check_erased,
    check_players,
    check_replayed,
    check_served,
)
from tests.support.service.load import POOLS, Client, Insistent, set_up
from tests.support.service.processes import Process

_SETTINGS = {"sweep_s": 0.1, "snapshot_every": 40, "log_level": "warning", "graceful_s": 5}
_REPEATS = 6


class Campaign:
    """Processes on one database, clients of them, and the books kept of what they were told.

    Clients work for at most `work_s` between two kills.
    """

    def __init__(self, database, folder, processes=2, clients=4, seed=0, work_s=0.35):
        self._random, self._work_s = random.Random(seed), work_s
        self.processes = [
            Process(database, folder / f"log{number}", **_SETTINGS) for number in range(processes)
        ]
        for process in self.processes:
            process.start()
            assert process.wait(), process.said()
        urls = [process.url for process in self.processes]
        self._ask = Insistent(urls)
        self._asks = [Insistent([url]) for url in urls]
        set_up(self._ask)
        self._store = Store(database)
        self.journal, self._gate, self._end = Journal(), threading.Event(), threading.Event()
        self._books = {pool: Book() for pool in POOLS}
        self.clients = [
            Client(number, urls, self.journal, self._gate, self._end) for number in range(clients)
        ]
        self.audits = self.snapshots = 0
        for client in self.clients:
            client.start()

    def kill_once(self):
        """Let clients work, kill at some moment, start again, and look at everything."""
        self._gate.set()
        time.sleep(self._random.uniform(0.02, self._work_s))
        doomed = [each for each in self.processes if self._random.random() < 0.6]
        for process in doomed or [self._random.choice(self.processes)]:
            process.kill()
        if len(self.processes) > 1:
            time.sleep(self._random.uniform(0.0, 0.1))  # the others go on
        self._gate.clear()
        for process in self.processes:
            if not process.alive:
                process.start()
        for process in self.processes:
            assert process.wait(), process.said()
        self.audit()

    def audit(self):
        told = self.journal.copy()
        for client in self.clients:
            if client.failure:
                raise client.failure
        for ask in self._asks:
            for pool in POOLS:
                self._audit_pool(ask, pool)
            self._repeat(ask, told)
        known = {id for book in self._books.values() for id in book.matchings}
        assert set(told.matchings) <= known, "an acknowledged matching is lost"
        for pool, book in self._books.items():
            check_acknowledged(told, book)
            check_players(told, pool, book)
            check_erased(told, self._store, pool)
        self.audits += 1

    def _audit_pool(self, ask, pool):
        book, digest = self._books[pool], ask("GET", f"/v1/pools/{pool}/digest").json()
        while True:
            self._read_on(ask, pool, book)
            if check_served(ask, pool, book):
                break
        self.snapshots += check_replayed(self._store, pool, digest)

    def _read_on(self, ask, pool, book):
        more = True
        while more:
            page = ask("GET", f"/v1/pools/{pool}/events?after={book.seq}&limit=1000").json()
            for event in page["events"]:
                book.add(event)
            more = page["next"] is not None

    def _repeat(self, ask, told):
        """Send requests again that were answered before: under the same key the same answer."""
        for path, body, key, status, text in self._random.sample(
            told.keyed, min(_REPEATS, len(told.keyed))
        ):
            again = ask("POST", path, body, key)
            assert (again.status_code, again.text) == (status, text), path
            assert again.headers["idempotent-replay"] == "true"

    def finish(self):
        """Let the clients get their last answers, and compare all there is."""
        self._gate.set()
        self._end.set()
        for client in self.clients:
            client.join(60)
            assert not client.is_alive()
        self.audit()
        proposed = {id for book in self._books.values() for id in book.matchings}
        assert proposed == set(self.journal.matchings), "a retry proposed a second matching"
        assert [process.stop() for process in self.processes] == [0] * len(self.processes)
        assert all(found.error == "" for found in verify(self._store))
        return {
            "kills": sum(process.kills for process in self.processes),
            "requests": sum(client.requests for client in self.clients),
            "matchings": len(self.journal.matchings),
            "outcomes": len(self.journal.receipts),
            "learnt": sum(len(book.learnt) for book in self._books.values()),
            "events": sum(book.seq for book in self._books.values()),
            "collisions": len(self.journal.joined),
            "imported rows": sum(self.journal.rows.values()),
            "erasures": len(self.journal.gone),
            "audits": self.audits,
            "snapshots": self.snapshots,
            "replays": self.snapshots + self.audits * len(POOLS) * len(self.processes),
        }

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure:
            print(*(process.said() for process in self.processes), sep="\n")
        self._end.set()
        for client in self.clients:
            client.join(60)
        for process in self.processes:
            process.stop()
        for ask in (self._ask, *self._asks):
            ask.close()
        self._store.close()


class Script:
    """A short history with every kind of commit, the same each time but for ids and times."""

    def __init__(self, database, folder, die_at):
        self.process = Process(database, folder / "log", **{**_SETTINGS, "snapshot_every": 4})
        self._ask = Insistent([self.process.url], self._again)
        self._database, self._keys, self.deaths = database, 0, 0
        self.process.start(die_at)
        if not self.process.wait():
            self._again()

    def _again(self):
        """Start the process that died."""
        if self.process.died() is None:
            raise AssertionError(f"it does not answer: {self.process.said()}")
        assert self.process.died() == -9, self.process.said()
        self.deaths += 1
        self.process.start()
        assert self.process.wait(), self.process.said()

    def _post(self, path, status, body=None):
        self._keys += 1
        answer = self._ask("POST", path, body, key=f"key-{self._keys}")
        assert answer.status_code == status, answer.text
        return answer.json()

    def _put(self, path, body):
        answer = self._ask("PUT", path, body)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def play(self):
        """Do it all; returns what happened in the end, and whether the process died."""
        rules = {"constraints": [{"kind": "block", "attribute": "blocked"}], "max_wait_s": 3600}
        self._post("/v1/pools", 201, {"name": "chess", "lifetime_s": 3600, **rules})
        for player in "abcde":
            self._put(f"/v1/pools/chess/players/{player}", {})
        self._put("/v1/pools/chess/players/a", {"attributes": {"blocked": ["z"], "rating": 5}})
        first = self._post("/v1/pools/chess/matchings", 201)
        one, other = first["games"]
        self._put(f"/v1/games/{one['id']}/outcome", {"outcome": "played"})
        answers = dict(zip(other["players"], ("accepted", "declined"), strict=True))
        self._put(f"/v1/games/{other['id']}/outcome", {"answers": answers})
        for _ in range(2):
            matching = self._post("/v1/pools/chess/matchings", 201, {"apart": [["a", "b"]]})
            sent = [{"game": game["id"], "outcome": "played"} for game in matching["games"]]
            again = [sent[0], {**sent[0], "outcome": "cancelled"}]
            told = self._post("/v1/pools/chess/outcomes", 200, {"outcomes": sent + again})
            results = [each["result"] for each in told["results"]]
            assert results == ["learnt"] * len(sent) + ["repeated", "refused"]
        released = self._post("/v1/pools/chess/matchings", 201, {"available": ["a", "b"]})
        self._post(f"/v1/matchings/{released['id']}/release", 200)
        assert self._ask("PATCH", "/v1/pools/chess", {"unreported": "cancelled"}).is_success
        assert self._ask("PATCH", "/v1/pools/chess", {"lifetime_s": 0.05}).is_success
        self._post("/v1/pools/chess/matchings", 201, {"available": ["c", "d"]})
        while self._ask("GET", "/v1/pools/chess").json()["open_games"]:
            time.sleep(0.02)
        assert self._ask("DELETE", "/v1/pools/chess/players/e").status_code == 204
        self._put("/v1/pools/chess/players/f", {"status": "away"})
        return self._end()

    def _end(self):
        digest = self._ask("GET", "/v1/pools/chess/digest").json()
        self._ask.close()
        status = self.process.stop()
        assert status in (0, -9), self.process.said()
        self.deaths += status == -9
        store = Store(self._database)
        try:
            check_replayed(store, "chess", digest)
            (verdict,) = verify(store)
            assert verdict.error == ""
            with store.reading() as transaction:
                number = transaction.pool_named("chess").number
                log = list(transaction.events(number))
        finally:
            store.close()
        return _happened(number, log), self.deaths


def _happened(number, log):
    """What the script leads to, whoever was coupled with whom, and however often it was told.

    A policy that lost its sampler with its process goes on from what was observed, in its own way.
    """
    from pairup.service.domain.pool import replay

    pool = replay(number, log)
    again = {"buckets", "explored", "reports", "repeated"}
    counted = {name: count for name, count in vars(pool.counters).items() if name not in again}
    return counted, pool.players.wishes, pool.learner.pending, pool.learner.players
