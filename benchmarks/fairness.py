"""What a floor under each player's chance of a game costs, and how well it is held.

    python -m benchmarks fairness

200 players with rates from Beta(2, 3), of whom one in a hundred is replaced in each round. *Known*
rates are those of an oracle; *learned* ones are those of rank-one Thompson sampling, which sees
which couples played. Games are expected ones by the true rates, after a warm-up: games per player
and round, how much of the gain over random pairing is left, and games of the tenth of the players
with the lowest rates. The worst share is that of the player who got least of random pairing's
chance in its first 100 rounds from the warm-up on, by true rates and by those that were known to
the matching. Figures are the means of several runs, and the least of all their shares.

With a floor, players are matched among those near them in rate and standing, so that a draw of
Thompson sampling moves nobody far: *same search* is a floor of 0 matched like that.

*Blocks* compares this, with rates that are known and players who stay, with the exact matching of
all couples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pairup import Oracle, RankOneThompson
from pairup.learning.fairness import Fairness, near_couples, random_chances_of_all, weigh_debts
from pairup.problem.meeting_graph import MeetingGraph

_FLOORS = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
_PLAYERS, _LEAVING, _BETA = 200, 0.01, (2.0, 3.0)
_MIN_ROUNDS = 100  # in which a player's share is measured
_MIN_GAIN, _SHORT = 0.9, 0.05  # of a floor of 0.5; how much less a share may be than its floor

_COLUMNS = (
    "rates",
    "floor",
    "games per player",
    "at random",
    "of the gain",
    "bottom tenth",
    "its games at random",
    "worst share",
    "by rates known",
    "holds",
)

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
_NOBODY = np.zeros(0, np.int64)


class Population:
    """Players who come and go, each with its own number, rate and record."""

    def __init__(self, seed: int, rounds: int) -> None:
        self._draw = np.random.default_rng(seed)
        expected = _PLAYERS * (1.0 + _LEAVING * rounds)
        self.all_rates = self._draw.beta(*_BETA, int(1.5 * expected) + 100)  # of all who ever come
        self.names, self.known = np.arange(_PLAYERS), _PLAYERS
        self.true, self.believed = Shares(), Shares()
        self.games, self.bottom, self.random, self.random_bottom = (list[float]() for _ in range(4))

    @property
    def rates(self) -> Floats:
        """The rates of the players present."""
        return self.all_rates[self.names]

    def replace_some(self) -> list[tuple[int, int]]:
        """Replace players who leave; returns the numbers of those who left and came."""
        places = np.flatnonzero(self._draw.random(_PLAYERS) < _LEAVING)
        gone, new = self.names[places], self.known + np.arange(len(places))
        self.names[places], self.known = new, self.known + len(places)
        for shares in (self.true, self.believed):
            shares.forget(places)
        return list(zip(gone.tolist(), new.tolist(), strict=True))

    def play(self, couples: Places, believed: Floats | None) -> NDArray[np.bool_]:
        """Play the couples, given by places; returns which of them played.

        They count if the rates that are `believed` are given.
        """
        rates = self.rates
        if believed is not None:
            self._count(couples)
            self.true.enter(rates, couples)
            self.believed.enter(believed, couples)
        accepts = self._draw.random(_PLAYERS) < rates
        return accepts[couples[:, 0]] & accepts[couples[:, 1]]

    def _count(self, couples: Places) -> None:
        now, random = chances_of(self.rates, couples)
        bottom = np.argsort(self.rates)[: _PLAYERS // 10]
        self.games.append(now.mean())
        self.random.append(random.mean())
        self.bottom.append(now[bottom].mean())
        self.random_bottom.append(random[bottom].mean())


class Shares:
    """What players got, and what random pairing would have given them."""

    def __init__(self) -> None:
        self._given, self._random, self._rounds = (np.zeros(_PLAYERS) for _ in range(3))
        self.least = np.inf

    def forget(self, places: Places) -> None:
        self._given[places] = self._random[places] = self._rounds[places] = 0.0

    def enter(self, rates: Floats, couples: Places) -> None:
        given, random = chances_of(rates, couples)
        self._given += given
        self._random += random
        self._rounds += 1
        stayed = self._rounds == _MIN_ROUNDS  # once for each player, so that all count alike
        if stayed.any():
            self.least = min(self.least, float((self._given / self._random)[stayed].min()))


def chances_of(rates: Floats, couples: Places) -> tuple[Floats, Floats]:
    """Return each player's chance of a game, and what it is under random pairing."""
    now = np.zeros(len(rates))
    now[couples] = rates[couples].prod(axis=1)[:, None]
    return now, random_chances_of_all(rates, _NOBODY, _NOBODY)


