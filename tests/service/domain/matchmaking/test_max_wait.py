"""Whoever has waited for `max_wait_s` is matched first, if anybody is there whom they may meet."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairup.service.domain import events
from pairup.service.domain.events import SECOND, Recorded
from pairup.service.domain.matchmaking.rules import Rules
from pairup.service.domain.pool import Pool
from tests.service.domain.matchmaking.test_constraints import VALUES, VERSION, constraints
from tests.support.service.constraints import allowed_couples, max_overdue

MAX_WAIT_S = 20


class Waiting:
    """A pool with its players beside it: attributes, since when they wait, and whom they met."""

    def __init__(self, **rules):
        self.rules = Rules(max_wait_s=MAX_WAIT_S, **rules)
        self.pool, self.players, self.meetings, self.now = Pool(1), {}, [], 0
        self.happen(events.Created("chess", self.rules.stored(), VERSION))

    def happen(self, event):
        self.pool.apply(Recorded.of(self.pool.seq + 1, self.now, event))

    def join(self, known):
        player = self.pool.players.last + 1
        self.players[player] = {"since": self.now, **known}
        self.happen(events.Joined([player], "waiting"))
        values = {name: value for name, value in known.items() if name != "block"}
        lists = [{"player": player, "attribute": "block", "players": known.get("block", [])}]
        self.happen(events.Attributed([player], [values], lists))

    def propose(self):
        """Propose; returns the couples, those that were allowed, and who was overdue."""
        event = self.pool.propose(self.now, self.now + SECOND, None, [])
        waiting = {player: self.players[player] for player in self.pool.players.waiting}
        self.happen(event)
        couples = {tuple(sorted(game["players"])) for game in event.games}
        allowed = allowed_couples(self.rules.constraints, waiting, self.meetings, self.now)
        long_ago = self.now - MAX_WAIT_S * SECOND
        return couples, allowed, {x for x, known in waiting.items() if known["since"] <= long_ago}

    def decide(self, draw):
        """Let each open game be played or not."""
        for key, game in list(self.pool.games.items()):
            played = draw()
            self.happen(events.Decided([list(key)], [played], [None], None, None))
            if played:
                self.meetings.append((game.players, self.now))
                for player in game.players:
                    self.players[player]["since"] = self.now


WORTH = [
    [],
    [{"kind": "waiting", "double_after_s": 5}],
    [{"kind": "distance", "attribute": "distance", "half_at": 0.5}],
]
KNOWN = st.fixed_dictionaries({**VALUES, "block": st.lists(st.integers(1, 8), max_size=2)})


@settings(deadline=None, max_examples=60)
@given(
    st.lists(constraints(), max_size=3),
    st.sampled_from(WORTH),
    st.sampled_from([0.0, 0.5]),
    st.lists(KNOWN, min_size=3, max_size=8),
    st.data(),
)
def test_as_many_overdue_players_as_possible_are_matched(limits, worth, floor, known, data):
    waiting = Waiting(constraints=limits, worth=worth, fairness={"floor": floor})
    for each in known[:-1]:
        waiting.join(each)
        waiting.now += data.draw(st.sampled_from([0, 5])) * SECOND
    for number in range(6):
        waiting.now += data.draw(st.sampled_from([1, 9])) * SECOND
        if number == 3:
            waiting.join(known[-1])
        if len(waiting.pool.players.waiting) < 2:
            continue
        couples, allowed, overdue = waiting.propose()
        assert couples <= allowed
        taken = {player for couple in couples for player in couple}
        assert len(taken & overdue) == max_overdue(allowed, overdue)
        assert not any(set(couple).isdisjoint(taken) for couple in allowed)
        waiting.decide(lambda: data.draw(st.booleans()))


@pytest.mark.parametrize("seed", range(4))
def test_no_overdue_player_is_left_for_others_who_have_not_waited_as_long(seed):
    """Though everybody's nearest candidates are the same few, of 60 hosts for 160 guests."""
    draw = random.Random(seed)
    near = {"kind": "distance", "attribute": "rating", "at_most": 400}
    waiting = Waiting(constraints=[{"kind": "different", "attribute": "side"}, near])
    for _ in range(100):
        waiting.join({"side": "guest", "rating": 1000.0 + draw.random()})
    waiting.now = 30 * SECOND
    for _ in range(60):
        waiting.join({"side": "guest", "rating": 1100.0 + draw.randrange(30)})
        waiting.join({"side": "host", "rating": 1200.0 + draw.randrange(260)})
    couples, allowed, overdue = waiting.propose()
    assert couples <= allowed
    served = {player for couple in couples for player in couple if overdue & set(couple)}
    for one, other in allowed:
        if {one, other} & overdue:
            assert {one, other} & served, "an overdue player waits, and so does a partner"
    within = sum(
        known["side"] == "host" and known["rating"] <= 1400 for known in waiting.players.values()
    )
    assert sum(bool(overdue & set(couple)) for couple in couples) >= within
