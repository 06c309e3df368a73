"""Service: one method for each use case, which routes, the dashboard and tests call.

In one file because it is the list of everything that a caller can ask of the service; the work is
done in the modules beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog

from pairup.errors import PairupError, ServiceError
from pairup.service.domain import events
from pairup.service.domain.events import (
    SECOND,
    BatchWish,
    Clock,
    PlayerWish,
    UnknownPlayers,
    WallClock,
)
from pairup.service.domain.games import pool_of
from pairup.service.domain.imports import PastGames
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import digest_of
from pairup.service.observability.metrics import Metrics
from pairup.service.pools import imports, observations, players, proposals, reports, views
from pairup.service.pools.access import PoolAccess
from pairup.service.pools.cache import UnreadablePoolError, unknown_pool
from pairup.service.pools.idempotency import KeyedRequest, Reply, names_player
from pairup.service.pools.observations import ObservedGame
from pairup.service.pools.ownership import Ownership
from pairup.service.pools.players import Wish
from pairup.service.pools.proposals import Allowed
from pairup.service.pools.reports import GameReport
from pairup.service.pools.unit_of_work import UnitOfWork
from pairup.service.pools.warmup import warm_up
from pairup.service.problems import MisdirectedError, RefusalError
from pairup.service.rate_limits import RateLimits
from pairup.service.settings import Settings
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreFullError

T = TypeVar("T")
View = dict[str, Any]
_RECOUNT_S = 3600.0  # seconds until idempotent replies are counted again
log = structlog.get_logger()


class Service:
    """All pools of a store, which `close` closes.

    Pools are called by name. Views are what responses show, as `api.schemas` describes it. A use
    case that takes a `KeyedRequest` is done once, however often the request is sent.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings, self.store = settings, store
        self.clock = clock or WallClock()
        self.metrics = metrics or Metrics(settings.max_metric_pools)
        self.limits = RateLimits(settings, self.metrics)
        self.pools = PoolAccess(settings, store, self.clock, self.metrics, self.limits)
        self.notices = self.pools.notices
        self._read_only = False
        self._to_empty = True  # whether erased names may remain in the write-ahead log
        self._recount_at = 0.0  # by the monotonic clock

    # Pools

    def create_pool(
        self,
        name: str,
        rules: dict[str, Any],
        request: KeyedRequest | None = None,
        by: str | None = None,
    ) -> Reply:
        """Create a pool with some rules, the others by default; `by` is the name of a key."""
        try:
            complete = Rules.of(rules)
            complete.check_options()
            complete.check_meetings()
            policy = complete.make_policy()
        except PairupError as error:
            raise RefusalError("invalid-request", str(error)) from None
        warm_up(policy)
        return self.pools.create(name, complete, request, by)

    def configure_pool(self, name: str, rules: dict[str, Any], by: str | None = None) -> View:
        """Change rules of a pool; a new policy learns what is known of the couples."""

        def configure(work: UnitOfWork) -> View:
            if changes := _changes(work.pool, rules):
                players.check_rules(work.pool, work.pool.rules.with_changes(changes))
                work.add(events.Configured(changes, by))
            return views.pool(work.pool)

        def policy_after(pool: Pool, _: Transaction) -> Any:
            return pool.rules.with_changes(_changes(pool, rules)).make_policy()

        if {"policy", "options"} & rules.keys():  # compiled before the pool is locked for it
            warm_up(self.read(name, policy_after))
        return self.pools.change(name, configure)

    def delete_pool(self, name: str, by: str | None = None) -> None:
        """Delete a pool: its name is free again, open games are released; its log stays stored.

        To delete it again changes nothing.
        """

        def delete(work: UnitOfWork) -> None:
            if work.pool.games:
                opened = [list(game) for game in work.pool.games]
                work.add(events.Released(opened, "deleted"))
            work.add(events.Deleted(by))

        try:
            try:
                self.pools.change(name, delete)
            except UnreadablePoolError:
                self.pools.delete_unread(name, by)
        except RefusalError as refusal:
            with self.store.reading() as transaction:
                if refusal.slug != "no-such-pool" or not transaction.deleted_pools(name):
                    raise

    def show_pool(self, name: str) -> View:
        """Show a pool."""
        return self.read(name, lambda pool, _: views.pool(pool))

    def show_digest(self, name: str) -> View:
        """Show a digest of the whole state of a pool."""
        return self.read(name, lambda pool, _: {"seq": pool.seq, "digest": digest_of(pool)})

    def list_pools(
        self, may_read: Callable[[str], bool], after: str, limit: int
    ) -> tuple[list[PoolRow], bool]:
        """List pools that may be read, by name; returns also whether there are more."""
        found = list[PoolRow]()
        with self.store.reading() as transaction:
            while len(found) <= limit:
                rows = transaction.pools(after, limit + 1)
                found += [row for row in rows if may_read(row.name)]
                if len(rows) <= limit:
                    break
                after = rows[-1].name
        return found[:limit], len(found) > limit

    def pool_number(self, name: str) -> int:
        """Return the number of the pool of this name, or refuse."""
        with self.store.reading() as transaction:
            row = transaction.pool_named(name)
        if row is None:
            raise unknown_pool(name)
        return row.number

    def pool_of(self, id: str) -> str | None:
        """Return the name of the pool that the id of a matching or a game names, if there is one.

        The pool need not have such a matching or game.
        """
        number = pool_of(id)
        with self.store.reading() as transaction:
            row = None if number is None else transaction.pool(number)
        return row.name if row else None

    # Players

    def put_player(
        self,
        pool: str,
        player: str,
        status: PlayerWish | None = "waiting",
        attributes: Mapping[str, Any] | None = None,
    ) -> tuple[View, bool]:
        """Set whether a player waits or is away; returns the player, and whether they joined.

        Attributes that are given are set, and removed where they are None.
        """
        wish = Wish(player, status, attributes)
        return self.pools.change(pool, partial(players.put_player, wish=wish))

    def put_players(
        self,
        pool: str,
        wanted: Iterable[Wish | tuple[str, BatchWish]],
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Set whether players wait, are away or leave; each is answered as if sent alone."""
        command = partial(players.put_players, wanted=[Wish(*each) for each in wanted])
        return self.pools.change_once(pool, command, request)

    def remove_player(self, pool: str, player: str, forget: bool | None = None) -> None:
        """Remove a player; what was learnt about them is forgotten, or kept for a return."""
        command = partial(players.remove_player, player=player, forget=forget)
        self.pools.change(pool, command)

    def erase_player(self, pool: str, player: str) -> bool:
        """Remove a player, forget what was learnt about them, and erase what they are called.

        Also in pools of that name that were deleted. Logs stay as they are, and no longer say who
        they were about. Replies that name the player are erased after the name, so that none is
        kept meanwhile. Returns whether a player was called so.
        """
        with self.store.reading() as transaction:
            numbers = transaction.deleted_pools(pool)
            named = {each: transaction.numbers_of(each, player) for each in numbers}
        found = [self._erase_name(each, called) for each, called in named.items() if called]
        try:
            found += [self.pools.change(pool, partial(players.erase_player, player=player))]
            numbers += [self.pool_number(pool)]
        except RefusalError as refusal:
            if refusal.slug != "no-such-pool" or not numbers:
                raise
        for number in numbers:
            self._erase_replies(number, player)
        self.empty_log()
        return any(found)

    def _erase_name(self, number: int, called: list[int]) -> bool:
        """Erase what players of a deleted pool were called, whose log goes on no more."""
        with self.store.writing() as transaction:
            transaction.erase_names(number, called)
        return True

    def _erase_replies(self, number: int, player: str) -> None:
        """Erase the replies that name a player, some at a time, so that nobody waits for it."""
        last = "", ""
        while True:
            with self.store.reading() as transaction:
                replies = transaction.replies_about(number, last)
            if not replies:
                return
            last = list(replies)[-1]
            if named := [each for each, text in replies.items() if names_player(text, player)]:
                with self.store.writing() as transaction:
                    transaction.empty_replies(named)

    def empty_log(self) -> bool:
        """Empty the write-ahead log, in which erased names may remain.

        Returns whether that is so: while others read, it is tried again later.
        """
        try:
            self._to_empty = not self.store.empty_write_ahead_log()
        except ServiceError:  # others have the database: the player is erased nevertheless
            self._to_empty = True
        return not self._to_empty

    def show_player(self, pool: str, player: str) -> View:
        """Show a player."""
        find = proposals.find_player
        return self.read(pool, lambda found, _: views.player(found, find(found, player)))

    def list_players(
        self, pool: str, status: str | None, after: str, limit: int
    ) -> tuple[list[View], bool]:
        """List players by name, those after a name; returns also whether there are more."""

        def show(found: Pool, _: Transaction) -> tuple[list[View], bool]:
            players, names = found.players, found.names
            wanted = (each for each in players if status in (None, players.status(each)))
            named = sorted((names[each], each) for each in wanted if names[each] > after)
            return [views.player(found, each) for _, each in named[:limit]], len(named) > limit

        return self.read(pool, show)

    # Matchings

    def propose(
        self,
        pool: str,
        available: list[str] | None = None,
        apart: Sequence[list[str]] = (),
        unknown: UnknownPlayers = "refuse",
        allowed: Allowed | None = None,
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Propose a matching of the players who wait, or of those `available`."""
        began = time.perf_counter()
        who = partial(proposals.propose, available=available, apart=apart)
        command = partial(who, unknown=unknown, allowed=allowed)
        reply = self.pools.change_once(pool, command, request)
        if not reply.replayed:
            self.metrics.pools.time_proposal(pool, time.perf_counter() - began)
        return reply

    def release(self, pool: str, matching: str, request: KeyedRequest | None = None) -> Reply:
        """Take back the games of a matching that are still open: nothing is learnt from them."""
        command = partial(proposals.release, matching=matching)
        return self.pools.change_once(pool, command, request)

    def show_matching(self, pool: str, matching: str) -> View:
        """Show a matching with what became of its games."""
        return self.read(pool, partial(proposals.show_matching, matching=matching))

    # Games

    def report_outcome(self, pool: str, report: GameReport) -> View:
        """Record a report of a game."""
        return self.pools.change(pool, partial(reports.report_outcome, sent=report))

    def report_outcomes(
        self, pool: str, given: Sequence[GameReport], request: KeyedRequest | None = None
    ) -> Reply:
        """Record reports of several games; each is answered as if it had been sent alone."""
        command = partial(reports.report_outcomes, reports=given)
        return self.pools.change_once(pool, command, request)

    def observe(
        self, pool: str, games: Sequence[ObservedGame], request: KeyedRequest | None = None
    ) -> Reply:
        """Learn a round of another matchmaker, in a pool in shadow."""
        command = partial(observations.observe, games=games)
        return self.pools.change_once(pool, command, request)

    def show_game(self, pool: str, game: str) -> View:
        """Show a game."""
        return self.read(pool, partial(reports.show_game, game=game))

    # Imports

    def import_games(self, pool: str, source: str, first: int, rows: int, games: PastGames) -> View:
        """Learn the next games of a source; those that were learnt before change nothing."""
        imports.check_rows(rows, games)
        command = partial(imports.import_games, source=source, first=first, rows=rows, games=games)
        return self.pools.change(pool, command)

    def show_import(self, pool: str, source: str) -> View:
        """Show how far an import has come."""

        def show(found: Pool, _: Transaction) -> View:
            if source not in found.imports:
                raise imports.unknown_import(found, source)
            return views.import_progress(found, source)

        return self.read(pool, show)

    def save_learner(self, pool: str) -> bytes:
        """Return the learner of a pool as `Learner.to_bytes` saves it."""
        return self.read(pool, lambda found, _: imports.save_learner(found))

    def load_learner(self, pool: str, data: bytes, by: str | None = None) -> View:
        """Replace the pool's learner by a saved one."""
        learner = imports.read_learner(data, self.settings.max_players)

        def load(work: UnitOfWork) -> View:
            imports.load_learner(work, learner, by)
            return views.pool(work.pool)

        return self.pools.change(pool, load)

    # Insight

    def estimates(self, pool: str, max_couples: int) -> View:
        """Show what the learner estimates."""
        return self.read(pool, lambda found, _: views.estimates(found, max_couples))

    def stats(self, pool: str, max_games: int) -> View:
        """Show what the pool counted, and how it fares against random pairing."""
        return self.read(pool, lambda found, _: views.stats(found, max_games, self.clock.now()))

    def events(self, pool: str, after: int, limit: int) -> View:
        """Show a page of the log, also of a pool that cannot be read."""
        with suppress(UnreadablePoolError):
            self.read(pool, lambda *_: None)  # games that are due expire first
        return self.follow(self.pool_number(pool), after, limit)

    def follow(self, number: int, after: int, limit: int) -> View:
        """Show a page of the log of a pool that may have been deleted meanwhile.

        Refused where event `after` has not happened, also because the log was replaced.
        """
        with self.store.reading() as transaction:
            row = transaction.any_pool(number)
            if after > row.seq:
                raise RefusalError(
                    "invalid-request",
                    f"event {after} has not happened, the last one is {row.seq}: go on from there, "
                    "and if you have seen it, a copy of the database was restored",
                    {"last": row.seq},
                )
            return views.events(row, transaction, after, limit)

    def read(self, pool: str, query: Callable[[Pool, Transaction], T]) -> T:
        """Look at a pool as it is now, in one transaction."""
        return self.pools.read(pool, query)

    def show_metrics(self, may_read: Callable[[str], bool]) -> bytes:
        """Show the metrics; of single pools, those that exist and may be read."""

        def may_show(pool: str) -> bool:
            if not may_read(pool):
                return False
            with suppress(ServiceError), self.store.reading() as transaction:
                if transaction.pool_named(pool) is None:
                    self.metrics.pools.labels.forget(pool)
                    return False
            return True

        self.measure_pools()
        return self.metrics.expose(may_show)

    # Several processes

    def share_pools(self, address: str) -> None:
        """Serve only some of the pools from now on, other processes the others."""
        self.pools.cache.ownership = Ownership(self.store, address, self.notices.tell)

    def leave(self) -> None:
        """End the streams, save the pools, and let other processes serve them at once."""
        self.notices.end()
        if (ownership := self.pools.cache.ownership) is not None:
            self._save_pools()
            ownership.leave()

    # What is done without a request

    def warm_up(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Compile the policies and read the pools that the first requests will need."""
        warm_up(Rules().make_policy())
        if (ownership := self.pools.cache.ownership) is not None and not stopping():
            ownership.join()
        with self.store.reading() as transaction:
            rows = transaction.pools("", self.settings.cached_pools)
        for row in rows:
            if stopping():
                return
            try:
                warm_up(self.read(row.name, lambda pool, _: pool.rules.make_policy()))
            except MisdirectedError:
                continue
            except (RefusalError, ServiceError) as error:  # the others can still be served
                log.warning("pool not read", pool=row.name, why=str(error))

    def expire_games(self) -> None:
        """Expire games that are due, in all pools, unless nothing can be stored."""
        if not self.read_only():
            self.pools.expire_games()

    def watch_streams(self) -> None:
        """Look for events that streams must send and no notice has named."""
        self.notices.watch(self.store, self.clock.now())

    def measure_pools(self, update: bool = False) -> None:
        """Collect what the pools in memory keep; with `update`, after what others have changed."""
        self.metrics.unreadable_pools.set(self.pools.cache.unreadable)
        metrics, cached = self.metrics.pools, {each.name: each for each in self.pools.cache}
        for name in metrics.labels:
            if name not in cached:
                metrics.hide(name)
                continue
            with suppress(RefusalError, ServiceError):  # of which each request tells
                self.pools.glance(cached[name], partial(metrics.show, now=self.clock.now()), update)

    def forget_replies(self) -> None:
        """Forget idempotent replies that are older than the settings say, and erased names."""
        if self._to_empty:
            self.empty_log()
        now, kept = self.clock.now(), round(self.settings.keep_replies_s * SECOND)
        more = True
        while more:  # some at a time, so that others can write in between
            with self.store.writing(into_reserve=True) as transaction:
                more = transaction.drop_replies(now - kept, now + kept)
        if self.pools.replies.any_full or time.monotonic() > self._recount_at:
            self._recount_at = time.monotonic() + _RECOUNT_S
            with self.store.reading() as transaction:
                self.pools.replies.recount(transaction.count_replies())

    def read_only(self) -> str:
        """Return why nothing can be stored now; empty if it can."""
        why = ""
        try:
            self.store.check_room()
        except StoreFullError as error:
            why = error.public
        if bool(why) != self._read_only:
            self._read_only = bool(why)
            self.metrics.read_only.set(self._read_only)
            log.warning("read-only" if why else "writable again", why=why)
        return why

    def close(self) -> None:
        """Save every pool in memory, so that the next start is fast, and close the store."""
        self._save_pools()
        if self.pools.cache.ownership is not None:
            self.pools.cache.ownership.close()
        self.store.close()

    def _save_pools(self) -> None:
        for cached in self.pools.cache:
            try:
                self.pools.save(cached)
            except ServiceError as error:  # the log has it all: only the next start is slower
                log.warning("snapshot not written", pool=cached.name, why=str(error))


def _changes(pool: Pool, wanted: dict[str, Any]) -> dict[str, Any]:
    """Pick the rules that differ from those of the pool, or refuse rules that cannot be."""
    try:
        return pool.rules.changes(wanted, len(pool.players))
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from error
