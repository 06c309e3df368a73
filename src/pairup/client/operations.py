"""Operations of the service, defined once: `Client` blocks on them, `AsyncClient` awaits them."""

from __future__ import annotations

import functools
from collections.abc import (
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)
from urllib.parse import quote

from pairup.client.requests import Listing, Request, Stream
from pairup.service.api.schemas.events import EventPage, EventView
from pairup.service.api.schemas.games import (
    AllowedCouples,
    GameView,
    MatchingView,
    NewGameReport,
    ObservedGame,
    ObservedView,
    ProposalView,
    ReceiptBatch,
    ReceiptView,
)
from pairup.service.api.schemas.imports import ImportedRows, ImportView
from pairup.service.api.schemas.insight import EstimatesView, StatsView
from pairup.service.api.schemas.pools import (
    PlayerPage,
    PlayerResults,
    PlayerView,
    PoolItem,
    PoolPage,
    PoolView,
)
from pairup.service.api.schemas.problems import HealthView
from pairup.service.domain.events import (
    Answer,
    BatchWish,
    Outcome,
    PlayerStatus,
    PlayerWish,
    UnknownPlayers,
)

if TYPE_CHECKING:
    from pairup.client.client import AsyncClient, Client

# None removes an attribute.
AttributeValue: TypeAlias = float | str | Sequence[str] | Mapping[str, float] | None
P = ParamSpec("P")
T = TypeVar("T")
D_co = TypeVar("D_co", bound="Request[Any] | Listing[Any] | Stream[Any]", covariant=True)


