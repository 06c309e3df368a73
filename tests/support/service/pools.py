"""The service under test: its application in this process, with a clock that tests set."""

import asyncio
import itertools
import threading

import httpx

from pairup.service.app import create_app
from pairup.service.settings import Settings
from tests.support.service.clock import SettableClock


class Api:
    """A running application, and a client of it."""

    def __init__(self, database, clock=None, **settings):
        self.database, self.clock, self.settings = database, clock or SettableClock(), settings
        self.start()

    def start(self):
        settings = Settings(database=self.database, **{"sweep_s": 3600, **self.settings})
        self.app = create_app(settings, self.clock)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._life = self.app.router.lifespan_context(self.app)
        self._run(self._life.__aenter__())
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost")

    def wait(self):
        """Wait until it is ready."""
        assert self.app.state.ready.wait(120)

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def stop(self):
        if self._loop.is_closed():
            return
        self.wait()  # nobody closes the connection that its start uses still
        self._run(self._client.aclose())
        self._run(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def restart(self, crash=False, meanwhile=None):
        """Start again, after a shutdown in order, or without one."""
        if crash:
            self.service.close = self.service.store.close  # nothing is saved
        self.stop()
        if meanwhile:
            meanwhile()
        self.start()

    @property
    def service(self):
        return self.app.state.service

    def __call__(self, method, path, status=None, **options):
        """Send a request; what is not the expected status fails the test."""
        answer = self._run(self._client.request(method, path, **options))
        assert answer.status_code != 500 or status == 500, answer.text  # the log has the error
        if status is not None:
            assert answer.status_code == status, f"{method} {path}: {answer.text}"
        return answer

    def together(self, count, method, path, also=(), **options):
        """Send the same request several times at the same moment, then GET others besides."""

        async def send():
            requests = [self._client.request(method, path, **options) for _ in range(count)]
            requests += [self._client.get(path) for path in also]
            return await asyncio.gather(*requests)

        return self._run(send())

    def json(self, method, path, status=200, **options):
        return self(method, path, status, **options).json()

    # What most tests begin with

    def pool(self, name="chess", players="", **rules):
        self("POST", "/v1/pools", 201, json={"name": name, **rules})
        for player in players:
            self.join(player, name)
        return name

    def join(self, player, pool="chess", status="waiting"):
        return self("PUT", f"/v1/pools/{pool}/players/{player}", json={"status": status})

    def status(self, player, pool="chess"):
        return self.json("GET", f"/v1/pools/{pool}/players/{player}")["status"]

    def propose(self, pool="chess", **wanted):
        return self.json("POST", f"/v1/pools/{pool}/matchings", 201, json=wanted)

    def game(self, pool="chess", **wanted):
        """Propose, and return the first game."""
        return self.propose(pool, **wanted)["games"][0]

    def report(self, game, outcome=None, status=200, **answers):
        body = {"outcome": outcome, "answers": answers}
        return self.json("PUT", f"/v1/games/{game['id']}/outcome", status, json=body)

    def stats(self, pool="chess"):
        return self.json("GET", f"/v1/pools/{pool}/stats")

    def kinds(self, pool="chess"):
        """List the kinds of the events of a pool."""
        page = self.json("GET", f"/v1/pools/{pool}/events?limit=1000")
        return [event["kind"] for event in page["events"]]

    def learner(self, pool="chess"):
        """Show what the learner of a pool knows: outcomes by couple, and answers by player."""
        return self.service.read(pool, lambda found, _: _known(found.learner, found.names))


def _known(learner, names):
    couples = {
        tuple(sorted(names[p] for p in each.couple)): each[1:] for each in learner.estimates()
    }
    state = learner._running.state
    answers = {}
    if hasattr(state, "declined"):
        for player in learner.players:
            slot = learner._roster.slot(player)
            answers[names[player]] = (int(state.accepted[slot]), int(state.declined[slot]))
    pending = {
        tuple(sorted(names[p] for p in couple)): count for couple, count in learner.pending.items()
    }
    return couples, answers, pending


def couples_of(matching):
    return {tuple(sorted(game["players"])) for game in matching["games"]}


names = (f"player-{number}" for number in itertools.count())
