import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup import MatchingError, PlayerError
from pairup.learning.roster import Roster


@given(st.lists(st.integers(0, 9)))
def test_slots_stay_few_and_distinct(moves):
    roster, present, most = Roster([]), {}, 0
    for player in moves:
        if player in present:
            assert roster.leave(player) == present.pop(player)
        else:
            present[player] = roster.join(player)
        most = max(most, len(present))
        assert sorted(present.values()) == roster.slots.tolist()
        assert all(slot < most for slot in present.values())
        assert roster.players == tuple(sorted(present, key=present.__getitem__))
        assert all(roster.slot(player) == slot for player, slot in present.items())
        assert all(roster.names[slot] == player for player, slot in present.items())
    assert roster.copy().names == roster.names


def test_a_couple_has_its_lower_slot_first():
    roster = Roster(["ann", "bob", "cyd"])
    assert roster.slot_couple(("cyd", "bob")) == roster.slot_couple(["bob", "cyd"]) == (1, 2)
    assert roster.describe((0, 2)) == "'ann' and 'cyd'"
    with pytest.raises(MatchingError, match="with itself"):
        roster.slot_couple(("ann", "ann"))
    with pytest.raises(MatchingError, match="exactly two"):
        roster.slot_couple("ab")
    with pytest.raises(PlayerError, match="'dan' is not present"):
        roster.slot_couple(("ann", "dan"))


def test_slots_of_available_players_are_in_their_order():
    roster = Roster("abcd")
    assert roster.slots_of(iter("dab")).tolist() == [3, 0, 1]
    assert roster.slots_of([]).tolist() == []
    with pytest.raises(PlayerError, match="'a' is available twice"):
        roster.slots_of(["b", "a", "a"])


def test_a_refused_player_changes_nothing():
    roster = Roster("ab")
    for call in (lambda: roster.join("a"), lambda: roster.leave("x"), lambda: roster.join([])):
        with pytest.raises(PlayerError):
            call()
        assert roster.players == ("a", "b")
