"""Saved learners: what one was told, as an event of a pool holds it."""

from __future__ import annotations

import base64
import zlib

from pairup.learning import Learner
from pairup.service.domain.events import Loaded


def loading(learner: Learner) -> Loaded:
    """Make the event that loads a learner; its pending outcomes, of other games, are withdrawn."""
    for couple, times in learner.pending.items():
        learner.withdraw([couple] * times)
    packed = zlib.compress(learner.evidence(), 6)
    return Loaded(base64.b64encode(packed).decode("ascii"))


def loaded(event: Loaded) -> Learner:
    """Make the learner that an event loads.

    Examples
    --------
    >>> from pairup import Unimodal
    >>> learner = Unimodal().learner(["ann", "bob"])
    >>> learner.observe(learner.propose(), [True])
    >>> loaded(loading(learner)).estimates() == learner.estimates()
    True
    """
    return Learner.from_evidence(zlib.decompress(base64.b64decode(event.evidence)))
