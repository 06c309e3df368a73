"""The state of a pool: a fold over its events, without clock, chance or disk.

A pool changes by its events only, and events are facts: a replay asks no policy what it would
propose. One that is read from its log, or from a snapshot and the rest of its log, is the pool that
was served, byte for byte, under every version of the policies. Where a policy's sampler stands is
not part of that: it is a cache, which is saved beside a pool and can be made again.

In one file because there is a method for each kind of event, and all of them change the same state.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from pairup.errors import PairupError, ServiceError
from pairup.learning import Learner
from pairup.matching import Matching
from pairup.service.domain import events
from pairup.service.domain.clock import SECOND, Moment
from pairup.service.domain.counters import Counters, count
from pairup.service.domain.events import Recorded, Version, dumps
from pairup.service.domain.forecast import forecast_pairings
from pairup.service.domain.import_progress import ImportProgress
from pairup.service.domain.open_games import OpenGame, OpenGames, open_matching
from pairup.service.domain.past_games import PastGames
from pairup.service.domain.players import AWAY, WAITING, Players
from pairup.service.domain.pool_rules import Rules
from pairup.service.domain.saved_learner import loaded
from pairup.service.domain.version import current_version

_FORMAT = 6
_DECIMALS = 6  # of chances and rates: more would be stored, and mean nothing
_MIN_HALF_LIVES = 1 / 64  # by which what was learnt fades at once


class Pool:
    """Players, open games, counters and a learner; `id` is its key in the store.

    Examples
    --------
    >>> pool = Pool("p1")
    >>> pool.apply(Recorded(1, 0, events.Created("chess", Rules().as_json())))
    >>> pool.apply(Recorded(2, 0, events.Joined("ann", "waiting")))
    >>> pool.players.status("ann")
    'waiting'
    >>> Pool.from_bytes("p1", pool.to_bytes()).to_bytes() == pool.to_bytes()
    True
    """

    def __init__(self, id: str) -> None:
        self.id = id
        self.seq = 0
        self.items = 0  # players and games that the log told of
        self.at: Moment = 0
        self.faded_at: Moment = 0  # until when what was learnt has faded
        self.name = ""
        self.deleted = False
        self.version: Version | None = None  # that wrote the log last
        self.rules = Rules()
        self.players = Players()
        self.games = OpenGames()
        self.matching: str | None = None  # the latest one
        self.imports: dict[str, ImportProgress] = {}  # by id
        self.counters = Counters()
        self.learner = Rules().make_policy().learner(())

    @property
    def imported(self) -> int:
        """Number of games of the past that were imported."""
        return sum(progress.games for progress in self.imports.values())

    @property
    def digest(self) -> str:
        """A digest of all that follows from the log, what the learner was told included."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def propose(
        self,
        at: Moment,
        expires_at: Moment,
        available: list[str] | None,
        apart: list[list[str]],
        new_ids: Callable[[int], list[str]],
    ) -> Recorded:
        """Ask the policy for a matching, and apply the event that tells of it, which is returned.

        A replay applies the same event, and asks nobody.
        """
        players = list(self.players.waiting) if available is None else available
        matching = self.learner.suggest(players, apart)
        leader = self.learner.leader_among(players, apart) if len(players) > 1 else None
        expected = forecast_pairings(self.learner, self.players.met, players)
        chances = self.learner.play_probabilities(matching)
        *ids, own_id = new_ids(len(matching) + 1)
        leading = None if leader is None else set(map(frozenset, leader))
        games: list[events.ProposedGame] = [
            {
                "id": id,
                "players": list(couple),
                "chance": None if chance is None else round(chance, _DECIMALS),
                "explores": leading is None or frozenset(couple) not in leading,
            }
            for id, couple, chance in zip(ids, matching, chances, strict=True)
        ]
        event = events.Proposed(
            games=games,
            matching=own_id,
            waiting=list(matching.waiting),
            available=available,
            apart=apart,
            expires_at=expires_at,
            random=expected.random,
            random_deviation=expected.deviation,
            best=expected.best,
        )
        recorded = Recorded(self.seq + 1, at, event)
        self.apply(recorded)
        return recorded

    def rates(self, players: Sequence[str]) -> list[float] | None:
        """Return the estimated rates of players, also of kept ones; None if there are none."""
        found = {each.player: each.rate for each in self.learner.rates(players)}
        return [round(found[player], _DECIMALS) for player in players] if found else None

    def apply(self, recorded: Recorded) -> None:
        """Take in an event, which must be the next one."""
        if recorded.seq != self.seq + 1:
            raise ServiceError(
                f"event {self.seq + 1} of pool {self.id} is missing, found event {recorded.seq}: "
                "the log is damaged, restore a copy of the database"
            )
        try:
            self._fade(recorded.at)
            _APPLY[type(recorded.event)](self, recorded.event)
        except Exception as error:  # whatever a damaged event leads to, only this pool is lost
            said = str(error) if isinstance(error, PairupError) else repr(error)
            raise ServiceError(
                f"event {recorded.seq} of pool {self.id} ({recorded.event.kind}) does not fit what "
                f"happened before it, {said}: the log is damaged, see `pairup repair`"
            ) from error
        self.seq, self.at = recorded.seq, recorded.at
        self.items += recorded.event.items

    def _fade(self, now: Moment) -> None:
        """Let what was learnt fade by the time since it last did, if the rules say so.

        By the dates of events alone, and not before it makes a difference.
        """
        if self.rules.memory_s is None:
            self.faded_at = now
            return
        half_lives = (now - self.faded_at) / (self.rules.memory_s * SECOND)
        if half_lives >= _MIN_HALF_LIVES:
            self.learner.fade(half_lives)
            self.faded_at = now

    def _created(self, event: events.Created) -> None:
        self.name, self.rules = event.name, Rules(**event.rules)
        self.version = event.version
        self.learner = Learner(self.rules.make_policy(), (), self.rules.seed)

    def _continued(self, event: events.Continued) -> None:
        self.version = event.version

    def _configured(self, event: events.Configured) -> None:
        self.rules = self.rules.with_changes(event.changes)
        if {"policy", "options", "seed"} & set(event.changes):
            self.learner = self.learner.with_policy(self.rules.make_policy(), self.rules.seed)

    def _deleted(self, event: events.Deleted) -> None:
        self.deleted = True

    def _joined(self, event: events.Joined) -> None:
        self.learner.join(event.player)
        self.players.join(event.player, event.status)

    def _players_joined(self, event: events.PlayersJoined) -> None:
        for player in event.players:
            self._joined(events.Joined(player, event.status))

    def _moved(self, event: events.Moved) -> None:
        self.players.move(event.player, event.status)

    def _players_moved(self, event: events.PlayersMoved) -> None:
        for player in event.players:
            self.players.move(player, event.status)

    def _left(self, event: events.Left) -> None:
        self.learner.leave(event.player, forget=event.forget, rate=event.rate)
        self.players.leave(event.player, event.forget)

    def _players_left(self, event: events.PlayersLeft) -> None:
        rates: Sequence[float | None] = event.rates or [None] * len(event.players)
        for player, rate in zip(event.players, rates, strict=True):
            self._left(events.Left(player, event.forget, rate))

    def _erased(self, event: events.Erased) -> None:
        self.learner.forget(event.player, rate=event.rate)
        del self.players.kept[event.player]

    def _proposed(self, event: events.Proposed) -> None:
        matching = Matching([game["players"] for game in event.games], event.waiting)
        for player in matching.players:
            if player not in self.players.waiting:
                status = self.players.status(player)
                raise ServiceError(f"player {player!r} is {status}, not waiting")
        self.learner.record(matching)
        opened = open_matching(event, event.expires_at - self.rules.expiry(0))
        self.games.open(opened)
        for game in opened.games.values():
            for player in game.players:
                self.players.begin_game(player, game.id)
            self.counters.explored += game.explores
        self.matching = event.matching
        self.counters.matchings += 1
        self.counters.proposed += len(event.games)

    def _answered(self, event: events.Answered) -> None:
        self.games[event.game].answers = event.answers
        self.counters.reports += 1

    def _decided(self, event: events.Decided) -> None:
        game = self._close(event.game)
        heard: dict[Hashable, bool] = dict(event.heard.items())
        self.learner.observe([game.players], [event.played], accepted=heard)
        self._count_decided([game], [event.played], [event.cause])

    def _games_decided(self, event: events.GamesDecided) -> None:
        games = [self._close(id) for id in event.games]
        heard: dict[Hashable, bool] = {
            player: said
            for game, both in zip(games, event.heard or (), strict=event.heard is not None)
            for player, said in zip(game.players, both, strict=True)
            if said is not None
        }
        self.learner.observe([game.players for game in games], event.played, accepted=heard)
        self._count_decided(games, event.played, event.causes)

    def _count_decided(
        self, games: Sequence[OpenGame], played: Sequence[bool], causes: Sequence[str | None]
    ) -> None:
        self._count_learnt(games, played)
        self.counters.reports += len(games)
        self.counters.played += sum(played)
        for game, was_played, cause in zip(games, played, causes, strict=True):
            if not was_played:
                count(self.counters.cancelled, str(cause))
                continue
            for player in game.players:
                if self.players.wishes[player] == WAITING:
                    self.players.move(player, self.rules.after_game)

    def _noted(self, event: events.Noted) -> None:
        self.counters.noted += 1
        self.counters.reports += 1

    def _late(self, event: events.Late) -> None:
        self.counters.late += event.first
        self.counters.reports += 1
        if event.first and event.missing:
            self.counters.missing -= 1

    def _repeated(self, event: events.Repeated) -> None:
        reports = len(event.games) + event.more
        self.counters.repeated += reports
        self.counters.reports += reports

    def _contradicted(self, event: events.Contradicted) -> None:
        reports = 1 + len(event.others) + event.more
        self.counters.contradicting += reports
        self.counters.reports += reports

    def _released(self, event: events.Released) -> None:
        self.learner.withdraw([self._close(id).players for id in event.games])
        count(self.counters.released, event.cause, len(event.games))

    def _expired(self, event: events.Expired) -> None:
        games = [self._close(id) for id in event.games]
        self.counters.expired += len(games)
        self.counters.missing += len(games)
        if event.counts_as == "discard":
            self.learner.withdraw([game.players for game in games])
            return
        self.learner.observe([game.players for game in games], [False] * len(games))
        count(self.counters.cancelled, "unreported", len(games))
        self._count_learnt(games, [False] * len(games))

    def _imported(self, event: events.Imported) -> None:
        games = PastGames.of(event)
        for player in event.players:
            if player not in self.players:
                self._joined(events.Joined(player, "away"))
        games.teach(self.learner)
        for player, outcomes in games.outcomes_of_players().items():
            self.players.met[player] += outcomes
        before = self.imports.get(event.source, ImportProgress())
        self.imports[event.source] = before.after(event)

    def _loaded(self, event: events.Loaded) -> None:
        self.learner = loaded(event)
        known = dict.fromkeys(str(player) for player in self.learner.players)
        for player in self.players:
            if player not in known:
                self.learner.join(player)
        for player in known:
            if player not in self.players:
                self.players.join(player, AWAY)
        self.players.kept = {str(player): 0 for player in self.learner.kept}
        self.players.met = dict.fromkeys(self.players, 0)
        for estimate in self.learner.estimates():
            for name in estimate.couple:
                self.players.met[str(name)] += estimate.proposed
        if self.games:
            self.learner.record(Matching([game.players for game in self.games.values()]))

    def _close(self, id: str) -> OpenGame:
        game = self.games.close(id)
        for player in game.players:
            self.players.end_game(player)
        return game

    def _count_learnt(self, games: Sequence[OpenGame], played: Sequence[bool]) -> None:
        self.counters.learnt += len(games)
        met, decide = self.players.met, self.counters.decide
        for game, was_played in zip(games, played, strict=True):
            one, other = game.players
            met[one] += 1
            met[other] += 1
            decide(was_played, game.explores, game.chance, game.matching.forecast)

    def to_bytes(self) -> bytes:
        """Save what follows from the log: the same bytes for the same events."""
        state = {
            "format": _FORMAT,
            "seq": self.seq,
            "items": self.items,
            "at": self.at,
            "faded_at": self.faded_at,
            "name": self.name,
            "deleted": self.deleted,
            "version": self.version,
            "rules": self.rules.as_json(),
            # In the order in which they came: what is read back must go on alike.
            "players": self.players.as_json(),
            "games": self.games.as_json(),
            "matching": self.matching,
            "tally": self.counters.as_json(),
        }
        if self.imports:  # pools without any are saved as they were before there were imports
            state["imports"] = list(self.imports.items())
        return dumps(state).encode() + b"\n" + self.learner.evidence()

    @classmethod
    def from_bytes(
        cls, id: str, data: bytes, cache: bytes | None = None, version: Version | None = None
    ) -> Pool:
        """Load a saved pool, or refuse the bytes with a `ServiceError`.

        With the learner's cache and the version that wrote it, if that is the version of the code
        that runs, the policy goes on as if it had never stopped.
        """
        pool = cls(id)
        try:
            head, _, evidence = data.partition(b"\n")
            pool._restore(json.loads(head))
            usable = version == current_version(pool.rules.make_policy())
            pool.learner = Learner.from_evidence(evidence, cache if usable else None)
        except (AttributeError, LookupError, PairupError, TypeError, ValueError) as error:
            raise ServiceError(
                f"a snapshot of pool {id} cannot be read, {error!r}: the pool is read from its log"
            ) from error
        return pool

    def _restore(self, state: dict[str, Any]) -> None:
        """Take over everything but the learner."""
        if state["format"] != _FORMAT:
            raise ValueError(f"format {state['format']}")
        self.version = state["version"]
        self.seq, self.items, self.at = state["seq"], state["items"], state["at"]
        self.faded_at = state["faded_at"]
        self.name, self.deleted = state["name"], state["deleted"]
        self.rules = Rules(**state["rules"])
        self.games = OpenGames.from_json(state["games"])
        self.players = Players.from_json(state["players"], self.games)
        self.matching = state["matching"]
        imports = state.get("imports", ())
        self.imports = {source: ImportProgress(*progress) for source, progress in imports}
        self.counters = Counters.from_json(state["tally"])


# Made at import, so that an event without a method fails then.
_APPLY: dict[type[events.Event], Callable[[Pool, Any], None]] = {
    event: getattr(Pool, f"_{event.kind}") for event in events.Event.__subclasses__()
}


def replay(id: str, log: Iterable[Recorded]) -> Pool:
    """Make a pool from its whole log."""
    pool = Pool(id)
    for recorded in log:
        pool.apply(recorded)
    return pool
