"""What `Learner.observe` is given, read couple by couple."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

import numpy as np

from pairup.errors import ObservationError
from pairup.learning.feedback import CoupleFeedback
from pairup.learning.roster import Roster, SlotCouple

Played = Iterable[bool] | Mapping[tuple[Hashable, Hashable], bool] | None
Accepted = Mapping[Hashable, bool] | None
ObservedCouples = list[tuple[SlotCouple, CoupleFeedback]]
Outcome = tuple[SlotCouple, bool | None]


def read_observation(
    roster: Roster, matching: Iterable[Iterable[Hashable]], played: Played, accepted: Accepted
) -> ObservedCouples:
    """List the couples that were decided, with what is known of each, or refuse what was given."""
    couples = roster.slot_couples("a matching", matching)
    answers = _answers(roster, couples, accepted)
    if played is None and accepted is not None:
        played = {}
    if isinstance(played, Mapping):
        outcomes = _by_couple(roster, couples, played)
    else:
        outcomes = _in_order(roster, couples, played)
    observed = []
    for (one, other), outcome in outcomes:
        feedback = CoupleFeedback((answers.get(one), answers.get(other)), outcome)
        observed.append(((one, other), feedback.checked(roster.describe((one, other)))))
    return [(couple, feedback) for couple, feedback in observed if feedback.decision is not None]


def _answers(roster: Roster, couples: list[SlotCouple], accepted: Accepted) -> dict[int, bool]:
    if not isinstance(accepted, Mapping | None):
        raise ObservationError(
            f"answers are a mapping from players to True or False, got {accepted!r}: write "
            "accepted={player: True}"
        )
    proposed = {slot for couple in couples for slot in couple}
    answers = {}
    for player, value in (accepted or {}).items():
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
    roster: Roster, couples: list[SlotCouple], played: Mapping[tuple[Hashable, Hashable], bool]
) -> list[Outcome]:
    """List the outcomes of a mapping, then the couples that are not in it."""
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
    rest = [(couple, None) for couple in couples if couple not in outcomes]
    return [*outcomes.items(), *rest]


def _in_order(
    roster: Roster, couples: list[SlotCouple], played: Iterable[bool] | None
) -> list[Outcome]:
    if not isinstance(played, Iterable):
        raise ObservationError(
            f"outcomes are a list of True or False, one per couple, got {played!r}: "
            f"write [{played!r}] for a single couple"
        )
    values = list(played)
    if len(values) != len(couples):
        raise ObservationError(
            f"each couple needs an outcome, got {len(values)} for {len(couples)} couples: "
            "give a mapping from couples if only some are known"
        )
    return [
        (couple, _checked_outcome(roster, couple, value))
        for couple, value in zip(couples, values, strict=True)
    ]


def _checked_outcome(roster: Roster, couple: SlotCouple, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ObservationError(
            f"the outcome of {roster.describe(couple)} must be True or False, got {value!r}: leave "
            "the couple out of a mapping if it is not known"
        )
    return bool(value)
