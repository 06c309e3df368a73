"""The couples that constraints let meet are exactly those, and no others are ever proposed."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, Recorded
from pairup.service.domain.matchmaking import filters
from pairup.service.domain.matchmaking.attributes import Attributes
from pairup.service.domain.matchmaking.candidates import MAX_SIDE, count_alone, find_couples
from pairup.service.domain.matchmaking.constraints import KINDS, Constraint, ConstraintError
from pairup.service.domain.matchmaking.filters import (
    CodeFilter,
    DistanceFilter,
    LatencyFilter,
    OverlapFilter,
    Waiting,
    make_filter,
)
from pairup.service.domain.matchmaking.recent_games import RecentGames, Window
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from pairup.service.domain.snapshot import durable_part, read_snapshot, write_snapshot
from tests.support.service.constraints import allowed_couples

NOW = 1_000 * SECOND
TIMES = (5, 20)  # seconds of waiting, after which a constraint may relax
VALUES = {
    "distance": st.integers(0, 12).map(float),
    "equal": st.sampled_from(["eu", "us", "as"]),
    "different": st.sampled_from(["host", "guest", "both"]),
    "overlap": st.lists(st.sampled_from(["en", "fr", "de", "es"]), max_size=2),
    "latency": st.dictionaries(
        st.sampled_from(["eu", "us"]), st.integers(0, 9).map(float), max_size=2
    ),
}


@st.composite
def constraints(draw):
    kind = draw(st.sampled_from(KINDS))
    steps = draw(st.lists(st.sampled_from(TIMES), unique=True, max_size=2).map(sorted))
    if kind in ("distance", "latency"):
        limits = sorted(draw(st.lists(st.integers(0, 8), min_size=3, max_size=3)))
        last = draw(st.sampled_from([limits[2], None]))
        relax = [
            {"after_s": s, "at_most": each}
            for s, each in zip(steps, (limits[1], last), strict=False)
        ]
        return {"kind": kind, "attribute": kind, "at_most": limits[0], "relax": relax}
    if kind == "cooldown":
        field = draw(st.sampled_from(["games", "within_s"]))
        limits = sorted(draw(st.lists(st.integers(0, 4), min_size=3, max_size=3)), reverse=True)
        relax = [{"after_s": s, field: each} for s, each in zip(steps, limits[1:], strict=False)]
        return {"kind": kind, field: limits[0], "relax": relax}
    return {"kind": kind, "attribute": kind, "relax": [{"after_s": s} for s in steps[:1]]}


@st.composite
def pools(draw, most=9):
    """Draw constraints, players, and games that were played, in the last seconds."""
    rules = draw(st.lists(constraints(), max_size=4))
    count = draw(st.integers(2, most))
    players = {}
    for number in range(1, count + 1):
        since = NOW - draw(st.sampled_from([0, 4, 5, 20, 60])) * SECOND
        values = {kind: draw(strategy) for kind, strategy in VALUES.items()}
        blocked = draw(st.lists(st.integers(1, count), max_size=2, unique=True))
        players[number] = {"since": since, **values, "block": blocked}
    couples = st.tuples(st.integers(1, count), st.integers(1, count)).filter(lambda c: c[0] != c[1])
    games = draw(st.lists(couples, max_size=8))
    meetings = [(game, NOW - (len(games) - place) * SECOND) for place, game in enumerate(games)]
    return rules, players, meetings


def waiting_of(rules, players, meetings):
    attributes, recent = Attributes(), RecentGames()
    for number, known in players.items():
        attributes.change(number, {kind: known[kind] for kind in VALUES})
        attributes.set_list(number, "block", known["block"])
    for couple, at in meetings:
        recent.note(couple, at, Window(4, 4))
    waited = np.array([(NOW - known["since"]) / SECOND for known in players.values()])
    return Waiting(list(players), waited, attributes, recent, NOW)


@settings(deadline=None, max_examples=400)
@given(pools(), st.randoms(use_true_random=False))
def test_the_couples_found_are_exactly_those_that_may_meet(drawn, random):
    rules, players, meetings = drawn
    waiting = waiting_of(rules, players, meetings)
    filters = [make_filter(Constraint.of(each), waiting) for each in rules]
    found = find_couples(filters, np.array([random.random() for _ in players]))
    numbers = {(a + 1, b + 1) for a, b in zip(*(each.tolist() for each in found[:2]), strict=True)}
    expected = allowed_couples(rules, players, meetings, NOW)
    assert numbers == expected
    alone = [x for x in range(len(players)) if x + 1 not in {p for both in expected for p in both}]
    counted = count_alone(filters, np.array(alone, np.int64), len(players))
    assert sum(counted.values()) == (len(alone) if rules else 0)


@settings(deadline=None, max_examples=60)
@given(pools(most=7))
def test_a_pool_proposes_couples_that_may_meet_only_and_a_replay_is_the_same(drawn):
    rules, players, _ = drawn
    pool = Pool(1)
    happen(pool, 0, events.Created("chess", Rules(constraints=rules).stored(), VERSION))
    for number, known in sorted(players.items(), key=lambda each: each[1]["since"]):
        happen(pool, known["since"], events.Joined([number], "away"))
        listed = [{"player": number, "attribute": "block", "players": known["block"]}]
        values = {kind: known[kind] for kind in VALUES}
        happen(pool, known["since"], events.Attributed([number], [values], listed))
    for number, known in sorted(players.items(), key=lambda each: each[1]["since"]):
        pool.players.move([number], "waiting", known["since"])
    event = pool.propose(NOW, NOW + 60 * SECOND, None, [])
    allowed = allowed_couples(rules, players, [], NOW)
    assert {tuple(sorted(game["players"])) for game in event.games} <= allowed
    met = {player for couple in allowed for player in couple}
    assert set(event.ruled["alone"] if event.ruled else ()) == (set(players) - met)
    left = set(event.waiting)
    assert not any(set(couple) <= left for couple in allowed)
    happen(pool, NOW, event)
    again = read_snapshot(1, pool.head, write_snapshot(pool))
    assert durable_part(again) == durable_part(pool)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(VALUES["latency"], min_size=2, max_size=9),
    st.lists(VALUES["overlap"], min_size=9, max_size=9),
)
def test_couples_are_compared_item_by_item_where_a_table_would_be_large(numbers, lists):
    n = len(numbers)
    low, high = np.triu_indices(n, 1)
    limits, lifted = np.arange(n, dtype=float), np.arange(n) == 1

    def allowed():
        filters = LatencyFilter("l", numbers, limits), OverlapFilter("o", lists[:n], lifted)
        return [each.allows(low, high).tolist() for each in filters]

    by_table = allowed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "_MAX_CELLS", 8)
        assert allowed() == by_table


def test_very_many_regions_take_memory_by_player_not_by_region():
    players = [{f"{player // 2}-{item}": 1.0 for item in range(256)} for player in range(2_000)]
    low = np.arange(0, 1_999)
    tracemalloc.start()
    found = LatencyFilter("l", players, np.ones(2_000)).allows(low, low + 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.tolist() == [True, False] * 999 + [True]
    assert peak < 400_000_000  # a table would take 4 GB


VERSION = {"package": "1", "code": "0"}


def happen(pool, at, event):
    pool.apply(Recorded.of(pool.seq + 1, max(at, pool.at), event))


@pytest.mark.parametrize("seed", range(6))
def test_of_many_whom_a_player_may_meet_the_nearest_are_listed_and_nobody_is_left_alone(seed):
    random, n = np.random.default_rng(seed), 400
    windows = random.choice([3.0, 40.0] if seed % 2 else [40.0], n)
    filters = [
        DistanceFilter("d", random.integers(0, 300, n).astype(float), windows),
        CodeFilter("e", random.integers(0, 2, n), random.random(n) < 0.02 * (seed > 2)),
        CodeFilter("s", random.integers(0, 2, n), np.zeros(n, np.bool_), equal=False),
    ][seed % 3 :: 2]
    found = find_couples(filters, random.random(n))
    low, high = np.triu_indices(n, 1)
    fine = np.all([each.allows(low, high) for each in filters], axis=0)
    expected = set(zip(low[fine].tolist(), high[fine].tolist(), strict=True))
    listed = set(zip(found.low.tolist(), found.high.tolist(), strict=True))
    assert listed < expected
    partners = np.bincount(np.concatenate([low[fine], high[fine]]), minlength=n)
    for a, b in expected - listed:
        assert found.capped[a] or found.capped[b]
        assert max(partners[a], partners[b]) > MAX_SIDE
    assert {x for couple in listed for x in couple} == {x for couple in expected for x in couple}
    assert all(tuple(sorted(couple)) in expected for couple in found.spread.tolist())
    assert len(listed) <= 2 * MAX_SIDE * n


@pytest.mark.parametrize(
    ("relax", "said"),
    [
        ([{"after_s": 5, "at_most": 1}], "would tighten"),
        ([{"after_s": 5, "at_most": None}, {"after_s": 6, "at_most": 9}], "would tighten"),
        ([{"after_s": 5, "at_most": 20}, {"after_s": 4, "at_most": 30}], "not later than 5"),
    ],
)
def test_a_relaxation_that_tightens_is_refused(relax, said):
    with pytest.raises(ConstraintError, match=said):
        Constraint.of({"kind": "distance", "attribute": "x", "at_most": 10, "relax": relax})
