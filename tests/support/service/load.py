"""Clients that use a service as backends do, and insist until they are answered."""

import random
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import httpx

POOLS = {
    "discarding": {  # with the default policy, whose prior is learned, and rules on who meets
        "lifetime_s": 1.0,
        "constraints": [
            {
                "kind": "distance",
                "attribute": "rating",
                "at_most": 150,
                "relax": [{"after_s": 0.5, "at_most": 300}],
            },
            {"kind": "block", "attribute": "blocked", "relax": [{"after_s": 3}]},
            {"kind": "cooldown", "games": 1, "relax": [{"after_s": 1}]},
        ],
        "worth": [{"kind": "distance", "attribute": "rating", "half_at": 100}],
        "fairness": {"floor": 0.5},
        "max_wait_s": 2,
    },
    "counting": {"policy": "unimodal", "lifetime_s": 0.7, "unreported": "cancelled"},
}
PLAYERS = 9
ERASED = "gone"  # begins what players are called who will be erased
_PATIENCE_S = 45
_BUSY = ("busy", "pool-busy")
_LOST = ("not-ready", "owner-lost", "store-unavailable")
_SAID = ("accepted", "declined", "timed_out", "unknown")


class Insistent:
    """Sends a request, the very same again if need be, until some process answers it."""

    def __init__(self, urls, on_down=lambda: time.sleep(0.02), seed=0):
        self._urls, self._on_down = urls, on_down
        self._client = httpx.Client(timeout=20, trust_env=False, verify=False)
        self._random, self._busy = random.Random(seed), {f"/problems/{slug}" for slug in _BUSY}

    def __call__(self, method, path, json=None, key=None):
        headers = {"Idempotency-Key": key} if key else {}
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            url = self._random.choice(self._urls)
            try:
                answer = self._client.request(method, url + path, json=json, headers=headers)
            except httpx.TransportError:
                assert time.monotonic() < deadline, f"nobody answers {method} {path}"
                self._on_down()
                continue
            busy = answer.status_code in (409, 503) and answer.json()["type"] in self._busy
            if busy and time.monotonic() < deadline:
                continue
            assert answer.status_code < 500, answer.text
            return answer

    def expect_stops(self, timeout_s):
        """Ask again, and soon, where a process may have been stopped and lost its sessions."""
        self._client.timeout = timeout_s
        self._busy |= {f"/problems/{slug}" for slug in _LOST}

    def close(self):
        self._client.close()


def set_up(ask):
    """Make the pools with their players."""
    for name, rules in POOLS.items():
        answer = ask("POST", "/v1/pools", {"name": name, **rules}, key=f"make-{name}")
        assert answer.status_code == 201, answer.text
        for player in range(PLAYERS):
            attributes = {"rating": 50 * player}
            ask("PUT", f"/v1/pools/{name}/players/p{player}", {"attributes": attributes})


