"""What `Learner.observe` is given, read couple by couple."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np

from pairup.errors import ObservationError
from pairup.learning.feedback import CODES, ObservedCouples, decide
from pairup.learning.roster import Couples, Roster, SlotCouple

Played = Iterable[bool] | Mapping[tuple[Hashable, Hashable], bool] | None
Accepted = Mapping[Hashable, bool] | None
Outcomes = list[bool | None]


def read_observation(
    roster: Roster, matching: Iterable[Iterable[Hashable]], played: Played, accepted: Accepted
) -> ObservedCouples:
    """Return the couples that were decided, with what is known of each, or refuse it."""
    slots = roster.couples("a matching", matching)
    answers = _answers(roster, slots, accepted)
    if played is None and accepted is not None:
        played = {}
    if isinstance(played, Mapping):
        slots, outcomes = _by_couple(roster, slots, played)
    else:
        outcomes = _in_order(roster, slots, played)
    codes = np.fromiter(map(CODES.__getitem__, outcomes), np.int8, len(slots))
    known = np.full(slots.shape, -1, np.int8)
    if answers:
        by_player = [CODES[answers.get(slot)] for slot in slots.ravel().tolist()]
        known[:] = np.array(by_player, np.int8).reshape(-1, 2)
    return decide(slots, known, codes, lambda row: roster.describe(slots[row].tolist()))


def _answers(roster: Roster, couples: Couples, accepted: Accepted) -> dict[int, bool]:
    if not isinstance(accepted, Mapping | None):
        raise ObservationError(
            f"answers are a mapping from players to True or False, got {accepted!r}: write "
            "accepted={player: True}"
        )
    if not accepted:
        return {}
    proposed, answers = set(couples.ravel().tolist()), {}
    for player, value in accepted.items():
        slot = roster.slot(player)
        if slot not in proposed:
            raise ObservationError(
                f"player {player!r} answered but is in no couple of the matching: observe the "
                "matching that proposed the game"
            )
        if not isinstance(value, bool | np.bool_):
            raise ObservationError(
                f"the answer of player {player!r} must be True or False, got {value!r}: leave "
                "out a player whose answer is not known"
            )
        answers[slot] = bool(value)
    return answers


def _by_couple(
    roster: Roster, slots: Couples, played: Mapping[tuple[Hashable, Hashable], bool]
) -> tuple[Couples, Outcomes]:
    """List the couples and outcomes of a mapping, then the couples that are not in it."""
    couples: list[SlotCouple] = [(i, j) for i, j in slots.tolist()]
    proposed, outcomes = set(couples), dict[SlotCouple, bool]()
    for names, value in played.items():
        couple = roster.slot_couple(names)
        if couple not in proposed:
            raise ObservationError(
                f"{roster.describe(couple)} have an outcome but are not a couple of the matching: "
                "observe them with the matching that proposed them"
            )
        if couple in outcomes:
            raise ObservationError(
                f"{roster.describe(couple)} have two outcomes: give one, in either order"
            )
        outcomes[couple] = _checked_outcome(roster, couple, value)
    rest = [couple for couple in couples if couple not in outcomes]
    listed = np.array([*outcomes, *rest], np.int64).reshape(-1, 2)
    return listed, [*outcomes.values(), *([None] * len(rest))]


def _in_order(roster: Roster, couples: Couples, played: Iterable[bool] | None) -> Outcomes:
    if not isinstance(played, Iterable):
        raise ObservationError(
            f"outcomes are a list of True or False, one per couple, got {played!r}: "
            f"write [{played!r}] for a single couple"
        )
    values: Outcomes = list(played)
    if len(values) != len(couples):
        raise ObservationError(
            f"each couple needs an outcome, got {len(values)} for {len(couples)} couples: "
            "give a mapping from couples if only some are known"
        )
    if set(map(type, values)) <= {bool}:
        return values
    pairs = zip(couples.tolist(), values, strict=True)
    return [_checked_outcome(roster, couple, value) for couple, value in pairs]


def _checked_outcome(roster: Roster, couple: Sequence[int], value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ObservationError(
            f"the outcome of {roster.describe(couple)} must be True or False, got {value!r}: leave "
            "the couple out of a mapping if it is not known"
        )
    return bool(value)
