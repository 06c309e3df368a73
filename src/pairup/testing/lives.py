"""Whole lives: random calls of everything a learner can be asked for, with saved copies on the way.

Calls are data, so that several learners live the same life, and so that a failing life can be cut
to the calls that matter. In one file because a life consists of its calls.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, count
from typing import Any, NamedTuple

from pairup.errors import PolicyError
from pairup.learning.feedback import CoupleFeedback
from pairup.learning.learner import Learner
from pairup.learning.serialization import unpack
from pairup.matching import Couple, Matching
from pairup.policies.contract import Policy
from pairup.testing.expectation import BrokenContractError, expect, expect_equal
from pairup.testing.playing import play
from pairup.testing.variants import Variant

SAVE = "to_bytes"
_LIVES, _TURNS = 12, 40
_FEW, _MANY = (0, 2, 3, 5, 8), 62  # players at first: of more than 64, some tables are others
_FIRST, _UNSEEN = "the learner", "a learner that nobody looks at"

Counts = Counter[frozenset[Hashable]]


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


_END = (Call(SAVE), Call("propose"), Call(SAVE))


class Life:
    """Learners that live the same life, and must agree.

    The first is inspected and saved, the second is not, and the others are copies of the first,
    made when it was last saved. One more records what the first proposes, and never proposes.
    """

    def __init__(self, variant: Variant, players: Sequence[str], seed: int) -> None:
        first, unseen, self._told = (variant.learner(players, seed) for _ in range(3))
        self._alike = {_FIRST: first, _UNSEEN: unseen}
        self._tries, self._games = Counts(), Counts()

    @property
    def learner(self) -> Learner:
        """The first of them."""
        return self._alike[_FIRST]

    def live(self, call: Call) -> None:
        """Make a call of each learner; an error names what differs."""
        if call.method == SAVE:
            self._save()
            return
        players, rate = self.learner.players, self._estimated_rate(call)
        results = {name: call.of(each) for name, each in self._alike.items()}
        result = results[_FIRST]
        if isinstance(result, Learner):
            self._alike, self._told = results, call.of(self._told)
            return
        if isinstance(result, Matching):
            _expect_proposal(result, players, **call.arguments)
        for name, other in results.items():
            expect_equal(_in_order(other), _in_order(result), f"{call.method}() of {name}")
        self._tell(call, result, rate)
        self._count(call)

    def _estimated_rate(self, call: Call) -> float | None:
        """Return the learner's estimate of the rate with which a player leaves."""
        leaves = call.method in ("leave", "forget")
        known = self.learner.rates([call.arguments["player"]]) if leaves else []
        return known[0].rate if known else None

    def _tell(self, call: Call, result: Any, rate: float | None) -> None:
        if call.method == "propose":
            self._told.record(result)
        elif call.method in ("leave", "forget"):
            Call(call.method, {"rate": rate} | call.arguments).of(self._told)
        elif call.method != "suggest":
            call.of(self._told)

    def _count(self, call: Call) -> None:
        """Count the outcomes of each couple, as policies that count them must."""
        given = call.arguments
        if call.method in ("observe", "learn"):
            for couple, played in _outcomes(**given):
                self._tries[couple] += 1
                self._games[couple] += played
        elif call.method == "forget" or (call.method == "leave" and given.get("forget", True)):
            for couple in [each for each in self._tries if given["player"] in each]:
                del self._tries[couple], self._games[couple]
        elif call.method == "rename":
            self._tries = _renamed(self._tries, given["names"])
            self._games = _renamed(self._games, given["names"])

    def _save(self) -> None:
        """Compare all learners, and add new copies."""
        learner, unseen = self._alike.pop(_FIRST), self._alike.pop(_UNSEEN)
        rebuilt = {
            "from_bytes(to_bytes())": Learner.from_bytes(learner.to_bytes()),
            "from_evidence(evidence(), cache())": Learner.from_evidence(
                learner.evidence(), learner.cache()
            ),
        }
        for copies in (self._alike, rebuilt):
            for name, copy in copies.items():
                _expect_same(copy, learner, f"of {name}")
        self._expect_counts(learner)
        _expect_same_facts(self._told, learner, "of a learner that was given the proposals")
        _expect_rebuilt(learner)
        self._alike = {_FIRST: learner, _UNSEEN: unseen} | rebuilt

    def _expect_counts(self, learner: Learner) -> None:
        found = {
            frozenset(each.couple): (each.proposed, each.played) for each in learner.estimates()
        }
        present = set(learner.players)
        counts = {
            couple: (tries, self._games[couple])
            for couple, tries in self._tries.items()
            if couple <= present
        }
        expect_equal(found, counts if found else {}, "estimates()")  # not all policies count


def _renamed(counts: Counts, names: Mapping[Hashable, Hashable]) -> Counts:
    return Counts(
        {frozenset(names.get(each, each) for each in couple): counts[couple] for couple in counts}
    )


def _outcomes(
    *,
    matching: Iterable[Couple] = (),
    couples: Iterable[Couple] = (),
    played: Any = None,
    accepted: Any = None,
    unknown: str = "",
) -> Iterator[tuple[frozenset[Hashable], bool]]:
    """Yield the outcomes that follow from the arguments of `observe` or `learn`."""
    for row, couple in enumerate([*matching, *couples]):
        game = played.get(couple) if isinstance(played, dict) else played and played[row]
        if isinstance(accepted, dict):
            one, other = (accepted.get(player) for player in couple)
        else:
            one, other = accepted[row] if accepted else (None, None)
        decision = CoupleFeedback((one, other), game).decision
        if decision is not None:
            yield frozenset(couple), decision


