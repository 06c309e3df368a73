"""The rule about indices: compiled steps do not check them, and would overwrite other memory."""

from __future__ import annotations

from pairup.compiled.third_party.steps import checked_bounds
from pairup.testing.expectation import expect
from pairup.testing.variants import Variant


def stays_within_its_arrays(variant: Variant) -> None:
    """Steps read and write within their arrays."""
    with checked_bounds():
        for players in (2, 5, 8):
            learner, step = variant.learner(range(players)), "set_available or propose"
            try:
                for round in range(20):
                    step = "set_available or propose"
                    matching = learner.propose(range(players - round % 2))
                    step = "observe"
                    learner.observe(matching, [round % 3 == 0] * len(matching))
            except IndexError:
                expect(False, f"the step {step} goes beyond an array, with {players} players")
