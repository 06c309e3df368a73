"""A pool as a few plain dictionaries, written from what the documentation promises."""

import itertools
from collections import Counter
from dataclasses import dataclass, field

SECOND = 1_000_000


@dataclass
class Game:
    matching: str
    players: tuple
    proposed: int
    lifetime: int
    state: str = "proposed"
    played: bool | None = None
    answers: dict = field(default_factory=dict)
    learnt: bool = False
    late: bool = False
    cause: str | None = None

    @property
    def over(self):
        return self.state in ("released", "expired")


def verdict(played, answers):
    """Whether a game was played, as far as it follows."""
    if played is not None:
        return played
    if {"declined", "timed_out"} & set(answers.values()):
        return False
    return True if len(answers) == 2 else None


def sensible(game, outcome, answers):
    """Whether a report can be true at all."""
    if outcome is None and not answers:
        return False
    said = [answers.get(player) for player in game.players]
    if not set(answers) <= set(game.players):
        return False
    if outcome == "played":
        return not {"declined", "timed_out"} & set(said)
    return not (outcome == "cancelled" and said == ["accepted", "accepted"])


class ModelPool:
    """What a pool must do, by the rules it was given."""

    def __init__(self, lifetime=60):
        self.rules = {
            "lifetime_s": lifetime,
            "unreported": "discard",
            "timeout_declines": False,
            "after_game": "waiting",
        }
        self.players, self.games, self.imports = {}, {}, {}
        self.evidence = []  # (player, partner, accepted, by its own answer)
        self.couples = {}
        self.feedback = Counter()
        self.counts, self.causes, self.taken_back = Counter(), Counter(), Counter()

    def tick(self, now):
        """Let what is due expire."""
        self.now = now
        due = [
            game
            for game in self.games.values()
            if game.state == "proposed"
            and not game.proposed - game.lifetime <= self.now < game.proposed + game.lifetime
        ]
        for game in due:
            game.state, game.cause = "expired", "unreported"
            self.counts["expired"] += 1
            self.feedback["missing"] += 1
            if self.rules["unreported"] == "cancelled":
                self.causes["unreported"] += 1
                self._learn(game, False, {})

    def game_of(self, player):
        for id, game in self.games.items():
            if game.state == "proposed" and player in game.players:
                return id
        return None

    def status(self, player):
        return "proposed" if self.game_of(player) else self.players[player]

    @property
    def waiting(self):
        return sorted(p for p in self.players if self.status(p) == "waiting")

    def join(self, player, status):
        self.players[player] = status

    def leave(self, player):
        if self.game_of(player):
            self._release(self.games[self.game_of(player)], "left")
        del self.players[player]
        self.couples = {c: known for c, known in self.couples.items() if player not in c}
        # What common games taught about others remains theirs.
        self.evidence = [each for each in self.evidence if player != each[0]]

    def propose(self, matching, games):
        lifetime = round(self.rules["lifetime_s"] * SECOND)
        for id, players in games.items():
            self.games[id] = Game(matching, players, self.now, lifetime)
        self.counts["proposed"] += len(games)
        self.counts["matchings"] += 1

    def release(self, matching):
        for game in self.games.values():
            if game.matching == matching and game.state == "proposed":
                self._release(game, "released")

    def _release(self, game, cause):
        game.state, game.cause = "released", cause
        self.taken_back[cause] += 1

    def report(self, id, outcome, answers):
        """Take in a report; returns what must be answered."""
        game = self.games[id]
        said = {player: what for player, what in answers.items() if what != "unknown"}
        if not sensible(game, outcome, answers):
            return "invalid-request"
        self.counts["reports"] += 1
        played = {None: None, "played": True, "cancelled": False}[outcome]
        if self._contradicts(game, played, said):
            self.feedback["contradicting"] += 1
            return "contradicting-outcome"
        news = not set(said) <= set(game.answers) or (
            verdict(game.played, game.answers) is None and verdict(played, said) is not None
        )
        if not news:
            self.feedback["repeated"] += 1
            return "repeated"
        game.answers = {**game.answers, **said}
        decision = verdict(game.played if played is None else played, game.answers)
        return self._take(game, decision)

    def _contradicts(self, game, played, said):
        if any(game.answers.get(player, what) != what for player, what in said.items()):
            return True
        both = verdict(None, {**game.answers, **said})
        return {True, False} <= {verdict(game.played, game.answers), verdict(played, said), both}

    def _take(self, game, decision):
        if game.over:
            self.feedback["late"] += not game.late
            self.feedback["missing"] -= game.state == "expired" and not game.late
            game.late, game.played = True, decision
            return "late"
        if game.state != "proposed":
            self.feedback["noted"] += 1
            return "noted"
        if decision is None:
            return "noted"
        game.state, game.played = ("played" if decision else "cancelled"), decision
        if decision:
            for player in game.players:
                if self.players[player] == "waiting":
                    self.players[player] = self.rules["after_game"]
            self.counts["played"] += 1
        else:
            game.cause = next(
                (cause for cause in ("declined", "timed_out") if cause in game.answers.values()),
                "unstated",
            )
            self.causes[game.cause] += 1
        self._learn(game, decision, game.answers)
        return "learnt"

    def _learn(self, game, played, answers):
        game.learnt = True
        self.counts["learnt"] += 1
        tried, games = self.couples.get(game.players, (0, 0))
        self.couples[game.players] = tried + 1, games + played
        declines = {"declined"} | ({"timed_out"} if self.rules["timeout_declines"] else set())
        declined = [player for player in game.players if answers.get(player) in declines]
        for player, partner in itertools.permutations(game.players):
            accepted = answers.get(player) == "accepted"
            if played:
                own = "accepted" in answers.values()
                self.evidence.append((player, partner, True, own))
            elif player in declined or (declined and accepted):
                self.evidence.append((player, partner, accepted, True))

    def import_rows(self, source, first, rows):
        """Take in rows of a source, (player, player, answers, played); returns the next row."""
        taken = self.imports.get(source, 0)
        if first == taken:
            for one, other, answers, played in rows:
                for player in (one, other):
                    self.players.setdefault(player, "away")
                accepted = {one: answers[0], other: answers[1]}
                self._learn_past(tuple(sorted((one, other))), accepted, played)
            self.imports[source] = taken + len(rows)
            self.counts["imported"] += len(rows)
        return self.imports.get(source, 0)

    def _learn_past(self, couple, accepted, played):
        """Learn a game of the past: in one not played, an acceptance shows who declined."""
        told = {player: said for player, said in accepted.items() if said is not None}
        played = all(accepted.values()) if played is None else played
        tried, games = self.couples.get(couple, (0, 0))
        self.couples[couple] = tried + 1, games + played
        if not played and list(told.values()) == [True]:
            told |= {player: False for player in couple if player not in told}
        for player, partner in itertools.permutations(couple):
            if played:
                self.evidence.append((player, partner, True, bool(told)))
            elif player in told:
                self.evidence.append((player, partner, told[player], True))

    def answers_of(self, player):
        mine = [accepted for who, _, accepted, _ in self.evidence if who == player]
        return sum(mine), len(mine) - sum(mine)


def max_couples(players, apart):
    """How many games the players can play at once, by trying."""
    if len(players) < 2:
        return 0
    first, *others = players
    best = max_couples(others, apart)
    for other in others:
        if frozenset((first, other)) not in apart:
            rest = [player for player in others if player != other]
            best = max(best, 1 + max_couples(rest, apart))
    return best
