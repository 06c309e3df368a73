"""A simulation: players of a crowd use a pool of a service, round after round."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pairup.client import Client, NewGameReport, RefusedError
from pairup.client.demo.crowd import Crowd, expected_games
from pairup.client.demo.habits import AnsweredGame, Habits, Pace, answer
from pairup.errors import SimulationError
from pairup.service.api.schemas.games import GameView, MatchingView
from pairup.service.api.schemas.pools import PoolView, RefusedPlayer
from pairup.service.domain.events import BatchWish

# Rules of a pool whose players have ratings and regions.
RATED_RULES: dict[str, Any] = {
    "constraints": [
        {
            "kind": "distance",
            "attribute": "rating",
            "at_most": 150,
            "relax": [{"after_s": 3, "at_most": 300}, {"after_s": 10}],
        },
        {"kind": "equal", "attribute": "region"},
    ],
    "fairness": {"floor": 0.5},
}
_MAX_REPORTS = 5_000  # per request
_SIMULATED = re.compile(r"s\d+-\d{3,}$")  # names of simulated players
_NO_SUCH_PLAYER = "/problems/no-such-player"
_LATE_BY_S = 0.5  # after a game expired


class PlayedRound(NamedTuple):
    """A round: its games, those that were played, and how many were to be expected."""

    round: int
    games: int
    played: int
    chosen: float  # games to be expected of those proposed, by the true rates
    # Of couples drawn at random among the players present, and of the best matching of them; not
    # numbers where the rules of the pool say who may meet.
    random: float
    best: float


class Simulation:
    """Simulated players in a pool of a service; iterating plays round after round, without end."""

    def __init__(self, client: Client, pool: str, crowd: Crowd, habits: Habits, pace: Pace) -> None:
        self._client, self._pool, self._crowd = client, pool, crowd
        self._habits, self._pace = habits, pace
        self._rules: PoolView | None = None  # of the pool, once the players have joined
        self._idle: dict[str, None] = {}  # players who can be proposed a game, in order
        self._away: list[str] = []
        self._since: dict[str, float] = {}  # the time of each player's last game, or of the join
        self._late: list[tuple[float, AnsweredGame]] = []  # with the time when each is reported

    def __iter__(self) -> Iterator[PlayedRound]:
        rules = self._rules or self.begin()
        number = 0
        while True:
            if (played := self._round(number, rules)) is not None:
                number += 1
                yield played

    def begin(self, among_others: bool = False) -> PoolView:
        """Create the pool and let everyone join; players left over from an earlier run leave.

        A pool that exists keeps its rules. It is refused if it has players who are not simulated,
        unless the simulated ones are to play `among_others`.
        """
        rules = self._open_pool()
        present = [known.player for known in self._client.players(self._pool)]
        others = [player for player in present if not _SIMULATED.match(player)]
        if others and not among_others:
            raise SimulationError(
                f"pool {self._pool!r} has {len(others)} players who are not simulated, such as "
                f"{others[0]!r}: give another --pool, or --among-others"
            )
        mine = [player for player in present if player.startswith(f"s{self._crowd.seed}-")]
        self._put([player for player in mine if player not in self._crowd.rates], "left")
        self._put(self._crowd.rates, "waiting")
        self._find_idle()
        self._rules = rules
        return rules

    def end(self, client: Client | None = None) -> None:
        """Set everyone to away: they stay known, and are left out of proposals."""
        if self._rules is not None:
            self._put(self._crowd.rates, "away", client)

    def _open_pool(self) -> PoolView:
        after_game = "playing" if self._pace.game_s else "waiting"
        rules = {"lifetime_s": self._pace.lifetime_s, "after_game": after_game}
        rules |= RATED_RULES if self._crowd.rated else {}
        with _accept_refusal("pool-exists"):
            return self._client.create_pool(self._pool, **rules)
        return self._client.pool(self._pool)

    def _put(self, players: Iterable[str], status: BatchWish, client: Client | None = None) -> None:
        """Set whether players wait, are away or leave; somebody else may have removed one."""
        wishes = list(dict.fromkeys(players, status).items())
        for start in range(0, len(wishes), _MAX_REPORTS):
            some = dict(wishes[start : start + _MAX_REPORTS])
            known = self._crowd.attributes if status == "waiting" else {}
            given = {player: known[player] for player in some if player in known}
            for each in (client or self._client).put_players(self._pool, some, given).results:
                if isinstance(each, RefusedPlayer) and each.problem.type != _NO_SUCH_PLAYER:
                    raise SimulationError(each.problem.detail)

    def _find_idle(self) -> None:
        """Ask the service which of the players are waiting."""
        waiting = self._client.players(self._pool, status="waiting")
        self._idle = {each.player: None for each in waiting if each.player in self._crowd.rates}

    def _round(self, number: int, rules: PoolView) -> PlayedRound | None:
        began = time.monotonic()
        self._come_and_go()
        self._report_late()
        matching = self._propose()
        if matching is None:
            time.sleep(max(self._pace.round_s, 0.1))
            self._find_idle()
            return None
        time.sleep(self._pace.round_s / 3)
        rates, games = self._crowd.rates, matching.games
        best = random = math.nan
        if not rules.constraints:
            best, random = expected_games([rates[player] for player in self._idle])
        chosen = sum(math.prod(rates[player] for player in game.players) for game in games)
        played = self._play(games, rules.lifetime_s)
        ended = time.monotonic()
        self._since |= {player: ended for game in played for player in game.players}
        time.sleep(self._pace.game_s)
        if rules.after_game == "playing":
            ready = (each for game in played for each in game.players if each in self._idle)
            self._put(ready, "waiting")
        time.sleep(max(0.0, self._pace.round_s - (time.monotonic() - began)))
        return PlayedRound(number, len(games), len(played), chosen, random, best)

    def _propose(self) -> MatchingView | None:
        """Ask for a matching; None if too few players wait, or others than were thought."""
        if len(self._idle) >= 2:
            with _accept_refusal("too-few-players", "players-not-waiting"):
                return self._client.propose(self._pool, available=self._idle)
        return None

    def _come_and_go(self) -> None:
        leaving = [*dict.fromkeys(self._crowd.sample(self._habits.churn) + self._impatient())]
        newcomers = [self._crowd.replace(player) for player in leaving]
        back = [player for player in self._away if player not in leaving]
        for player in leaving:
            self._idle.pop(player, None)
        self._idle |= dict.fromkeys([*newcomers, *back])
        self._away = [each for each in self._crowd.sample(self._habits.away) if each in self._idle]
        for player in self._away:
            del self._idle[player]
        self._put(leaving, "left")
        self._put([each for each in (*newcomers, *back) if each in self._idle], "waiting")
        self._put(self._away, "away")

    def _impatient(self) -> list[str]:
        """List players who can be proposed a game and have not had one for too long."""
        patience_s, now = self._habits.patience_s, time.monotonic()
        self._since = {player: self._since.get(player, now) for player in self._crowd.rates}
        if patience_s is None:
            return []
        return [player for player in self._idle if now - self._since[player] > patience_s]

    def _play(self, games: Sequence[GameView], lifetime_s: float) -> list[GameView]:
        """Report the players' answers; return the games that were played."""
        reports, again, played = list[NewGameReport](), list[NewGameReport](), list[GameView]()
        happens, habits = self._crowd.happens, self._habits
        for game in games:
            answered = answer(game, self._crowd, habits)
            if answered.played:
                played.append(game)
            if happens(habits.late):
                self._late.append((time.monotonic() + lifetime_s + _LATE_BY_S, answered))
                for player in game.players:
                    del self._idle[player]
                continue
            reports.append(answered.report)
            if happens(habits.twice):
                again.append(answered.report)
            if happens(habits.contradict):
                again.append(answered.contradiction())
        self._report(reports)
        self._report(again)
        return played

    def _report(self, reports: Sequence[NewGameReport]) -> None:
        for start in range(0, len(reports), _MAX_REPORTS):
            self._client.report_all(self._pool, reports[start : start + _MAX_REPORTS])

    def _report_late(self) -> None:
        now = time.monotonic()
        due = [answered for at, answered in self._late if at <= now]
        self._late = [(at, answered) for at, answered in self._late if at > now]
        self._report([answered.report for answered in due])
        for answered in due:
            for player in answered.game.players:
                if player in self._crowd.rates:
                    self._idle[player] = None


@contextmanager
def _accept_refusal(*kinds: str) -> Iterator[None]:
    try:
        yield
    except RefusedError as refused:
        if refused.kind not in kinds:
            raise
