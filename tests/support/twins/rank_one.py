"""Slow twin of rank-one Thompson sampling: every move weighs the whole posterior again.

What its rules settle:

Draws
    The k-th uniform number of a round is (bits + 1/2) / 2**53, of the upper 53 bits of
    word(word(policy_key, round), k), rounds from 0. Every `period`-th round, 0 included, draws.
Weights
    With a memory, an outcome of r rounds ago weighs 2**(-r / memory); all counts below are sums of
    such weights. Otherwise each outcome weighs 1.
Refreshes
    Before a draw, a player with m known outcomes among n available gains
    period * clip(2000 / (m + 1), 0.05, max(80 / n, 1)) of credit, and is refreshed once for each
    whole unit of it, players by slot. Slot i starts with credit i * 0.618... mod 1.
Moves
    A refresh moves the player's rate, then the player's against that of the partner it met most
    often (of several, the lowest), who moves by the inverse factor. A move takes two numbers u, v:
    its factor is (1 + s)/(1 - s), s = reach (2u - 1), and it is made when ln v is below what it
    gains in log posterior of the logarithms of the rates. Rates stay between 1e-30 and 1.
Players who left
    An outcome with a player who left at rate r counts as one with a player whose rate is known:
    the middle of that sixteenth of [0, 1] in which r lies. If r is not known, the outcome is lost.
Reach
    1/sqrt(1 + (1 + I)/4.3), I the Fisher information on the logarithm of the rate, or of the
    factor, at the means. Fitted by the first refresh, when the player's outcomes are over 1.1 times
    those of the last fit, and when a partner has left; before that it is 1 - 2**-53. With a memory,
    an outcome with partner j weighs in I as the player's outcomes do on average. Of outcomes with
    players who left, those missed stand for missed / (1 - p) tries each, p the chance to play at
    the mean, and the others for answers of the player.
Means
    After a draw, each mean moves towards the drawn rate by 20/(20 + draws before). Once any answer
    was told, or if the prior is learned, the mean of a player who was refreshed moves towards
    (a + y)/(a + b + y + n) instead, where y and n are the acceptances and declines of the player,
    and an outcome of which only is known that it was not played counts for both in the proportion
    that the drawn rates of its two players make likely. Once any answer was told, the mean of a
    player whose every answer is known is that number in each round.
Exploration
    Once any answer was told, a round that draws plays its draw only when the shares of outcomes not
    played of which no answer was told, of the last ones (all are halved when they are 1024), have
    added up to 1. In other rounds players of whom every answer is known are not refreshed.
Learned prior
    After a draw the mean and the mean square of the rates drawn of players with outcomes (expected
    values where every answer is known) are averaged, with weight 8n/(N + 8n) for n players after N
    draws of players before. One player of a uniform law counts beside those ever drawn. The prior
    is the Beta law with these moments, its parameters' sum between 0.5 and 100.
"""

import math

from tests.support.twins import streams

MIN_RATE = 1e-30
GRID = 16