class Client(threading.Thread):
    """A backend that works while `gate` is set, until `end` is set."""

    def __init__(self, number, urls, journal, gate, end):
        super().__init__(daemon=True)
        self._ask, self._journal = Insistent(urls, seed=number), journal
        self._twin, self._thread = Insistent(urls, seed=100 + number), ThreadPoolExecutor(1)
        self._number, self._gate, self._end = number, gate, end
        self._random = random.Random(1_000 + number)
        self._rows = dict.fromkeys(POOLS, 0)  # of this client's imports
        self._named = 0  # players whom it made up
        self.failure = None
        self.requests = 0

    def run(self):
        try:
            while not self._end.is_set():
                if self._gate.wait(0.1):
                    self._act(self._random.choice(list(POOLS)))
        except BaseException as error:
            self.failure = error
        finally:
            self._thread.shutdown()
            self._ask.close()
            self._twin.close()

    def _post(self, path, body=None):
        """POST under a key, now and then twice: the second answer must be the first."""
        key = self._new_key()
        answer = self._ask("POST", path, body, key)
        self.requests += 1
        if answer.is_success:
            self._journal.answered(path, body, key, answer)
            if self._random.random() < 0.2:
                again = self._ask("POST", path, body, key)
                assert (again.status_code, again.text) == (answer.status_code, answer.text)
        return answer

    def _new_key(self):
        return uuid.UUID(int=self._random.getrandbits(128)).hex

    def _new_name(self, prefix):
        self._named += 1
        return f"{prefix}{self._number}-{self._named}"

    def _act(self, pool):
        others = (self._churn, self._collide, self._import, self._erase)
        if self._random.random() < 0.3:
            self._random.choice(others)(pool)
            return
        luck = self._random.uniform(0.15, 1.0)
        body = {"apart": [["p0", "p1"]]} if luck < 0.3 else None
        answer = self._post(f"/v1/pools/{pool}/matchings", body)
        if answer.status_code == 409:
            assert answer.json()["type"] == "/problems/too-few-players", answer.text
            return
        assert answer.status_code == 201, answer.text
        matching = answer.json()
        self._journal.proposed(matching)
        self._report(pool, matching)

    def _churn(self, pool):
        """Let this client's own player join or leave, or be away."""
        path = f"/v1/pools/{pool}/players/own{self._number}"
        luck = self._random.random()
        if luck < 0.4:
            answer = self._ask("DELETE", path)
            assert answer.status_code == 204, answer.text
        else:
            self._put_own(path, "away" if luck < 0.6 else "waiting", f"p{self._number}")
        self.requests += 1

    def _put_own(self, path, status, blocked):
        """Let this client's own player be there, with another rating each time."""
        attributes = {"rating": self._random.randrange(500), "blocked": [blocked]}
        answer = self._ask("PUT", path, {"status": status, "attributes": attributes})
        assert answer.status_code in (200, 201), answer.text

    def _collide(self, _):
        """Use one key on both pools at once: one request wins, of the other there is no trace."""
        key, name, (one, other) = self._new_key(), self._new_name("met"), POOLS
        body = {"players": [{"player": name, "status": "away"}]}
        twin = self._thread.submit(self._twin, "POST", f"/v1/pools/{other}/players", body, key)
        told = {one: self._ask("POST", f"/v1/pools/{one}/players", body, key), other: twin.result()}
        self.requests += 2
        (won,) = [pool for pool, answer in told.items() if answer.status_code == 200]
        (lost,) = [pool for pool, answer in told.items() if answer.status_code == 422]
        assert told[lost].json()["type"] == "/problems/key-reused", told[lost].text
        self._journal.collided(won, lost, name)
        self._journal.answered(f"/v1/pools/{won}/players", body, key, told[won])

    def _import(self, pool, players=()):
        """Import the next games of this client's source."""
        first, source = self._rows[pool], f"source{self._number}"
        named = [*players, *self._random.sample([f"p{each}" for each in range(PLAYERS)], 3)][:3]
        sent = {"rows": 2, "players": named, "player_a": [0, 0], "player_b": [1, 2]}
        sent["played"] = [self._random.random() < 0.5 for _ in range(2)]
        answer = self._ask("PUT", f"/v1/pools/{pool}/imports/{source}/rows/{first}", sent)
        assert answer.status_code == 200, answer.text
        assert answer.json()["next"] == first + 2
        self.requests += 1
        self._rows[pool] += 2
        self._journal.imported(pool, source, first + 2)

    def _erase(self, pool):
        """Import games of a player who is erased then, also from the list of one who blocks it."""
        name = self._new_name(ERASED)
        self._import(pool, [name])
        if "constraints" in POOLS[pool]:
            self._put_own(f"/v1/pools/{pool}/players/own{self._number}", "away", name)
        answer = self._ask("DELETE", f"/v1/pools/{pool}/players/{name}?erase=true")
        assert answer.status_code == 204, answer.text
        self.requests += 1
        self._journal.erased(pool, name)

    def _report(self, pool, matching):
        luck, games = self._random.random(), matching["games"]
        if luck < 0.1:
            answer = self._post(f"/v1/matchings/{matching['id']}/release")
            assert answer.status_code == 200, answer.text
        elif luck < 0.2:
            return  # nobody reports: the games expire
        elif luck < 0.6:
            sent = [{"game": game["id"], **self._outcome(game)} for game in games]
            answer = self._post(f"/v1/pools/{pool}/outcomes", {"outcomes": sent})
            assert answer.status_code == 200, answer.text
            for one, receipt in zip(sent, answer.json()["results"], strict=True):
                self._journal.reported(one, receipt)
        else:
            for game in games:
                self._put(game)

    def _put(self, game):
        body = self._outcome(game)
        for sent in (body, *([self._outcome(game)] if self._random.random() < 0.3 else [])):
            answer = self._ask("PUT", f"/v1/games/{game['id']}/outcome", sent)
            self.requests += 1
            told = answer.json()
            if answer.status_code == 409:
                told = {"result": "refused", "problem": told}
            else:
                assert answer.status_code == 200, answer.text
            self._journal.reported({"game": game["id"], **sent}, told)

    def _outcome(self, game):
        if self._random.random() < 0.5:
            return {"outcome": "played" if self._random.random() < 0.5 else "cancelled"}
        some = game["players"] if self._random.random() < 0.6 else game["players"][:1]
        return {"answers": {player: self._random.choice(_SAID) for player in some}}
