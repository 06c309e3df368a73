"""Service: one method for each use case, which routes, the dashboard and tests call.

In one file because it is the list of everything that a caller can ask of the service; the work is
done in the modules beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog

from pairup.errors import PairupError, ServiceError
from pairup.service.domain import events
from pairup.service.domain.clock import SECOND, Clock, WallClock
from pairup.service.domain.game_record import GameRecord, MatchingRecord
from pairup.service.domain.game_report import Report
from pairup.service.domain.past_games import PastGames
from pairup.service.domain.pool import Pool
from pairup.service.domain.pool_rules import Rules
from pairup.service.domain.states import BatchWish, PlayerWish
from pairup.service.operations.metrics import Metrics
from pairup.service.operations.rate_limits import RateLimits
from pairup.service.operations.settings import Settings
from pairup.service.operations.warmup import warm_up
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.store.failures import StoreFullError
from pairup.service.use_cases import imports, player_changes, proposals, report_handling, views
from pairup.service.use_cases.idempotency import KeyedRequest, Reply
from pairup.service.use_cases.ids import check_not_archived, draw_ids
from pairup.service.use_cases.pool_access import PoolAccess
from pairup.service.use_cases.pool_cache import UnreadablePoolError, unknown_pool
from pairup.service.use_cases.unit_of_work import DrawIds, UnitOfWork

T = TypeVar("T")
View = dict[str, Any]
log = structlog.get_logger()


class Service:
    """All pools of a store, which `close` closes.

    Pools are called by name. Views are what answers show, as `api.schemas` describes it. A use case
    that takes a `KeyedRequest` is done once, however often the request is sent.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        new_ids: DrawIds = draw_ids,
    ) -> None:
        self.settings, self.store = settings, store
        self.clock = clock or WallClock()
        self.metrics = metrics or Metrics(settings.max_metric_pools)
        self.limits = RateLimits(settings, self.metrics)
        self.pools = PoolAccess(settings, store, self.clock, self.metrics, self.limits, new_ids)
        self._read_only = False
        self._recounted_at: float | None = None

    # Pools

    def create_pool(
        self, name: str, rules: dict[str, Any], request: KeyedRequest | None = None
    ) -> Reply:
        """Create a pool with some rules, the others by default."""
        try:
            complete = Rules.of(rules)
            complete.check_options()
            policy = complete.make_policy()
        except PairupError as error:
            raise RefusalError("invalid-request", str(error)) from None
        warm_up(policy)
        return self.pools.create(name, complete, request)

    def configure_pool(self, name: str, rules: dict[str, Any]) -> View:
        """Change rules of a pool; a new policy is told what is known of the couples."""

        def configure(work: UnitOfWork) -> View:
            if changes := _changes(work.pool, rules):
                work.add(events.Configured(changes))
            return views.pool(work.pool)

        def policy_after(pool: Pool, _: Transaction) -> Any:
            return pool.rules.with_changes(_changes(pool, rules)).make_policy()

        if {"policy", "options"} & rules.keys():  # compiled before the pool is locked for it
            warm_up(self.read(name, policy_after))
        return self.pools.change(name, configure)

    def delete_pool(self, name: str) -> None:
        """Delete a pool: its name is free again, open games are released; its log stays stored."""

        def delete(work: UnitOfWork) -> None:
            if work.pool.games:
                work.add(events.Released(list(work.pool.games), "deleted"))
            work.add(events.Deleted())

        try:
            self.pools.change(name, delete)
        except UnreadablePoolError:
            self.pools.delete_unread(name)

    def show_pool(self, name: str) -> View:
        """Show a pool."""
        return self.read(name, lambda pool, _: views.pool(pool))

    def show_digest(self, name: str) -> View:
        """Show a digest of the whole state of a pool."""
        return self.read(name, lambda pool, _: {"seq": pool.seq, "digest": pool.digest})

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

    def pool_id(self, name: str) -> str:
        """Return the id of the pool of this name, or refuse."""
        with self.store.reading() as transaction:
            return _row(transaction, name).id

    # Players

    def put_player(self, pool: str, player: str, status: PlayerWish) -> tuple[View, bool]:
        """Let a player join, wait or be away; returns the player, and whether they joined."""
        most = self.settings.max_players
        command = partial(player_changes.put_player, player=player, status=status, max_players=most)
        return self.pools.change(pool, command)

    def put_players(
        self,
        pool: str,
        wanted: Sequence[tuple[str, BatchWish]],
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Let players join, wait, be away or leave; each is answered as if it were sent alone."""
        most = self.settings.max_players
        command = partial(player_changes.put_players, wanted=wanted, max_players=most)
        return self.pools.change_once(pool, command, request)

    def remove_player(self, pool: str, player: str, forget: bool | None = None) -> None:
        """Let a player leave; what was learnt about them is forgotten, or kept for a return."""
        command = partial(player_changes.remove_player, player=player, forget=forget)
        self.pools.change(pool, command)

    def show_player(self, pool: str, player: str) -> View:
        """Show a player."""

        def show(found: Pool, _: Transaction) -> View:
            proposals.check_known(found, player)
            return views.player(found, player)

        return self.read(pool, show)

    def list_players(
        self, pool: str, status: str | None, after: str, limit: int
    ) -> tuple[list[View], bool]:
        """List players by name, those after a name; returns also whether there are more."""

        def show(found: Pool, _: Transaction) -> tuple[list[View], bool]:
            players = found.players
            wanted = (name for name in players if status in (None, players.status(name)))
            names = sorted(name for name in wanted if name > after)
            return [views.player(found, name) for name in names[:limit]], len(names) > limit

        return self.read(pool, show)

    # Matchings

    def propose(
        self,
        pool: str,
        available: list[str] | None = None,
        apart: Sequence[list[str]] = (),
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Propose a matching of the players who wait, or of those `available`."""
        began = time.perf_counter()
        command = partial(proposals.propose, available=available, apart=apart)
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

        def show(found: Pool, transaction: Transaction) -> View:
            record = transaction.matching(matching)
            if record is None or record.pool_id != found.id:
                raise proposals.unknown_matching(matching)
            return views.matching(found.name, record, transaction.games_of(matching))

        return self.read(pool, show)

    def pool_of_matching(self, matching: str) -> str | None:
        """Return the name of the pool of a matching, None if there is none."""
        return self._pool_of(matching, lambda transaction: transaction.matching(matching))

    # Games

    def report_outcome(self, pool: str, game: str, report: Report) -> View:
        """Take in a report of a game."""
        return self.pools.change(
            pool, partial(report_handling.report_outcome, game=game, report=report)
        )

    def report_outcomes(
        self, pool: str, given: Sequence[tuple[str, Report]], request: KeyedRequest | None = None
    ) -> Reply:
        """Take in reports of several games; each is answered as if it had been sent alone."""
        command = partial(report_handling.report_outcomes, reports=given)
        return self.pools.change_once(pool, command, request)

    def show_game(self, pool: str, game: str) -> View:
        """Show a game."""

        def show(found: Pool, transaction: Transaction) -> View:
            record = transaction.games([game]).get(game)
            if record is None or record.pool_id != found.id:
                raise report_handling.unknown_game(game)
            return views.game(record)

        return self.read(pool, show)

    def pool_of_game(self, game: str) -> str | None:
        """Return the name of the pool of a game, None if there is none."""
        return self._pool_of(game, lambda transaction: transaction.games([game]).get(game))

    def _pool_of(
        self, id: str, find: Callable[[Transaction], GameRecord | MatchingRecord | None]
    ) -> str | None:
        with self.store.reading() as transaction:
            record = find(transaction)
            if record is None:
                check_not_archived(id, transaction.archived_before())
                return None
            row = transaction.pool(record.pool_id)
        return row.name if row else None

    # Imports

    def import_games(self, pool: str, source: str, first: int, rows: int, games: PastGames) -> View:
        """Learn the next games of a source; those that were learnt before change nothing."""
        imports.check_rows(rows, games)
        command = partial(imports.import_games, source=source, first=first, rows=rows, games=games)
        return self.pools.change(pool, partial(command, max_players=self.settings.max_players))

    def show_import(self, pool: str, source: str) -> View:
        """Show how far an import has come."""

        def show(found: Pool, _: Transaction) -> View:
            if source not in found.imports:
                raise imports.unknown_import(found, source)
            return views.import_progress(found, source)

        return self.read(pool, show)

    def save_learner(self, pool: str) -> bytes:
        """Return the learner of a pool as `Learner.to_bytes` saves it."""
        return self.read(pool, lambda found, _: found.learner.to_bytes())

    def load_learner(self, pool: str, data: bytes) -> View:
        """Let a saved learner take the place of the pool's."""
        most = self.settings.max_players
        learner = imports.read_learner(data, most)

        def load(work: UnitOfWork) -> View:
            imports.load_learner(work, learner, most)
            return views.pool(work.pool)

        return self.pools.change(pool, load)

    # Insight

    def estimates(self, pool: str, max_couples: int) -> View:
        """Show what the learner estimates."""
        return self.read(pool, lambda found, _: views.estimates(found, max_couples))

    def stats(self, pool: str, max_games: int) -> View:
        """Show what the pool counted, and how it fares against random pairing."""
        return self.read(pool, lambda found, _: views.stats(found, max_games))

    def events(self, pool: str, after: int, limit: int) -> View:
        """Show a page of the log, also of a pool that cannot be read."""
        with suppress(UnreadablePoolError):
            self.read(pool, lambda *_: None)  # games that are due expire first
        with self.store.reading() as transaction:
            row = _row(transaction, pool)
            _check_happened(row, after)
            rows = transaction.raw_events(row.id, after, limit, lenient=True)
        shown = [views.event(each) for each in rows]
        last = shown[-1]["seq"] if shown else after
        return {"events": shown, "last": last, "next": last if shown and last < row.seq else None}

    def check_happened(self, pool: str, after: int) -> None:
        """Refuse an event that has not happened in a pool."""
        with self.store.reading() as transaction:
            _check_happened(_row(transaction, pool), after)

    def follow(self, pool_id: str, after: int, limit: int) -> list[View]:
        """List the next events of a pool that may have been deleted meanwhile."""
        with self.store.reading() as transaction:
            rows = transaction.raw_events(pool_id, after, limit, lenient=True)
        return [views.event(row) for row in rows]

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

        return self.metrics.expose(may_show)

    # What is done without a request

    def warm_up(self, stopping: Callable[[], bool] = lambda: False) -> None:
        """Compile the policies and read the pools that the first requests will need."""
        warm_up(Rules().make_policy())
        with self.store.reading() as transaction:
            rows = transaction.pools("", self.settings.cached_pools)
        for row in rows:
            if stopping():
                return
            try:
                warm_up(self.read(row.name, lambda pool, _: pool.rules.make_policy()))
            except (RefusalError, ServiceError) as error:  # the others can still be served
                log.warning("pool not read", pool=row.name, why=str(error))

    def expire_games(self) -> None:
        """Let games expire that are due in the pools in memory, unless nothing can be stored."""
        if self.read_only():
            return
        for cached in self.pools.cache:
            try:
                self.pools.expire_games(cached)
            except (RefusalError, ServiceError) as error:  # deleted elsewhere, a store in trouble
                log.warning("sweep", pool=cached.name, why=str(error))

    def measure_pools(self) -> None:
        """Bring the gauges of the pools in memory up to date."""
        metrics, cached = self.metrics.pools, {each.name: each for each in self.pools.cache}
        for name in metrics.labels:
            if name not in cached:
                metrics.hide(name)
                continue
            with suppress(RefusalError, ServiceError):  # of which each request tells
                self.pools.glance(cached[name], metrics.show)

    def forget_answers(self) -> None:
        """Forget idempotent answers that are older than the settings say."""
        now, kept = self.clock.now(), round(self.settings.keep_answers_s * SECOND)
        more = True
        while more:  # some at a time, so that others can write in between
            with self.store.writing(into_reserve=True) as transaction:
                more = transaction.drop_answers(now - kept, now + kept)
        recounted = self._recounted_at
        if self.pools.answers.any_full or recounted is None or _hours_since(recounted) > 1:
            self._recounted_at = time.monotonic()
            with self.store.reading() as transaction:
                self.pools.answers.recount(transaction.count_answers())

    def read_only(self) -> str:
        """Say why nothing can be stored now; an empty text if it can."""
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
        for cached in self.pools.cache:
            try:
                self.pools.save(cached)
            except ServiceError as error:  # the log has it all: only the next start is slower
                log.warning("snapshot not written", pool=cached.name, why=str(error))
        self.store.close()


def _hours_since(moment: float) -> float:
    return (time.monotonic() - moment) / 3600


def _changes(pool: Pool, wanted: dict[str, Any]) -> dict[str, Any]:
    """Pick the rules that differ from those of the pool, or refuse rules that cannot be."""
    rules = pool.rules
    if "policy" in wanted and wanted["policy"] != rules.policy:
        wanted = {"options": {}, **wanted}  # those of the former policy do not belong to this one
    changes = {name: value for name, value in wanted.items() if getattr(rules, name) != value}
    try:
        after = rules.with_changes(changes)
        if "options" in changes:
            after.check_options()
        after.make_policy().check_players(len(pool.players))
    except PairupError as error:
        raise RefusalError("invalid-request", str(error)) from error
    return changes


def _row(transaction: Transaction, name: str) -> PoolRow:
    """Return the row of the pool of this name, or refuse."""
    row = transaction.pool_named(name)
    if row is None:
        raise unknown_pool(name)
    return row


def _check_happened(pool: PoolRow, after: int) -> None:
    if after > pool.seq:
        raise RefusalError(
            "invalid-request",
            f"event {after} has not happened, the last one is {pool.seq}: go on from there, and if "
            "you have seen it, a copy of the database was restored",
            {"last": pool.seq},
        )
