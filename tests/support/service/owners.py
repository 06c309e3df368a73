"""Owners of pools: processes on one PostgreSQL that are killed, stopped and resumed under load."""

import os
import signal
import threading
import time

import psycopg

from pairup.service.maintenance.verify import verify
from pairup.service.pools import ownership
from pairup.service.store import Store
from tests.support.service.journal import Book, Journal, check_acknowledged
from tests.support.service.load import Client, Insistent
from tests.support.service.processes import Process
from tests.support.service.running import free_port

_SETTINGS = {"sweep_s": 0.2, "snapshot_every": 200, "log_level": "warning", "graceful_s": 5}
_PLAYERS = 12
_LOOK_S = 0.05
# Every append is noted, with the session that made it and the owner of the pool at that moment.
_AUDIT = """
CREATE TABLE appends (pool bigint, seq bigint, session text, owner text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO appends VALUES (NEW.number, NEW.seq, current_setting('application_name'), NEW.owner);
  RETURN NEW;
END $$;
CREATE TRIGGER noting AFTER UPDATE OF seq ON pools FOR EACH ROW EXECUTE FUNCTION note();
"""


def shorten_leases():
    """Let a process notice in a second that another one has ended."""
    ownership.LEASE_S, ownership._RENEW_S = 1.0, 0.2


class OwnerClient(Client):
    """A backend that proposes and reports in many pools."""

    def __init__(self, pools, number, urls, journal, gate, end):
        super().__init__(number, urls, journal, gate, end)
        self._pools = pools
        for insistent in (self._ask, self._twin):
            insistent.expect_stops(3.0)

    def _act(self, _):
        pool = self._random.choice(self._pools)
        answer = self._post(f"/v1/pools/{pool}/matchings")
        if answer.status_code == 409:
            assert answer.json()["type"] == "/problems/too-few-players", answer.text
            return
        assert answer.status_code == 201, answer.text
        matching = answer.json()
        self._journal.proposed(matching)
        self._report(pool, matching)


class Owners:
    """Processes that share pools, clients of them, and what is checked in the end."""

    def __init__(self, database, folder, processes, pools, clients, before=None):
        self._database, self._before, self._lock = database, before, threading.Lock()
        self.processes = [
            Process(database, folder / f"log{number}", peer_port=free_port(), **_SETTINGS)
            for number in range(processes)
        ]
        for process in self.processes:
            process.start(before=before)
            assert process.wait(), process.said()
        self.urls = [process.url for process in self.processes]
        self.pools = [f"pool{number}" for number in range(pools)]
        self.sql = psycopg.connect(database, autocommit=True)
        self.sql.execute(_AUDIT)
        self._set_up()
        self.journal, self._gate, self._end = Journal(), threading.Event(), threading.Event()
        self.clients = [
            OwnerClient(self.pools, number, self.urls, self.journal, self._gate, self._end)
            for number in range(clients)
        ]
        for client in self.clients:
            client.start()

    def _set_up(self):
        ask = Insistent(self.urls)
        for pool in self.pools:
            rules = {"name": pool, "policy": "uniform", "lifetime_s": 5}
            ask("POST", "/v1/pools", rules, key=f"make-{pool}")
            players = [{"player": f"p{number}"} for number in range(_PLAYERS)]
            ask("POST", f"/v1/pools/{pool}/players", {"players": players}, key=f"join-{pool}")
        ask.close()

    def work(self, seconds):
        """Let the clients work for some time."""
        self._gate.set()
        time.sleep(seconds)

    def rest(self):
        """Let the clients pause."""
        self._gate.clear()

    @property
    def requests(self):
        return sum(client.requests for client in self.clients)

    def owned(self, process):
        """List the pools that a process owns."""
        address = f"http://127.0.0.1:{process.settings['peer_port']}"
        query = "SELECT name FROM pools JOIN processes ON id = owner WHERE address = %s"
        return [name for (name,) in self.sql.execute(query, [address]).fetchall()]

    def _take_over_s(self, process, pools):
        """Return the seconds until the others have written to each of these pools."""
        began, longest = time.monotonic(), 0.0
        ask = Insistent([url for url in self.urls if url != process.url])
        for pool in pools:
            answer = ask("PUT", f"/v1/pools/{pool}/players/probe", {"status": "away"})
            assert answer.is_success, answer.text
            longest = time.monotonic() - began
        ask.close()
        return longest

    def kill(self, process):
        """Kill an owner; returns how many pools it had, and when the last was served again."""
        pools = self.owned(process)
        process.kill()
        seconds = self._take_over_s(process, pools)
        return len(pools), seconds

    def restart(self, process):
        """Start a process that was killed, and wait until it serves pools again."""
        process.start(before=self._before)
        assert process.wait(), process.said()
        self._await_pools(process)

    def _await_pools(self, process):
        deadline = time.monotonic() + 60
        while not self.owned(process):
            assert time.monotonic() < deadline, process.said()
            time.sleep(_LOOK_S)

    def stop_and_resume(self, process, seconds):
        """Stop an owner until others have its pools, and for some seconds more, and resume it."""
        pools = self.owned(process)
        os.kill(process.pid, signal.SIGSTOP)
        try:
            took = self._take_over_s(process, pools)
            time.sleep(seconds)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        return len(pools), took

    def finish(self):
        """Let the clients end, stop all, and look at everything that was written."""
        self._end.set()
        for client in self.clients:
            client.join(90)
            assert not client.is_alive()
            if client.failure:
                raise client.failure
        spread = [len(self.owned(process)) for process in self.processes]
        books = self._read_logs()
        proposed = {id for book in books for id in book.matchings}
        assert proposed == set(self.journal.matchings), "lost, or proposed twice"
        for book in books:
            check_acknowledged(self.journal, book)
        assert [process.stop() for process in self.processes] == [0] * len(self.processes)
        by_others = "SELECT count(*) FROM appends WHERE seq > 1 AND session <> 'pairup ' || owner"
        assert self.sql.execute(by_others).fetchone() == (0,), "not the owner wrote"
        store = Store(self._database)
        assert {each.error for each in verify(store)} <= {""}
        store.close()
        return {
            "requests": self.requests,
            "matchings": len(self.journal.matchings),
            "outcomes": len(self.journal.receipts),
            "events": sum(book.seq for book in books),
            "owners": self.sql.execute(
                "SELECT count(DISTINCT session) FROM appends WHERE owner <> ''"
            ).fetchone()[0],
            "pools by process": spread,
        }

    def _read_logs(self):
        ask, books = Insistent(self.urls), []
        for pool in self.pools:
            book, more = Book(), True
            while more:
                path = f"/v1/pools/{pool}/events?after={book.seq}&limit=1000"
                page = ask("GET", path).json()
                for event in page["events"]:
                    book.add(event)
                more = page["next"] is not None
            books.append(book)
        ask.close()
        return books

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        self._end.set()
        if failure:
            print(*(process.said() for process in self.processes), sep="\n")
        for client in self.clients:
            client.join(90)
        for process in self.processes:
            process.stop()
        self.sql.close()