class operation(Generic[P, D_co]):  # noqa: N801 - a decorator
    """A method that describes what to send, called as one that sends it.

    Described by a `Request` of a type, `Client` gives that type, and `AsyncClient` a coroutine of
    it. Described by a `Listing` or a `Stream`, they give an iterator and an asynchronous one.
    """

    def __init__(self, describe: Callable[Concatenate[Any, P], D_co]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], D_co]: ...
    @overload
    def __get__(self: operation[P, Request[T]], client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self: operation[P, Request[T]], client: AsyncClient, owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(
        self: operation[P, Listing[T] | Stream[T]], client: Client, owner: type
    ) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(
        self: operation[P, Listing[T] | Stream[T]], client: AsyncClient, owner: type
    ) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        """Return the method of a client; of a class, the description, which has the signature."""
        if client is None:
            return self._describe

        @functools.wraps(self._describe)
        def method(*args: Any, **kwargs: Any) -> Any:
            described = self._describe(client, *args, **kwargs)
            ways = {Request: client.send, Listing: client.pages, Stream: client.stream}
            return ways[type(described)](described)

        return method


class Operations:
    """Methods of both clients, one for each resource of the service.

    The return type names what is answered: ``Request[PoolView]`` means a `PoolView` from `Client`,
    and one to be awaited from `AsyncClient`; ``Listing[PoolItem]`` and ``Stream[EventView]`` mean
    iterators of them, asynchronous ones from `AsyncClient`.
    """

    # Pools

    @operation
    def create_pool(self, /, name: str, **rules: Any) -> Request[PoolView]:
        """Create a pool; `rules` are its policy, options, seed, lifetime_s and so on."""
        return Request("POST", "/v1/pools", PoolView, {"name": name, **rules})

    @operation
    def pools(self) -> Listing[PoolItem]:
        """List the pools that the key may read, page after page."""
        return Listing(Request("GET", "/v1/pools", PoolPage), lambda page: page.pools, _cursor)

    @operation
    def pool(self, pool: str) -> Request[PoolView]:
        """Show a pool."""
        return Request("GET", _path("pools", pool), PoolView)

    @operation
    def change_pool(self, /, pool: str, **rules: Any) -> Request[PoolView]:
        """Change rules of a pool."""
        return Request("PATCH", _path("pools", pool), PoolView, rules)

    @operation
    def delete_pool(self, pool: str) -> Request[None]:
        """Delete a pool."""
        return Request("DELETE", _path("pools", pool), type(None))

    # Players

    @operation
    def join(
        self,
        pool: str,
        player: str,
        status: PlayerWish | None = "waiting",
        attributes: Mapping[str, AttributeValue] | None = None,
    ) -> Request[PlayerView]:
        """Set whether a player waits or is away, and attributes; None removes one.

        With attributes and the status None, a player who is in the pool keeps their status.
        """
        path, body = _path("pools", pool, "players", player), _wish(status, attributes)
        return Request("PUT", path, PlayerView, body)

    @operation
    def leave(self, pool: str, player: str, forget: bool | None = None) -> Request[None]:
        """Remove a player; the pool's rules say whether what was learnt is forgotten.

        With `forget` it is, also if the player left before and was kept; otherwise it is not.
        """
        query = {"forget": None if forget is None else str(forget).lower()}
        return Request("DELETE", _path("pools", pool, "players", player), type(None), query=query)

    @operation
    def erase(self, pool: str, player: str) -> Request[None]:
        """Remove a player, forget what was learnt about them, and erase their name."""
        path, query = _path("pools", pool, "players", player), {"erase": "true"}
        return Request("DELETE", path, type(None), query=query)

    @operation
    def put_players(
        self,
        pool: str,
        wishes: Mapping[str, BatchWish | None],
        attributes: Mapping[str, Mapping[str, AttributeValue]] | None = None,
    ) -> Request[PlayerResults]:
        """Set whether several players wait, are away or leave; each has its result, in order.

        `attributes` has those that are set, by player; with the status None, players who are in
        the pool keep theirs.
        """
        given = attributes or {}
        players = [
            {"player": player, **_wish(status, given.get(player))}
            for player, status in wishes.items()
        ]
        return Request("POST", _path("pools", pool, "players"), PlayerResults, {"players": players})

    @operation
    def player(self, pool: str, player: str) -> Request[PlayerView]:
        """Show a player."""
        return Request("GET", _path("pools", pool, "players", player), PlayerView)

    @operation
    def players(self, pool: str, status: PlayerStatus | None = None) -> Listing[PlayerView]:
        """List the players of a pool, page after page: all, or those with a status."""
        path = _path("pools", pool, "players")
        first = Request("GET", path, PlayerPage, query={"status": status})
        return Listing(first, lambda page: page.players, _cursor)

    # Matchings and games

    @operation
    def propose(
        self,
        pool: str,
        available: Iterable[str] | None = None,
        apart: Iterable[Iterable[str]] = (),
        unknown: UnknownPlayers = "refuse",
        allowed: AllowedCouples | Mapping[str, Any] | None = None,
    ) -> Request[ProposalView]:
        """Ask for the next games, of all players who wait or of those who are available.

        Players who are gone are refused, or skipped: `skipped` of the result names them. `allowed`
        says who may meet, beside the rules of the pool; `unmatched` of the result counts those who
        stay waiting by the reason.
        """
        couples = [list(couple) for couple in apart]
        body: dict[str, object] = {"apart": couples, "unknown": unknown}
        if available is not None:
            body["available"] = list(available)
        if allowed is not None:
            body["allowed"] = AllowedCouples.model_validate(allowed).model_dump(exclude_none=True)
        return Request("POST", _path("pools", pool, "matchings"), ProposalView, body)

    @operation
    def matching(self, matching: str) -> Request[MatchingView]:
        """Show a matching with what became of its games."""
        return Request("GET", _path("matchings", matching), MatchingView)

    @operation
    def release(self, matching: str) -> Request[MatchingView]:
        """Take back the games of a matching that are still open; nothing is learnt from them."""
        return Request("POST", _path("matchings", matching, "release"), MatchingView)

    @operation
    def game(self, game: str) -> Request[GameView]:
        """Show a game."""
        return Request("GET", _path("games", game), GameView)

    @operation
    def report(
        self, game: str, outcome: Outcome | None = None, answers: Mapping[str, Answer] | None = None
    ) -> Request[ReceiptView]:
        """Report whether a game was played, what its players answered, or both."""
        body = {"outcome": outcome, "answers": dict(answers or {})}
        return Request("PUT", _path("games", game, "outcome"), ReceiptView, body)

    @operation
    def report_all(self, pool: str, reports: Iterable[NewGameReport]) -> Request[ReceiptBatch]:
        """Report several games at once; each report has its result, in order."""
        body = {"outcomes": list(reports)}
        return Request("POST", _path("pools", pool, "outcomes"), ReceiptBatch, body)

    @operation
    def observe(
        self, pool: str, games: Iterable[ObservedGame | Mapping[str, Any]]
    ) -> Request[ObservedView]:
        """Tell a pool in shadow of a round of another matchmaker; returns what it would have done.

        Each game has its two players, and an outcome, answers or both.
        """
        body = {"games": [ObservedGame.model_validate(game) for game in games]}
        return Request("POST", _path("pools", pool, "observed"), ObservedView, body)

    # Imports

    @operation
    def import_rows(
        self, pool: str, id: str, first: int, rows: ImportedRows
    ) -> Request[ImportView]:
        """Import games of the past, the rows of a source from row `first` on, each once.

        `pairup.client.history.import_history` sends a whole file.
        """
        path = _path("pools", pool, "imports", id, "rows", str(first))
        return Request("PUT", path, ImportView, rows.model_dump(exclude_none=True))

    @operation
    def import_progress(self, pool: str, id: str) -> Request[ImportView]:
        """Show how far an import has come."""
        return Request("GET", _path("pools", pool, "imports", id), ImportView)

    @operation
    def save_learner(self, pool: str) -> Request[bytes]:
        """Take a copy of the learner of a pool, which `Learner.from_bytes` reads."""
        return Request("GET", _path("pools", pool, "learner"), bytes)

    @operation
    def load_learner(self, pool: str, learner: bytes) -> Request[PoolView]:
        """Replace the pool's learner by one that `Learner.to_bytes` saved."""
        return Request("PUT", _path("pools", pool, "learner"), PoolView, learner)

    # Insight

    @operation
    def estimates(self, pool: str, limit: int | None = None) -> Request[EstimatesView]:
        """Show the players' estimated rates, and at most `limit` couples."""
        path = _path("pools", pool, "estimates")
        return Request("GET", path, EstimatesView, query={"limit": limit})

    @operation
    def stats(self, pool: str) -> Request[StatsView]:
        """Show what the pool counted, and how it compares with random pairing."""
        return Request("GET", _path("pools", pool, "stats"), StatsView)

    @operation
    def events(self, pool: str, after: int = 0) -> Listing[EventView]:
        """Read the log after an event, page after page, up to now."""
        first = Request("GET", _path("pools", pool, "events"), EventPage, query={"after": after})
        return Listing(
            first,
            lambda page: page.events,
            lambda page: None if page.next is None else {"after": page.next},
        )

    @operation
    def follow(self, pool: str, after: int = 0) -> Stream[EventView]:
        """Yield the events after one and then each as it happens, until the stream ends.

        It ends when the service stops or the pool is deleted: ask again with the last `seq`.
        """
        path = _path("pools", pool, "events", "stream")
        return Stream(Request("GET", path, EventView, query={"after": after}))

    @operation
    def ready(self) -> Request[HealthView]:
        """Ask whether requests can be served; a service that is not ready refuses."""
        return Request("GET", "/readyz", HealthView)


def _wish(
    status: BatchWish | None, attributes: Mapping[str, AttributeValue] | None
) -> dict[str, object]:
    wish: dict[str, object] = {} if status is None else {"status": status}
    return wish if attributes is None else {**wish, "attributes": dict(attributes)}


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def _cursor(page: PoolPage | PlayerPage) -> dict[str, object] | None:
    return None if page.next is None else {"cursor": page.next}