class RankOneThompson:
    def __init__(self, players, period=2, key=0, prior="uniform", memory=None):
        self.n, self.period, self.key, self.round = players, period, key, 0
        self.learns, self.memory = prior == "learned", memory
        self.a, self.b = prior if isinstance(prior, tuple) else (1.0, 1.0)
        # (i, j, answer of i, answer of j) or (i, j, played), and the round.
        self.outcomes, self.rounds, self.lost = [], [], []
        self.rates, self.mean, self.drawn, self.fitted, self.credit, self.reach = (
            [None] * players for _ in range(6)
        )
        self.told, self.telling, self.due = False, [0, 0], 0.0
        self.law, self.law_draws, self.counted, self.law_players = [0.0, 0.0], 0.0, set(), 0
        for i in range(players):
            self._begin(i)

    def _begin(self, i):
        """Nothing is known of player i."""
        self.rates[i] = self.mean[i] = self.a / (self.a + self.b)
        self.drawn[i] = self.fitted[i] = 0.0
        self.credit[i] = i * 0.6180339887498949 % 1
        self.reach[i] = (1 - 2**-53, 1 - 2**-53)
        self.counted.discard(i)

    # --- what was observed -----------------------------------------------------------------------

    def observe(self, couples, played):
        for (i, j), game in zip(couples, played, strict=True):
            if not game and self.told:
                self._tell(1)
            self._take((i, j, game))

    def observe_answers(self, couples, answers):
        self.told = True
        for couple, answer in zip(couples, answers, strict=True):
            self._take((*couple, *answer))
            if tuple(answer) != (1, 1):
                self._tell(0)

    def _take(self, outcome):
        self.outcomes.append(outcome)
        self.rounds.append(self.round - 1)  # of the proposal

    def _tell(self, kind):
        self.telling[kind] += 1
        if sum(self.telling) >= 1024:
            self.telling = [count // 2 for count in self.telling]

    def forget(self, player, rate):
        """The player leaves, and another one takes its slot."""
        frozen = None if rate is None else (min(int(rate * GRID), GRID - 1) + 0.5) / GRID
        outcomes, rounds = self.outcomes, self.rounds
        self.outcomes, self.rounds = [], []
        for outcome, round in zip(outcomes, rounds, strict=True):
            if player not in outcome[:2]:
                self.outcomes.append(outcome)
                self.rounds.append(round)
                continue
            other = sum(outcome[:2]) - player
            self.fitted[other] = 0.0
            if len(outcome) == 4:  # what the other answered remains in any case
                answer = outcome[2 + outcome.index(other)]
                self.lost.append((other, answer, True, round, frozen is not None))
            elif frozen is not None:
                self.lost.append((other, "played" if outcome[2] else frozen, False, round, True))
        self.lost = [lost for lost in self.lost if lost[0] != player]
        self._begin(player)
        for i in range(self.n):
            if not self.met(i) and not any(lost[0] == i for lost in self.lost):
                self._begin(i)

    def weight(self, round):
        return 1.0 if self.memory is None else 2.0 ** ((round - self.round) / self.memory)

    def weighed(self):
        return [
            (outcome, self.weight(round))
            for outcome, round in zip(self.outcomes, self.rounds, strict=True)
        ]

    def log_posterior(self, rates):
        """Of the logarithms of the rates: hence a, not a - 1."""
        total = sum(self.a * math.log(r) + (self.b - 1) * math.log1p(-r) for r in rates)
        for (i, j, *outcome), weight in self.weighed():
            if len(outcome) == 1:
                both = rates[i] * rates[j]
                total += weight * (math.log(both) if outcome[0] else math.log1p(-both))
                continue
            for player, answer in zip((i, j), outcome, strict=True):
                total += weight * _log_answer(rates[player], answer)
        for player, kind, told, round, _ in self.lost:
            rate, weight = rates[player], self.weight(round)
            if told:
                total += weight * _log_answer(rate, kind)
            else:
                total += weight * (math.log(rate) if kind == "played" else math.log1p(-rate * kind))
        return total

    def met(self, i):
        met = sum(weight for outcome, weight in self.weighed() if i in outcome[:2])
        return met + self.gone(i)

    def gone(self, i):
        return sum(self.weight(round) for p, _, _, round, counts in self.lost if counts and p == i)

    def tries(self, i, j):
        return sum({i, j} == set(outcome[:2]) for outcome in self.outcomes)

    def unsure(self, i):
        missed = any(i in o[:2] and len(o) == 3 and not o[2] for o in self.outcomes)
        lost = any(p == i and not told and kind != "played" for p, kind, told, *_ in self.lost)
        return missed or lost

    # --- proposals -------------------------------------------------------------------------------

    def propose(self, available=None):
        available = list(range(self.n)) if available is None else sorted(available)
        self._fade()
        if self.learns:
            for i in available:
                if not self.drawn[i] and not self.met(i):
                    self.rates[i] = self.mean[i] = self.a / (self.a + self.b)
        self.plays_draw = False
        if self.round % self.period == 0:
            self.plays_draw = self._explores()
            self._draw(available, self.plays_draw)
        if self.told:
            for i in available:
                if not self.unsure(i):
                    self.mean[i] = self._expected(i)[0]
        values = self.rates if self.plays_draw else self.mean
        order = sorted(available, key=lambda i: -values[i])
        self.round += 1
        return sorted(tuple(sorted(order[x : x + 2])) for x in range(0, len(order) - 1, 2))

    def _explores(self):
        if not self.told:
            return True
        told, untold = self.telling
        self.due += untold / max(told + untold, 1)
        explores = self.due >= 1
        self.due -= explores
        return explores

    def _draw(self, available, explores):
        self.number, most = 0, max(80 / len(available), 1)
        refreshed = set()
        for i in available:
            if not explores and not self.unsure(i):
                continue
            self.credit[i] += self.period * min(max(2000 / (self.met(i) + 1), 0.05), most)
            while self.credit[i] >= 1:
                self.credit[i] -= 1
                self._refresh(i)
                refreshed.add(i)
        if self.told or self.learns:
            expected = {i: self._expected(i)[0] for i in refreshed}
            for i in refreshed:
                self._average(i, expected[i])
        else:
            for i in available:
                self._average(i, self.rates[i])
        if self.learns:
            self._learn_law(available)

    def _average(self, i, towards):
        self.mean[i] += 20 / (20 + self.drawn[i]) * (towards - self.mean[i])
        self.drawn[i] += 1

    def _fade(self):
        """With a memory, draws of earlier rounds count less too."""
        if self.memory is not None:
            factor = 2.0 ** (-1 / self.memory)
            self.drawn = [drawn * factor for drawn in self.drawn]
            self.fitted = [fitted * factor for fitted in self.fitted]
            self.law_draws *= factor

    def _learn_law(self, available):
        moments = []
        for i in available:
            if self.met(i):
                sure = self.told and not self.unsure(i)
                moments.append(self._expected(i) if sure else (self.rates[i], self.rates[i] ** 2))
                self.law_players += i not in self.counted
                self.counted.add(i)
        if not moments:
            return
        n = len(moments)
        share = 8 * n / (self.law_draws + 8 * n)
        for k in range(2):
            self.law[k] += share * (sum(each[k] for each in moments) / n - self.law[k])
        self.law_draws += n
        players = self.law_players + 1
        mean = (self.law[0] * (players - 1) + 1 / 2) / players
        square = (self.law[1] * (players - 1) + 1 / 3) / players
        both = min(max(mean * (1 - mean) / max(square - mean**2, 1e-6) - 1, 0.5), 100.0)
        self.a, self.b = max(mean * both, 0.05), max((1 - mean) * both, 0.05)

    def _expected(self, i):
        """Mean and mean square of the rate, over what the answers may have been."""
        accepted = declined = spread = 0.0
        for outcome, weight in self._answers(i):
            accepted += weight * outcome
            declined += weight * (1 - outcome)
            spread += weight * outcome * (1 - outcome)
        yes, answers = self.a + accepted, self.a + self.b + accepted + declined
        return yes / answers, (yes * (yes + 1) + spread) / (answers * (answers + 1))

    def _answers(self, i):
        """What player i is likely to have answered in each outcome, and its weight."""
        for outcome, weight in self.weighed():
            if i not in outcome[:2]:
                continue
            if len(outcome) == 4:
                answer = outcome[2 + outcome.index(i)]
                if answer >= 0:
                    yield answer, weight
            elif outcome[2]:
                yield 1, weight
            else:
                yield self._chance(i, self.rates[sum(outcome[:2]) - i]), weight
        for player, kind, told, round, _ in self.lost:
            if player == i and not (told and kind < 0):
                likely = kind if told else 1 if kind == "played" else self._chance(i, kind)
                yield likely, self.weight(round)

    def _chance(self, i, other):
        """That player i accepted, in a game that was not played."""
        return self.rates[i] * (1 - other) / (1 - self.rates[i] * other)

    def _refresh(self, i):
        partners = [self.tries(i, j) for j in range(self.n)]
        usual = partners.index(max(partners)) if any(partners) else None
        if self.met(i) > self.fitted[i]:
            self._fit(i, usual)
        self._move(i, self.reach[i][0])
        if usual is not None:
            self._move(i, self.reach[i][1], against=usual)

    def _fit(self, i, usual):
        apart = self.reach[i][1]
        if usual is not None:
            between = self._recency(i) * self.tries(i, usual) * self._odds(i, self.mean[usual])
            both = self._information(i) + self._information(usual) - 2 * between
            apart = 1 / math.sqrt(1 + (1 + both) / 4.3)
        self.reach[i] = (1 / math.sqrt(1 + (1 + self._information(i)) / 4.3), apart)
        self.fitted[i] = 1.1 * self.met(i)

    def _odds(self, i, other):
        return self.mean[i] * other / (1 - self.mean[i] * other)

    def _recency(self, i):
        tries = sum(self.tries(i, j) for j in range(self.n))
        return (self.met(i) - self.gone(i)) / max(tries, 1)

    def _information(self, i):
        """Fisher information on the logarithm of the rate."""
        total = 0.0
        for j in range(self.n):
            total += self._recency(i) * self.tries(i, j) * self._odds(i, self.mean[j])
        declined = sum(
            weight
            for (one, other, *answers), weight in self.weighed()
            if (one, *answers[:1]) == (i, 0) or (other, *answers[1:]) == (i, 0)
            if len(answers) == 2
        )
        declined += sum(
            self.weight(round)
            for player, kind, told, round, _ in self.lost
            if player == i and told and kind == 0
        )
        total += declined * self.mean[i]
        known = 0.0
        for player, kind, told, round, _ in self.lost:
            if player == i and not told and kind != "played":
                tries = self.weight(round) / (1 - self.mean[i] * kind)
                total += tries * self._odds(i, kind)
                known += tries
        return total + max(self.gone(i) - known, 0.0) * self._odds(i, 1.0)

    def _move(self, i, reach, against=None):
        shift, luck = reach * (2 * self._uniform() - 1), self._uniform()
        factor, rates = (1 + shift) / (1 - shift), list(self.rates)
        rates[i] *= factor
        if against is not None:
            rates[against] /= factor
        if not all(MIN_RATE < rate < 1 for rate in rates):
            return
        if math.log(luck) < self.log_posterior(rates) - self.log_posterior(self.rates):
            self.rates = rates

    def _uniform(self):
        bits = streams.word(streams.word(self.key, self.round), self.number) >> 11
        self.number += 1
        return (bits + 0.5) / 2**53


def _log_answer(rate, answer):
    if answer < 0:
        return 0.0
    return math.log(rate) if answer else math.log1p(-rate)
