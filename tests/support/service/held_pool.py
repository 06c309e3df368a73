"""A pool with a holdout, whose simulated players come, answer and go."""

import numpy as np

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, Recorded
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from tests.support.service.constraints import allowed_couples

VERSION = {"package": "1", "code": "0"}


class HeldPool:
    """A pool without a store, its log, and players with rates from a Beta distribution."""

    def __init__(self, seed, players, holdout, churn=0.0, step_s=1, beta=(2, 3), **rules):
        self.rules = Rules.of({"holdout": holdout, "seed": seed, **rules})
        self.draw, self.churn, self.step = np.random.default_rng(seed), churn, step_s * SECOND
        self.pool, self.log, self.now = Pool(1), [], 1_000_000 * SECOND
        self.rates, self.known, self.beta = {}, {}, beta
        self.chances = {arm: [] for arm in ("policy", "control", "mixed", None)}  # of all games
        self.happen(events.Created("chess", self.rules.stored(), VERSION))
        if players:
            self.come(players)

    def happen(self, event):
        self.log.append(Recorded.of(self.pool.seq + 1, self.now, event))
        self.pool.apply(self.log[-1])

    def come(self, count, **attributes):
        last = self.pool.players.last
        new = list(range(last + 1, last + 1 + count))
        self.rates |= dict(zip(new, self.draw.beta(*self.beta, count).tolist(), strict=True))
        self.happen(events.Joined(new, "waiting"))
        if attributes:
            self.happen(events.Attributed(new, [attributes] * count, []))
        self.known |= {each: {"since": self.now, **attributes} for each in new}

    def allowed_couples(self):
        waiting = {each: self.known[each] for each in self.pool.players.waiting}
        return allowed_couples(self.rules.constraints, waiting, [], self.now)

    def propose(self):
        event = self.pool.propose(self.now, self.now + SECOND, None, [])
        self.happen(event)
        return event

    def release(self):
        self.happen(events.Released([list(key) for key in self.pool.games], "released"))

    def decide(self):
        games = list(self.pool.games.values())
        chances = [self.chance(*game.players) for game in games]
        for game, chance in zip(games, chances, strict=True):
            self.chances[game.arm].append(chance)
        played = (self.draw.random(len(games)) < chances).tolist()
        causes = [None if each else "unstated" for each in played]
        keys = [list(game.key) for game in games]
        self.happen(events.Decided(keys, played, causes, None, None))

    def chance(self, one, other):
        """Return how likely two players are to play."""
        return self.rates[one] * self.rates[other]

    def play_round(self):
        """Let some players be replaced, then propose and decide; returns the proposal."""
        self.now += self.step
        gone = [each for each in self.pool.players if self.draw.random() < self.churn]
        if gone:
            self.happen(events.Left(gone, True, self.pool.rates(gone)))
            self.come(len(gone))
        event = self.propose()
        self.decide()
        return event

    @property
    def gain(self):
        """The policy's share of games less that of the control arm, by true rates."""
        return float(np.mean(self.chances["policy"]) - np.mean(self.chances["control"]))
