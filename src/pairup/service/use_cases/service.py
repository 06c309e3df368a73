"""Service: one method for each use case, which routes, the dashboard and tests call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import structlog

from pairup.errors import ServiceError
from pairup.service.domain.clock import SECOND, Clock, WallClock
from pairup.service.domain.pool import Pool
from pairup.service.domain.report import Report
from pairup.service.domain.rules import Rules
from pairup.service.operations.metrics import Metrics
from pairup.service.operations.settings import Settings
from pairup.service.operations.warmup import warm_up
from pairup.service.problem_details import RefusalError
from pairup.service.store import PoolRow, Store, Transaction
from pairup.service.use_cases import players, pools, proposals, queries, reports, views
from pairup.service.use_cases.idempotency import KeyedRequest, Reply
from pairup.service.use_cases.pool_access import PoolAccess
from pairup.service.use_cases.pool_cache import unknown_pool
from pairup.service.use_cases.unit_of_work import draw_id

T = TypeVar("T")
View = dict[str, Any]
log = structlog.get_logger()


class Service:
    """All pools of a store.

    Pools are called by name. Views are what answers show, as `api.schemas` describes it. A use case
    that takes a `KeyedRequest` is done once, however often the request is sent.

    Parameters
    ----------
    settings
        Limits and times.
    store
        The database; closed by `close`.
    clock, metrics, new_id
        By default the clock of this machine, counters of its own, and ids drawn at random.
    """

    def __init__(
        self,
        settings: Settings,
        store: Store,
        clock: Clock | None = None,
        metrics: Metrics | None = None,
        new_id: Callable[[], str] = draw_id,
    ) -> None:
        self.settings = settings
        self.store = store
        self.clock = clock or WallClock()
        self.metrics = metrics or Metrics()
        self.pools = PoolAccess(settings, store, self.clock, self.metrics, new_id)

    # Pools

    def create_pool(
        self, name: str, rules: dict[str, Any], request: KeyedRequest | None = None
    ) -> Reply:
        """Create a pool with some rules, the others by default."""
        complete = pools.read_rules(rules)
        warm_up(complete.make_policy())
        return self.pools.create(name, complete, request)

    def configure_pool(self, name: str, rules: dict[str, Any]) -> View:
        """Change rules of a pool; a new policy is told what is known of the couples."""
        if {"policy", "options"} & rules.keys():  # compiled before the pool is locked for it
            warm_up(self.pools.read(name, partial(pools.policy_after, wanted=rules)))
        return self.pools.change(name, partial(pools.configure, wanted=rules))

    def delete_pool(self, name: str) -> None:
        """Delete a pool: its name is free again, open games are released; its log stays stored."""
        self.pools.change(name, pools.delete)

    def show_pool(self, name: str) -> View:
        """Show a pool."""
        return self.read(name, lambda pool, _: views.pool(pool))

    def show_digest(self, name: str) -> View:
        """Show a digest of the whole state of a pool."""
        return self.read(name, queries.digest)

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
            row = transaction.pool_named(name)
        if row is None:
            raise unknown_pool(name)
        return row.id

    # Players

    def put_player(self, pool: str, player: str, status: str) -> tuple[View, bool]:
        """Let a player join, wait or be away; returns the player, and whether they joined."""
        most = self.settings.max_players
        command = partial(players.put_player, player=player, status=status, max_players=most)
        return self.pools.change(pool, command)

    def remove_player(self, pool: str, player: str) -> None:
        """Let a player leave: what was learnt about them is forgotten."""
        self.pools.change(pool, partial(players.remove_player, player=player))

    def show_player(self, pool: str, player: str) -> View:
        """Show a player."""
        return self.read(pool, partial(queries.player, name=player))

    def list_players(
        self, pool: str, status: str | None, after: str, limit: int
    ) -> tuple[list[View], bool]:
        """List players by name; returns also whether there are more."""
        return self.read(pool, partial(queries.players, status=status, after=after, limit=limit))

    # Matchings

    def propose(
        self,
        pool: str,
        available: list[str] | None = None,
        apart: Sequence[list[str]] = (),
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Propose a matching of the players who wait, or of those `available`."""
        command = partial(proposals.propose, available=available, apart=apart)
        return self.pools.change_once(pool, command, request)

    def release(self, pool: str, matching: str, request: KeyedRequest | None = None) -> Reply:
        """Take back the games of a matching that are still open: nothing is learnt from them."""
        command = partial(proposals.release, matching=matching)
        return self.pools.change_once(pool, command, request)

    def show_matching(self, pool: str, matching: str) -> View:
        """Show a matching with what became of its games."""
        return self.read(pool, partial(queries.matching, id=matching))

    def pool_of_matching(self, matching: str) -> str | None:
        """Return the name of the pool of a matching, None if there is none."""
        with self.store.reading() as transaction:
            record = transaction.matching(matching)
            row = transaction.pool(record.pool_id) if record else None
        return row.name if row else None

    # Games

    def report_outcome(self, pool: str, game: str, report: Report) -> View:
        """Take in a report of a game."""
        return self.pools.change(pool, partial(reports.report_outcome, game=game, report=report))

    def report_outcomes(
        self,
        pool: str,
        given: Sequence[tuple[str, Report]],
        request: KeyedRequest | None = None,
    ) -> Reply:
        """Take in reports of several games; each is answered as if it had been sent alone."""
        command = partial(reports.report_outcomes, reports=given)
        return self.pools.change_once(pool, command, request)

    def show_game(self, pool: str, game: str) -> View:
        """Show a game."""
        return self.read(pool, partial(queries.game, id=game))

    def pool_of_game(self, game: str) -> str | None:
        """Return the name of the pool of a game, None if there is none."""
        with self.store.reading() as transaction:
            record = transaction.games([game]).get(game)
            row = transaction.pool(record.pool_id) if record else None
        return row.name if row else None

    # Insight

    def estimates(self, pool: str, max_couples: int) -> View:
        """Show what the learner estimates."""
        return self.read(pool, lambda found, _: views.estimates(found, max_couples))

    def stats(self, pool: str, max_games: int) -> View:
        """Show what the pool counted, and how it fares against random pairing."""
        return self.read(pool, lambda found, _: views.stats(found, max_games))

    def events(self, pool: str, after: int, limit: int) -> View:
        """Show a page of the log."""
        return self.read(pool, partial(queries.events, after=after, limit=limit))

    def check_happened(self, pool: str, after: int) -> None:
        """Refuse an event that has not happened in a pool."""
        self.read(pool, partial(queries.check_happened, after=after))

    def follow(self, pool_id: str, after: int, limit: int) -> list[View]:
        """List the next events of a pool that may have been deleted meanwhile."""
        with self.store.reading() as transaction:
            return [views.event(row) for row in transaction.raw_events(pool_id, after, limit)]

    def read(self, pool: str, query: Callable[[Pool, Transaction], T]) -> T:
        """Look at a pool as it is now, in one transaction."""
        return self.pools.read(pool, query)

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
        """Let games expire that are due in the pools in memory."""
        for cached in self.pools.cache:
            try:
                self.pools.expire_games(cached)
            except (RefusalError, ServiceError) as error:  # deleted elsewhere, a store in trouble
                log.warning("sweep", pool=cached.name, why=str(error))

    def forget_answers(self) -> None:
        """Forget idempotent answers that are older than the settings say."""
        before = self.clock.now() - round(self.settings.keep_answers_s * SECOND)
        more = True
        while more:  # some at a time, so that others can write in between
            with self.store.writing() as transaction:
                more = transaction.drop_answers(before)

    def close(self) -> None:
        """Save every pool in memory, so that the next start is fast, and close the store."""
        for cached in self.pools.cache:
            try:
                self.pools.save(cached)
            except ServiceError as error:  # the log has it all: only the next start is slower
                log.warning("snapshot not written", pool=cached.name, why=str(error))
        self.store.close()
