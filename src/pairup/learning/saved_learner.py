"""What of a learner is saved: its policy, its players, the outcomes pending, the policy's state."""

from __future__ import annotations

import numpy as np

from pairup.learning.pending import PendingOutcomes
from pairup.learning.roster import Roster
from pairup.learning.running_policy import RunningPolicy
from pairup.learning.serialization import pack, unpack
from pairup.policies.base import get_policy
from pairup.states.saved_arrays import reading, require

Parts = tuple[Roster, PendingOutcomes, RunningPolicy]  # of a learner


def save(roster: Roster, pending: PendingOutcomes, running: RunningPolicy) -> bytes:
    """Make the bytes of a saved learner of its parts."""
    header = {
        "policy": running.policy.name,
        "options": running.policy.options,
        "seed": running.seed,
        "capacity": running.capacity,
        "players": roster.packed(),
        "awaited": [[*couple, count] for couple, count in sorted(pending.counts.items())],
    }
    return pack(header, running.saved())


def load(data: bytes) -> Parts:
    """Read the parts of a saved learner back, or refuse the bytes with an `ArchiveError`."""
    header, arrays = unpack(data)
    with reading():
        policy = get_policy(header["policy"], **header["options"])
        roster = Roster.unpacked(header["players"], header["capacity"])
        pending = PendingOutcomes({(i, j): count for i, j, count in header["awaited"]})
        running = RunningPolicy(policy, header["seed"], header["capacity"])
        running.set_present(roster.slots)
        running.load(arrays)
        _check_players(pending, running)
        return roster, pending, running


def _check_players(pending: PendingOutcomes, running: RunningPolicy) -> None:
    """Refuse a saved learner that knows players who are not present."""
    present = set(running.present.tolist())
    for (i, j), count in pending.counts.items():
        fits = i < j and {i, j} <= present and count > 0
        require(fits, f"it has {count} outcomes pending for slots {i} and {j}")
    tries, _ = running.statistics or (np.zeros((0, 0)),) * 2
    known = set(np.flatnonzero(tries.any(axis=0) | tries.any(axis=1)).tolist())
    require(known <= present, "it knows players who are not present")
