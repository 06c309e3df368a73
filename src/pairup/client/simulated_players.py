"""Simulated players of a service: they join, answer, leave, are late and contradict themselves."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from pairup.client import Client, RefusedError
from pairup.client.types import GameView, ReportedGame, Said
from pairup.errors import SimulationError
from pairup.problem import Problem

Law = tuple[float, float]
_TIMES_OUT = 0.25  # share of those who do not accept who say nothing
_UNSTATED = 0.1  # share of cancelled games of which nobody says why
_MOST_ANSWER_BATCH = 5_000
_SIMULATED = re.compile(r"s\d+-\d{3,}$")  # names of simulated players
_LATER_S = 0.5  # after a game expired, until it is reported late


@dataclass(frozen=True)
class Habits:
    """How the players behave; every share is a probability.

    Attributes
    ----------
    churn : float
        Of each player in each round, to leave for good; another one comes.
    late, twice, contradict : float
        Of each game, to be reported after it expired, reported again, reported otherwise.
    away : float
        Of each player in each round, to be away in the next one.
    answers : bool
        Whether reports say what each player answered, or only whether the game was played.
    """

    churn: float = 0.0
    late: float = 0.0
    twice: float = 0.0
    contradict: float = 0.0
    away: float = 0.0
    answers: bool = True

    def __post_init__(self) -> None:
        for name in ("churn", "late", "twice", "contradict", "away"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise SimulationError(f"{name} is a share in [0, 1], got {value!r}: try 0.01")


@dataclass(frozen=True)
class Pace:
    """How fast things go, in seconds."""

    round_s: float = 0.0
    game_s: float = 0.0  # above 0: who played a game plays for so long, then waits again
    lifetime_s: float = 5.0  # of a proposal, in a pool that is made

    def __post_init__(self) -> None:
        for what, value in (("a round", self.round_s), ("a game", self.game_s)):
            if not 0 <= value < 3600:
                raise SimulationError(
                    f"{what} lasts at least 0 seconds and less than an hour, got {value!r}: try 0.5"
                )


class Played(NamedTuple):
    """A round: its games, those played, and how many could be expected."""

    round: int
    games: int
    played: int
    chosen: float  # of the games proposed, by the true rates
    random: float  # of couples drawn at random among the players present
    best: float  # of the best matching of the players present


@dataclass
class Crowd:
    """Players with their true rates.

    Examples
    --------
    >>> crowd = Crowd([0.9, 0.5], seed=7)
    >>> list(crowd.rates)
    ['s7-001', 's7-002']
    >>> crowd.replace("s7-002"), list(crowd.rates)
    ('s7-003', ['s7-001', 's7-003'])
    """

    starting: Sequence[float]
    law: Law | None = None  # of players who come later; None: they are as those they replace
    seed: int = 0
    rates: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Problem(self.starting)  # refuses what are no rates
        # Who comes and goes does not depend on what is proposed and answered.
        self._moves = np.random.default_rng([self.seed, 1])
        self._answers = np.random.default_rng([self.seed, 2])
        self._came = 0
        for rate in self.starting:
            self._add(rate)

    def _add(self, rate: float) -> str:
        self._came += 1
        name = f"s{self.seed}-{self._came:03d}"
        self.rates[name] = float(rate)
        return name

    def replace(self, player: str) -> str:
        """Let a player go and another come; returns who came."""
        rate = self.rates.pop(player)
        return self._add(rate if self.law is None else self._moves.beta(*self.law))

    def some(self, share: float) -> list[str]:
        """Choose each player with a probability, as it moves."""
        if share == 0:
            return []
        chosen = self._moves.random(len(self.rates)) < share
        return [player for player, yes in zip(self.rates, chosen, strict=True) if yes]

    def chance(self, share: float) -> bool:
        """Say yes with a probability, as players answer."""
        return bool(self._answers.random() < share)


def parse_law(text: str) -> Law:
    """Read a law of rates, as ``beta:2,3``.

    Examples
    --------
    >>> parse_law("beta:2,3")
    (2.0, 3.0)
    """
    name, _, numbers = text.partition(":")
    try:
        first, second = map(float, numbers.split(","))
    except ValueError:
        first = second = 0.0
    if name != "beta" or not (0 < first < np.inf and 0 < second < np.inf):
        raise SimulationError(
            f"a law is beta:A,B with positive numbers, got {text!r}: try beta:2,3"
        )
    return first, second


@dataclass
class _Open:
    """A game that will be reported late."""

    due: float
    report: ReportedGame
    players: list[str]


class Simulation:
    """Simulated players in a pool of a service; iterating plays round after round, for ever.

    Parameters
    ----------
    client : Client
        Of the service.
    pool : str
        Its name; made where there is none.
    crowd : Crowd
        The players.
    habits : Habits
        How they behave.
    pace : Pace
        How fast.
    sleep, clock : callable
        Tests do not wait.
    """

    def __init__(
        self,
        client: Client,
        pool: str,
        crowd: Crowd,
        habits: Habits,
        pace: Pace,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._pool, self._crowd = client, pool, crowd
        self._habits, self._pace = habits, pace
        self._sleep, self._clock = sleep, clock
        self._idle: dict[str, None] = {}  # who can be proposed a game, in order
        self._away: list[str] = []
        self._open: list[_Open] = []
        self._lifetime_s, self._returns, self._begun = pace.lifetime_s, False, False

    def __iter__(self) -> Iterator[Played]:
        if not self._begun:
            self.begin()
        number = 0
        while True:
            played = self._round(number)
            if played is not None:
                number += 1
                yield played

    def begin(self, among_others: bool = False) -> None:
        """Make the pool, and let everyone join; who remained of an earlier run leaves.

        A pool that exists keeps its rules. Where it has players who are not simulated, it is
        refused, unless they are to play `among_others`.
        """
        rules = {
            "lifetime_s": self._pace.lifetime_s,
            "after_game": "playing" if self._pace.game_s else "waiting",
        }
        try:
            pool = self._client.create_pool(self._pool, **rules)
        except RefusedError as refused:
            if refused.kind != "pool-exists":
                raise
            pool = self._client.pool(self._pool)
        self._lifetime_s, self._returns = pool["lifetime_s"], pool["after_game"] == "playing"
        present = [known["player"] for known in self._client.players(self._pool)]
        others = [player for player in present if not _SIMULATED.match(player)]
        if others and not among_others:
            raise SimulationError(
                f"pool {self._pool!r} has {len(others)} players who are not simulated, such as "
                f"{others[0]!r}: give another --pool, or --among-others"
            )
        for player in present:
            if player.startswith(f"s{self._crowd.seed}-") and player not in self._crowd.rates:
                self._leave(player)
        for player in self._crowd.rates:
            self._client.join(self._pool, player)
        self._look()
        self._begun = True

    def end(self, client: Client | None = None) -> None:
        """Let everyone be away: known still, and proposed to nobody."""
        if self._begun:
            for player in self._crowd.rates:
                (client or self._client).join(self._pool, player, "away")

    def _leave(self, player: str) -> None:
        try:
            self._client.leave(self._pool, player)
        except RefusedError as refused:
            if refused.kind != "no-such-player":  # somebody else let it go
                raise

    def _look(self) -> None:
        """Ask the service who waits."""
        waiting = self._client.players(self._pool, status="waiting")
        self._idle = {
            each["player"]: None for each in waiting if each["player"] in self._crowd.rates
        }

    def _round(self, number: int) -> Played | None:
        began = self._clock()
        self._come_and_go()
        self._report_late()
        try:
            if len(self._idle) < 2:
                raise RefusedError({"type": "too-few-players"})
            matching = self._client.propose(self._pool, available=list(self._idle))
        except RefusedError as refused:
            if refused.kind not in ("too-few-players", "players-not-waiting"):
                raise
            self._sleep(max(self._pace.round_s, 0.1))
            self._look()
            return None
        self._sleep(self._pace.round_s / 3)
        games = matching["games"]
        rates = [self._crowd.rates[player] for player in self._idle]
        best, random = expected(rates)
        chosen = sum(math.prod(self._crowd.rates[p] for p in game["players"]) for game in games)
        played = self._answer(games)
        self._sleep(self._pace.game_s)
        self._return(played)
        self._sleep(max(0.0, self._pace.round_s - (self._clock() - began)))
        return Played(number, len(games), len(played), chosen, random, best)

    def _come_and_go(self) -> None:
        for player in self._crowd.some(self._habits.churn):
            self._leave(player)
            self._idle.pop(player, None)
            self._away = [each for each in self._away if each != player]
            newcomer = self._crowd.replace(player)
            self._client.join(self._pool, newcomer)
            self._idle[newcomer] = None
        for player in self._away:
            self._client.join(self._pool, player)
            self._idle[player] = None
        self._away = [each for each in self._crowd.some(self._habits.away) if each in self._idle]
        for player in self._away:
            self._client.join(self._pool, player, "away")
            del self._idle[player]

    def _answer(self, games: list[GameView]) -> list[GameView]:
        """Let the players answer, and report most of it; returns the games that were played."""
        reports, again, played = list[ReportedGame](), list[ReportedGame](), []
        for game in games:
            report, yes = self._said(game)
            if yes:
                played.append(game)
            if self._crowd.chance(self._habits.late):
                due = self._clock() + self._lifetime_s + _LATER_S
                self._open.append(_Open(due, report, game["players"]))
                for player in game["players"]:
                    del self._idle[player]
                continue
            reports.append(report)
            if self._crowd.chance(self._habits.twice):
                again.append(report)
            if self._crowd.chance(self._habits.contradict):
                again.append({"game": game["id"], "outcome": "cancelled" if yes else "played"})
        for batch in (reports, again):
            for start in range(0, len(batch), _MOST_ANSWER_BATCH):
                self._client.report_all(self._pool, batch[start : start + _MOST_ANSWER_BATCH])
        return played

    def _said(self, game: GameView) -> tuple[ReportedGame, bool]:
        accepts = {p: self._crowd.chance(self._crowd.rates[p]) for p in game["players"]}
        yes = all(accepts.values())
        if not self._habits.answers or (not yes and self._crowd.chance(_UNSTATED)):
            return {"game": game["id"], "outcome": "played" if yes else "cancelled"}, yes
        answers: dict[str, Said] = {
            player: "accepted" if said else self._no() for player, said in accepts.items()
        }
        return {"game": game["id"], "answers": answers}, yes

    def _no(self) -> Said:
        return "timed_out" if self._crowd.chance(_TIMES_OUT) else "declined"

    def _return(self, played: list[GameView]) -> None:
        """Let those wait again who played, where the pool waits to be told."""
        if not self._returns:
            return
        for game in played:
            for player in game["players"]:
                if player in self._idle:
                    self._client.join(self._pool, player)

    def _report_late(self) -> None:
        now = self._clock()
        due = [each for each in self._open if each.due <= now]
        if not due:
            return
        self._open = [each for each in self._open if each.due > now]
        self._client.report_all(self._pool, [each.report for each in due])
        for each in due:
            for player in each.players:
                if player in self._crowd.rates:
                    self._idle[player] = None


def expected(rates: Sequence[float]) -> tuple[float, float]:
    """Return the games to be expected of the best matching, and of one drawn at random.

    Examples
    --------
    >>> best, random = expected([0.9, 0.8, 0.3, 0.1])
    >>> round(best, 2), round(random, 4)
    (0.75, 0.4767)
    """
    values = np.asarray(rates)
    couples = len(values) * (len(values) - 1)
    mean = (values.sum() ** 2 - (values**2).sum()) / couples
    return float(Problem(values).best_games), float(len(values) // 2 * mean)
