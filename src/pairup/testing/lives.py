"""Whole lives: random calls of everything a learner can be asked for, with saved copies on the way.

Calls are data, so that several learners live the same life, and so that a failing life can be cut
to the calls that matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pairup.errors import PolicyError
from pairup.learning.feedback import CoupleFeedback
from pairup.learning.learner import Learner
from pairup.learning.serialization import unpack
from pairup.matching import Couple, Matching
from pairup.testing.expectation import BrokenContractError, expect, expect_equal
from pairup.testing.life_calls import SAVE, Call, LifeDraw
from pairup.testing.playing import play
from pairup.testing.variants import Variant

_LIVES, _TURNS = 12, 40
_FEW, _MANY = (0, 2, 3, 5, 8), 62  # players at first: of more than 64, some tables are others
_END = (Call(SAVE), Call("propose"), Call(SAVE))
_FIRST, _UNSEEN = "the learner", "a learner that nobody looks at"

Counts = Counter[frozenset[Hashable]]


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
        _expect_same_facts(self._told, learner, "of a learner that was told of proposals")
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
        raise BrokenContractError(f"to_bytes() {name}: other {_differing_parts(theirs, ours)}")


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
    try:
        variant.given.check_players(2 * _MANY)
    except PolicyError:
        return max(_FEW)
    return _MANY


def _drawn(draw: LifeDraw, life: Life) -> Iterator[Call]:
    for _ in range(_TURNS):
        yield from draw.turn(life.learner)
    yield from _END


def _report(
    variant: Variant, players: list[str], seed: int, script: list[Call], error: Exception
) -> BrokenContractError:
    """Return what differed and after which calls; calls that do not matter are left out."""
    said = _said(error)
    for place in reversed(range(len(script))):
        shorter = script[:place] + script[place + 1 :]
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
