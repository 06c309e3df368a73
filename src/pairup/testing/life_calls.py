"""The calls that make up whole lives, drawn at random: everything a learner can be asked for."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, count
from typing import Any, NamedTuple

from pairup.errors import PolicyError
from pairup.learning.learner import Learner
from pairup.matching import Couple, Matching
from pairup.policies.contract import Policy

SAVE = "to_bytes"


class Call(NamedTuple):
    """A call of a method of a learner, with its arguments by name.

    Examples
    --------
    >>> print(Call("propose", {"available": ["p1", "p2"]}))
    learner.propose(available=['p1', 'p2'])
    """

    method: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 # never changed

    def of(self, learner: Learner) -> Any:
        """Call the method of a learner."""
        return getattr(learner, self.method)(**self.arguments)

    def __str__(self) -> str:
        given = ", ".join(f"{name}={_code(value)}" for name, value in self.arguments.items())
        copied = "  # and copies made from it go along" if self.method == SAVE else ""
        return f"learner.{self.method}({given}){copied}"


def _code(value: Any) -> str:
    if isinstance(value, Matching):
        return f"Matching({list(value)}, {list(value.waiting)})"
    return str(value) if isinstance(value, Policy) else repr(value)


class LifeDraw(random.Random):
    """Draws the calls of a life that a policy supports."""

    def __init__(self, seed: int, policy: Policy, *, plays_graphs: bool = True) -> None:
        super().__init__(seed)
        self._numbers = count()
        self._policy = policy
        self._plays_graphs = plays_graphs and _is_accepted(policy.check_graph)

    def new_player(self) -> str:
        """Return a name that nobody has had."""
        return f"p{next(self._numbers)}"

    def turn(self, learner: Learner) -> Iterator[Call]:
        """Draw what happens next, in one call or several, if it is possible now."""
        step = self.choices(list(_STEPS), list(_STEPS.values()))[0]
        yield from step(self, learner)

    def _propose(self, learner: Learner) -> Iterator[Call]:
        yield Call("propose", self._rules(learner))

    def _suggest(self, learner: Learner) -> Iterator[Call]:
        yield Call("suggest", self._rules(learner))

    def _record(self, learner: Learner) -> Iterator[Call]:
        players = self._some(learner.players)
        couples = list(zip(players[::2], players[1::2], strict=False))
        yield Call("record", {"matching": Matching(couples, players[2 * len(couples) :])})

    def _observe(self, learner: Learner) -> Iterator[Call]:
        couples = [self._turned(each) for each in self._some(learner.pending)]
        if couples:
            yield Call("observe", {"matching": couples} | self._outcomes(couples))

    def _play(self, learner: Learner) -> Iterator[Call]:
        """Draw some rounds in which everybody is available, and every outcome is known."""
        for _ in range(self.randint(5, 30)):
            yield Call("propose")
            couples = list(learner.pending)
            played = [self.random() < 0.5 for _ in couples]
            yield Call("observe", {"matching": couples, "played": played})

    def _learn(self, learner: Learner) -> Iterator[Call]:
        unknown = self.choice(["refuse", "join", "keep"] if self._takes(learner, 2) else ["keep"])
        names = [*learner.players, *learner.kept]
        names += [] if unknown == "refuse" else [self.new_player(), self.new_player()]
        if len(names) < 2:
            return
        couples = [tuple(self.sample(names, 2)) for _ in range(self.randint(1, 12))]
        answers: list[Any] = [(self.random() < 0.6, self.random() < 0.6) for _ in couples]
        given: dict[str, Any] = {"couples": couples, "unknown": unknown}
        if self.random() < 0.7:
            given["played"] = [all(both) for both in answers]
            answers = [both if self.random() < 0.5 else (None, None) for both in answers]
        if "played" not in given or self.random() < 0.5:
            given["accepted"] = answers
        yield Call("learn", given)

    def _join(self, learner: Learner) -> Iterator[Call]:
        for _ in range(self.randint(1, 3)):
            if self._takes(learner, 1):
                yield Call("join", {"player": self.new_player()})

    def _come_back(self, learner: Learner) -> Iterator[Call]:
        for player in self._some(learner.kept):
            if self._takes(learner, 1):
                yield Call("join", {"player": player})

    def _leave(self, learner: Learner) -> Iterator[Call]:
        if learner.players:
            forgets = {"forget": self.random() < 0.5}
            yield Call("leave", {"player": self.choice(learner.players)} | forgets | self._rate())

    def _all_leave(self, learner: Learner) -> Iterator[Call]:
        for player in learner.players:
            yield Call("leave", {"player": player} | self._rate())

    def _forget(self, learner: Learner) -> Iterator[Call]:
        if learner.kept:
            yield Call("forget", {"player": self.choice(learner.kept)} | self._rate())

    def _fade(self, learner: Learner) -> Iterator[Call]:
        if type(self._policy).fade is not Policy.fade:
            yield Call("fade", {"half_lives": self.choice([0.0, 0.1, 1.0, 40.0, 2_000.0])})

    def _withdraw(self, learner: Learner) -> Iterator[Call]:
        yield Call("withdraw", {"matching": self._some(learner.pending)})

    def _rename(self, learner: Learner) -> Iterator[Call]:
        players = self._some([*learner.players, *learner.kept])
        swapped, new = players[1:] + players[:1], [self.new_player() for _ in players]
        names = self.choice([swapped, new])
        yield Call("rename", {"names": dict(zip(players, names, strict=True))})

    def _with_policy(self, learner: Learner) -> Iterator[Call]:
        yield Call("with_policy", {"policy": learner.policy, "seed": self.randrange(100)})

    def _save(self, learner: Learner) -> Iterator[Call]:
        yield Call(SAVE)

    def _takes(self, learner: Learner, more: int) -> bool:
        players = len(learner.players) + more
        return _is_accepted(lambda: self._policy.check_players(players))

    def _some(self, items: Iterable[Any]) -> list[Any]:
        everything = list(items)
        return self.sample(everything, self.randint(0, len(everything)))

    def _turned(self, couple: Couple) -> Couple:
        return couple if self.random() < 0.5 else couple[::-1]

    def _rate(self) -> dict[str, Any]:
        return self.choice([{}, {}, {"rate": None}, {"rate": 0.25}])

    def _rules(self, learner: Learner) -> dict[str, Any]:
        """Draw who is available, who must not meet, and on which graph."""
        rules: dict[str, Any] = {}
        if self.random() < 0.5:
            rules["available"] = self._some(learner.players)
        couples = list(combinations(rules.get("available", learner.players), 2))
        if self.random() < 0.3:
            rules["apart"] = self._some(couples)[:5]
        if self._plays_graphs and self.random() < 0.3:
            rules["allowed"] = self._some(couples)
        if self._plays_graphs and self.random() < 0.3:
            rules["worth"] = {each: self.choice([0.5, 1.0, 3.0]) for each in self._some(couples)}
        return rules

    def _outcomes(self, couples: list[Couple]) -> dict[str, Any]:
        """Draw a report about couples: outcomes, answers or both, of all of them or of some."""
        accepted = {player: self.random() < 0.6 for couple in couples for player in couple}
        played = {couple: all(accepted[player] for player in couple) for couple in couples}
        given: dict[str, Any] = {}
        told = self.choice(["all", "some", "answers", "both"])
        if told in ("all", "both"):
            given["played"] = list(played.values())
        if told == "some":
            given["played"] = {couple: played[couple] for couple in self._some(couples)}
        if told in ("answers", "both"):
            given["accepted"] = {player: accepted[player] for player in self._some(accepted)}
        return given


# How often each happens beside the others.
_STEPS: dict[Callable[[LifeDraw, Learner], Iterator[Call]], float] = {
    LifeDraw._propose: 8,
    LifeDraw._suggest: 1,
    LifeDraw._record: 1,
    LifeDraw._observe: 6,
    LifeDraw._play: 2,
    LifeDraw._learn: 2,
    LifeDraw._join: 2,
    LifeDraw._come_back: 1,
    LifeDraw._leave: 3,
    LifeDraw._all_leave: 0.2,
    LifeDraw._forget: 1,
    LifeDraw._fade: 1,
    LifeDraw._withdraw: 1,
    LifeDraw._rename: 1,
    LifeDraw._with_policy: 0.5,
    LifeDraw._save: 8,
}


def _is_accepted(check: Callable[[], None]) -> bool:
    try:
        check()
    except PolicyError:
        return False
    return True
