"""A client of the service, typed; nothing to install beside pairup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast
from urllib.parse import quote

from pairup.client import types
from pairup.client.transport import Patience, RefusedError, Transport, UnreachableError

__all__ = ["Client", "Patience", "RefusedError", "UnreachableError", "answers"]


class Client:
    """A service, as Python sees it: a method for each resource.

    A request that finds nobody, or a service that is unavailable for the moment, is sent again a
    few times with growing pauses. That is safe: a POST carries an idempotency key of its own.
    Threads may share a client; their requests take turns.

    Parameters
    ----------
    url : str
        Of the service.
    key : str or None
        An API key, where the service needs one.
    patience : Patience
        How often a request is sent before it counts as lost.

    Raises
    ------
    ClientError
        The address is none. Every method: `RefusedError` with the problem that the service
        answered, `UnreachableError` where it did not answer.

    Examples
    --------
    >>> from pairup.client import Client
    >>> with Client("localhost:8000") as client:
    ...     print(client.url)
    http://localhost:8000
    """

    def __init__(self, url: str, key: str | None = None, patience: Patience | None = None) -> None:
        self._transport = Transport(url, key, patience or Patience())

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; a later request opens another."""
        self._transport.close()

    # Pools

    def create_pool(self, name: str, **rules: Any) -> types.PoolView:
        """Make a pool; `rules` are its policy, options, seed, lifetime_s and so on."""
        return self._transport.send("POST", "/v1/pools", {"name": name, **rules})

    def pools(self) -> Iterator[types.PoolItem]:
        """List the pools that the key may read, page after page."""
        return self._pages("/v1/pools", "pools")

    def pool(self, pool: str) -> types.PoolView:
        """Show a pool."""
        return self._transport.send("GET", _path("pools", pool))

    def change_pool(self, pool: str, **rules: Any) -> types.PoolView:
        """Change rules of a pool."""
        return self._transport.send("PATCH", _path("pools", pool), rules)

    def delete_pool(self, pool: str) -> None:
        """Delete a pool."""
        self._transport.send("DELETE", _path("pools", pool))

    # Players

    def join(
        self, pool: str, player: str, status: Literal["waiting", "away"] = "waiting"
    ) -> types.PlayerView:
        """Let a player join, wait again or be away."""
        path = _path("pools", pool, "players", player)
        return self._transport.send("PUT", path, {"status": status})

    def leave(self, pool: str, player: str) -> None:
        """Let a player leave; what was learnt about it is forgotten."""
        self._transport.send("DELETE", _path("pools", pool, "players", player))

    def player(self, pool: str, player: str) -> types.PlayerView:
        """Show a player."""
        return self._transport.send("GET", _path("pools", pool, "players", player))

    def players(self, pool: str, status: types.Status | None = None) -> Iterator[types.PlayerView]:
        """List the players of a pool, page after page, all or those who do this."""
        return self._pages(_path("pools", pool, "players"), "players", status=status)

    # Matchings and games

    def propose(
        self,
        pool: str,
        available: Sequence[str] | None = None,
        apart: Iterable[Sequence[str]] = (),
    ) -> types.MatchingView:
        """Ask for the next games, of everyone who waits or of those who are available."""
        body: dict[str, Any] = {"apart": [list(couple) for couple in apart]}
        if available is not None:
            body["available"] = list(available)
        return self._transport.send("POST", _path("pools", pool, "matchings"), body)

    def matching(self, matching: str) -> types.MatchingView:
        """Show a matching with what became of its games."""
        return self._transport.send("GET", _path("matchings", matching))

    def release(self, matching: str) -> types.MatchingView:
        """Take back the games of a matching that are open still: nothing is learnt of them."""
        return self._transport.send("POST", _path("matchings", matching, "release"))

    def game(self, game: str) -> types.GameView:
        """Show a game."""
        return self._transport.send("GET", _path("games", game))

    def report(
        self,
        game: str,
        outcome: types.Outcome | None = None,
        answers: Mapping[str, types.Said] | None = None,
    ) -> types.ReceiptView:
        """Report whether a game was played, what its players answered, or both."""
        body: dict[str, Any] = {"answers": dict(answers or {})}
        if outcome is not None:
            body["outcome"] = outcome
        return self._transport.send("PUT", _path("games", game, "outcome"), body)

    def report_all(
        self, pool: str, reports: Iterable[types.ReportedGame]
    ) -> list[types.ReceiptView | types.RefusedGame]:
        """Report several games at once; each gets its answer, in order."""
        body = {"outcomes": list(reports)}
        return self._transport.send("POST", _path("pools", pool, "outcomes"), body)["results"]

    # Insight

    def estimates(self, pool: str, limit: int | None = None) -> types.EstimatesView:
        """Show the players' estimated rates, and at most `limit` couples."""
        return self._transport.send(
            "GET", _path("pools", pool, "estimates"), query={"limit": limit}
        )

    def stats(self, pool: str) -> types.StatsView:
        """Show what the pool counted, and how it fares against random pairing."""
        return self._transport.send("GET", _path("pools", pool, "stats"))

    def events(self, pool: str, after: int = 0) -> Iterator[types.EventView]:
        """Read the log after an event, page after page, up to now."""
        while True:
            query = {"after": after}
            page = self._transport.send("GET", _path("pools", pool, "events"), query=query)
            yield from page["events"]
            if not page["more"]:
                return
            after = page["last"]

    def follow(self, pool: str, after: int = 0) -> Iterator[types.EventView]:
        """Yield the events after one and then each as it happens, until the stream ends.

        It ends when the service stops or the pool is deleted: ask again with the last `seq`.
        """
        for line in self._transport.stream(_path("pools", pool, "events"), {"after": after}):
            if line.startswith("data:"):
                yield cast(types.EventView, json.loads(line[5:]))

    def ready(self) -> bool:
        """Whether requests can be served."""
        return bool(self._transport.send("GET", "/readyz")["status"] == "ok")

    def _pages(self, path: str, what: str, **query: object) -> Iterator[Any]:
        cursor = None
        while True:
            page = self._transport.send("GET", path, query={**query, "cursor": cursor})
            yield from page[what]
            cursor = page["next"]
            if cursor is None:
                return


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)