def _expect_proposal(
    matching: Matching,
    players: Sequence[Hashable],
    *,
    available: Sequence[Hashable] | None = None,
    apart: Iterable[Couple] = (),
    allowed: Iterable[Couple] | None = None,
    worth: Mapping[Couple, float] | None = None,
) -> None:
    """Raise for couples who may not meet, and for waiting players who may meet."""
    everyone = set(players if available is None else available)
    expect_equal(set(matching.players), everyone, "players of the matching")
    able = set(map(frozenset, combinations(everyone, 2) if allowed is None else allowed))
    able -= set(map(frozenset, apart))
    expect(able.issuperset(map(frozenset, matching)), "a couple who may not meet is proposed")
    waiting = map(frozenset, combinations(matching.waiting, 2))
    expect(able.isdisjoint(waiting), "two players wait who may meet")


def _in_order(result: Any) -> Any:
    return (result.couples, result.waiting) if isinstance(result, Matching) else result


def _expect_same(copy: Learner, learner: Learner, name: str) -> None:
    """Raise if a copy differs from the learner."""
    _expect_same_facts(copy, learner, name)
    leader = learner.leader
    expect(leader is None or set(leader.players) == set(learner.players), "leader of others")
    expect_equal(copy.leader, leader, f"leader {name}")
    everyone = [*learner.players, *learner.kept]
    expect_equal(copy.rates(everyone), learner.rates(everyone), f"rates() {name}")
    theirs, ours = copy.to_bytes(), learner.to_bytes()
    if theirs != ours:
        raise BrokenContractError(f"to_bytes() {name} differs in {_differing_parts(theirs, ours)}")


def _differing_parts(saved: bytes, other: bytes) -> str:
    """Name the parts in which two saved learners differ."""
    parts, others = (
        header | {name: array.tolist() for name, array in arrays.items()}
        for header, arrays in map(unpack, (saved, other))
    )
    return ", ".join(name for name in parts | others if parts.get(name) != others.get(name))


def _expect_same_facts(other: Learner, learner: Learner, name: str) -> None:
    """Raise if two learners have different evidence, whatever their policies make of it."""
    for what in ("players", "kept", "pending"):
        expect_equal(getattr(other, what), getattr(learner, what), f"{what} {name}")
    expect_equal(sorted(other.estimates()), sorted(learner.estimates()), f"estimates() {name}")
    expect_equal(other.evidence(), learner.evidence(), f"evidence() {name}")


def _expect_rebuilt(learner: Learner) -> None:
    """Raise if learners made from the evidence alone differ from it, or from each other later."""
    rebuilt, twin = (Learner.from_evidence(learner.evidence()) for _ in range(2))
    _expect_same_facts(rebuilt, learner, "of from_evidence(evidence())")
    futures = [[_in_order(each) for each in play(one, 2)] for one in (rebuilt, twin)]
    expect_equal(futures[0], futures[1], "matchings of from_evidence(evidence()), twice")


def goes_on_in_any_life(variant: Variant) -> None:
    """After any life a learner can be saved, and its copies stay identical to it."""
    for seed in range(_LIVES):
        draw = LifeDraw(seed, variant.given)
        players = [draw.new_player() for _ in range(_number_of_players(variant, seed))]
        life, script = Life(variant, players, seed), list[Call]()
        try:
            for call in _drawn(draw, life):
                script.append(call)
                life.live(call)
        except Exception as error:  # of the policy's own methods too
            raise _report(variant, players, seed, script, error) from error


def _number_of_players(variant: Variant, seed: int) -> int:
    """Return how many players begin a life: in every sixth one many, if the policy takes them."""
    if seed % (len(_FEW) + 1) < len(_FEW):
        return _FEW[seed % (len(_FEW) + 1)]
    takes_many = _is_accepted(lambda: variant.given.check_players(2 * _MANY))
    return _MANY if takes_many else max(_FEW)


def _drawn(draw: LifeDraw, life: Life) -> Iterator[Call]:
    for _ in range(_TURNS):
        yield from draw.turn(life.learner)
    yield from _END


def _report(
    variant: Variant, players: list[str], seed: int, script: list[Call], error: Exception
) -> BrokenContractError:
    """Return what differed and after which calls; calls that do not matter are left out."""
    said, length = _said(error), len(script)
    while length := length // 2:  # long stretches first, single calls last
        for place in reversed(range(0, len(script), length)):
            shorter = script[:place] + script[place + length :]
            if _kind(_difference(variant, players, seed, shorter)) == _kind(said):
                script = shorter
    policy = variant.learner(players, seed).policy
    lines = [f"learner = {policy}.learner({players}, seed={seed})", *map(str, script)]
    said = _difference(variant, players, seed, script) or said
    return BrokenContractError("\n    ".join([f"{said}\n  after these calls:", *lines]))


def _difference(variant: Variant, players: list[str], seed: int, script: Iterable[Call]) -> str:
    """Live a life again; returns what differed, or an empty string."""
    try:
        life = Life(variant, players, seed)
        for call in script:
            life.live(call)
    except Exception as error:
        return _said(error)
    return ""


def _said(error: Exception) -> str:
    is_found = isinstance(error, BrokenContractError)
    return str(error) if is_found else f"{type(error).__name__} {error}"


def _kind(said: str) -> str:
    """Return what differs, without the values."""
    return said.partition(":")[0]


RULES = (goes_on_in_any_life,)