def play_known(floor: float, seed: int, rounds: int, warm_up: int) -> Population:
    """Match players whose rates are known."""
    people = Population(seed, rounds + warm_up)
    learner = Oracle(rates=tuple(people.all_rates)).learner(range(len(people.all_rates)))
    fairness = Fairness(floor)
    for turn in range(warm_up + rounds):
        for gone, _ in people.replace_some():
            fairness.forget(gone)
        names = people.names.tolist()
        matching = learner.suggest(names, debts=fairness.debts_of(names))
        shares = learner.shares(matching, names)
        assert shares is not None
        fairness.note(names, shares)
        place = {name: x for x, name in enumerate(names)}
        couples = np.array([(place[one], place[other]) for one, other in matching])
        people.play(couples, people.rates if turn >= warm_up else None)
    return people


def play_learned(
    floor: float, seed: int, rounds: int, warm_up: int, *, same_search: bool = False
) -> Population:
    """Match players by a learner."""
    people = Population(seed, rounds + warm_up)
    policy = RankOneThompson(period=4, prior="learned")
    learner = policy.learner(people.names.tolist(), seed, floor=floor)
    for turn in range(warm_up + rounds):
        for gone, new in people.replace_some():
            learner.leave(gone)
            learner.join(new)
        if same_search:
            matching = learner.suggest(debts=np.full(_PLAYERS, 1e-12))
            learner.record(matching)
        else:
            matching = learner.propose()
        names = people.names.tolist()
        place = {name: x for x, name in enumerate(names)}
        couples = np.array([(place[one], place[other]) for one, other in matching])
        rates = learner.rate_array(names)
        assert rates is not None
        played = people.play(couples, rates[0] if turn >= warm_up else None)
        learner.observe(matching, played.tolist())
    return people


def measure(quick: bool) -> list[dict[str, object]]:
    seeds, rounds, warm_up = ((3,), 120, 20) if quick else ((3, 4, 5), 500, 200)
    rows = list[dict[str, object]]()
    for rates, play in (("known", play_known), ("learned", play_learned)):
        runs = {floor: [play(floor, seed, rounds, warm_up) for seed in seeds] for floor in _FLOORS}
        gain = _gain(runs[0.0])
        rows += [_row(rates, floor, some, _gain(some) / gain) for floor, some in runs.items()]
        if rates == "learned":
            same = [play_learned(0.0, seed, rounds, warm_up, same_search=True) for seed in seeds]
            rows.append(_row(rates, "0, same search", same, _gain(same) / gain))
    return rows + list(compare_blocks(quick))


def _gain(runs: list[Population]) -> float:
    return float(np.mean([people.games for people in runs]) - _mean(runs, "random"))


def _mean(runs: list[Population], name: str) -> float:
    return float(np.mean([getattr(people, name) for people in runs]))


def _row(rates: str, floor: float | str, runs: list[Population], gain: float) -> dict[str, object]:
    least = [min(getattr(run, name).least for run in runs) for name in ("true", "believed")]
    # A floor of 1 leaves no slack to pay debts from.
    holds = isinstance(floor, str) or floor == 1.0 or least[1] >= floor - _SHORT
    values = (
        rates,
        floor,
        round(_mean(runs, "games"), 4),
        round(_mean(runs, "random"), 4),
        f"{gain:.0%}",
        round(_mean(runs, "bottom"), 4),
        round(_mean(runs, "random_bottom"), 4),
        round(least[0], 2),
        round(least[1], 2),
        holds and (floor != 0.5 or gain >= _MIN_GAIN),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def compare_blocks(quick: bool) -> Iterator[dict[str, object]]:
    """Compare matchings in blocks by standing with exact ones, of known rates."""
    for players, rounds in ((200, 20),) if quick else ((200, 100), (1_000, 10)):
        for floor in (0.5, 0.9):
            blocks, exact = (_stay(players, floor, rounds, exactly=each) for each in (False, True))
            for matched, (games, share) in (("in blocks", blocks), ("exactly", exact)):
                yield dict.fromkeys(_COLUMNS, "") | {
                    "rates": f"known, {players:,} stay, {matched}",
                    "floor": floor,
                    "games per player": round(games, 4),
                    "worst share": round(share, 2),
                    "holds": games > 0.99 * exact[0],
                }


def _stay(players: int, floor: float, rounds: int, *, exactly: bool) -> tuple[float, float]:
    """Return the games per player and round of players who stay, and the worst share."""
    rates = np.random.default_rng(3).beta(*_BETA, players)
    random = random_chances_of_all(rates, _NOBODY, _NOBODY)
    fairness, names, given = Fairness(floor), list(range(players)), np.zeros(players)
    for _ in range(rounds):
        added = weigh_debts(fairness.debts_of(names), random)
        low, high = np.triu_indices(players, 1)
        if not exactly:
            low, high = near_couples(rates, rates * (1.0 + added))
        graph = MeetingGraph.of_couples(players, low, high, np.ones(len(low))).plus(added)
        best = graph.best_matching(rates[graph.low] * rates[graph.high])
        now, _ = chances_of(rates, np.array(best.couples))
        fairness.note(names, now / random)
        given += now / rounds
    return float(given.mean()), float((given / random).min())
