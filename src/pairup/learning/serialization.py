"""The saved form of a learner: portable bytes, checked when they are read.

The bytes are a magic word, the version, a JSON header and the policy's arrays (little-endian), the
last two compressed; then a digest of all that. Nothing in them is ever executed. A digest is not a
signature, so nothing in them is trusted either: compiled steps do not check bounds, and only see
numbers whose range was checked here.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
import zlib
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairup.checks import is_integer
from pairup.compiled.state_fields import MAX_COUNT
from pairup.errors import SavingError
from pairup.learning.fairness import Fairness, check_floor
from pairup.learning.pending_outcomes import PendingOutcomes
from pairup.learning.roster import Roster
from pairup.learning.running_policy import RunningPolicy
from pairup.policies.registry import get_known_policy
from pairup.saved_arrays import Arrays, numbers, reading, require

VERSION = 2
_MAGIC = b"pairup learner\n"
_EVIDENCE = b"pairup evidence 1\n"
_PREFIX = struct.Struct("<HQQ")  # version, bytes of the header, bytes of the whole body
_DIGEST = 32

Parts = tuple[Roster, PendingOutcomes, RunningPolicy, Fairness]


def save(
    roster: Roster, pending: PendingOutcomes, running: RunningPolicy, fairness: Fairness
) -> bytes:
    """Make the bytes of a learner from its players, pending outcomes, policy and debts."""
    header = _header(roster, pending, running, fairness) | _estimated(running, fairness)
    return pack(header, running.policy.saved(running.state))


def save_evidence(
    roster: Roster, pending: PendingOutcomes, running: RunningPolicy, fairness: Fairness
) -> bytes:
    """Make the bytes of what a learner was told: the same for the same facts, on every machine."""
    header = _header(roster, pending, running, fairness)
    return _EVIDENCE + _body(header, running.policy.evidence(running.state))


def save_cache(running: RunningPolicy, fairness: Fairness) -> bytes:
    """Make the bytes of what the policy's state has besides its evidence, and of debts."""
    evidence = running.policy.evidence(running.state)
    saved = running.policy.saved(running.state)
    rest = {name: array for name, array in saved.items() if not _same(array, evidence.get(name))}
    return pack(_estimated(running, fairness), rest)


def load(data: bytes) -> Parts:
    """Read the parts of a learner back, or refuse the bytes with an `SavingError`."""
    header, arrays = unpack(data)
    with reading():
        roster, pending, running = _started(header)
        running.state = running.policy.load(running.state, arrays)
        running.rounds_seen = _count(header, "rounds_seen")
        _check_players(roster, pending, running)
        return roster, pending, running, _fairness(header, header, roster, running)


def load_evidence(data: bytes, cache: bytes | None) -> Parts:
    """Make the parts of a learner from its evidence, and from the rest of its state if given."""
    require(data.startswith(_EVIDENCE), "its evidence does not begin as it must")
    with reading():
        header, arrays = _parsed(data[len(_EVIDENCE) :])
        roster, pending, running = _started(header)
        saved: dict[str, Any] = {}
        if cache is None:
            _check_slots(arrays, running.capacity)
            running.state = running.policy.load_evidence(running.state, arrays)
        else:
            saved, rest = unpack(cache)
            running.state = running.policy.load(running.state, arrays | rest)
            running.rounds_seen = _count(saved, "rounds_seen")
        _check_players(roster, pending, running)
        return roster, pending, running, _fairness(header, saved, roster, running)


def _estimated(running: RunningPolicy, fairness: Fairness) -> dict[str, Any]:
    """Return what depends on what the policy estimated, beside its state."""
    debts = sorted(fairness.debts.items())
    return {"rounds_seen": running.rounds_seen} | ({"debts": debts} if debts else {})


def _fairness(
    header: dict[str, Any], saved: dict[str, Any], roster: Roster, running: RunningPolicy
) -> Fairness:
    listed = saved.get("debts", [])
    debts, known = dict(listed), {*roster.slots.tolist(), *roster.kept_slots.tolist()}
    require(
        all(is_integer(slot) for slot in debts), "it owes something to slots that are not integers"
    )
    require(debts.keys() <= known, "it owes something to players who are not known")
    require(len(debts) == len(listed), "it has two debts of a player")
    fairness = Fairness(header.get("floor", 0.0), debts=debts)
    check_floor(running.policy, fairness.floor)
    return fairness


def _header(
    roster: Roster, pending: PendingOutcomes, running: RunningPolicy, fairness: Fairness
) -> dict[str, Any]:
    header = {
        "policy": running.policy.known_as,
        "options": running.policy.options,
        "seed": running.seed,
        "capacity": running.capacity,
        "players": _listed(roster, roster.slots),
        "awaited": [[*couple, count] for couple, count in sorted(pending.counts.items())],
        "rounds": running.rounds,
    }
    # As in versions that kept nobody and had no floor: the same facts have the same bytes.
    kept = _listed(roster, roster.kept_slots)
    floor = {"floor": fairness.floor} if fairness.floor > 0.0 else {}
    return header | floor | ({"kept": kept} if kept else {})


def _listed(roster: Roster, slots: NDArray[np.int64]) -> list[tuple[int, Any]]:
    names = zip(slots.tolist(), roster.named(slots), strict=True)
    # Most names are strings, which are what they are in JSON.
    return [(i, name if type(name) is str else _pack_name(name)) for i, name in names]


def _started(header: dict[str, Any]) -> tuple[Roster, PendingOutcomes, RunningPolicy]:
    """Start the policy of a saved learner with the same players present."""
    # Bytes that are not trusted never decide what is imported.
    policy = get_known_policy(header["policy"], **header["options"])
    roster = _roster(header["players"], header.get("kept", []), header["capacity"])
    pending = PendingOutcomes({(i, j): count for i, j, count in header["awaited"]})
    running = RunningPolicy(policy, header["seed"], header["capacity"])
    running.set_present(roster.slots)
    running.rounds = _count(header, "rounds")
    return roster, pending, running


def _count(header: dict[str, Any], name: str) -> int:
    """Read a count, which learners saved by the first version do not have."""
    value = header.get(name, 0)
    require(is_integer(value) and 0 <= value < MAX_COUNT, f"{name} is {value!r}")
    return int(value)


def _same(array: NDArray[Any], other: NDArray[Any] | None) -> bool:
    return other is not None and array.dtype == other.dtype and np.array_equal(array, other)


def _roster(players: list[list[Any]], kept: list[list[Any]], capacity: int) -> Roster:
    taken = set()
    for slot, _ in (*players, *kept):
        fits = type(slot) is int and 0 <= slot < capacity
        require(fits, f"slot {slot} is not one of its {capacity}")
        require(slot not in taken, f"two players have slot {slot}")
        taken.add(slot)
    groups = ([(slot, _unpack_name(name)) for slot, name in group] for group in (players, kept))
    return Roster.restored(*groups)


def _check_players(roster: Roster, pending: PendingOutcomes, running: RunningPolicy) -> None:
    """Refuse a saved learner that knows players who are neither present nor kept."""
    is_known = np.zeros(running.capacity, np.bool_)
    is_known[running.present] = True
    for (i, j), count in pending.counts.items():
        fits = 0 <= i < j < running.capacity and is_known[i] and is_known[j]
        fits = fits and is_integer(count) and 0 < count < MAX_COUNT
        require(fits, f"it has {count} outcomes pending for slots {i} and {j}")
    is_known[roster.kept_slots] = True
    counts = running.statistics
    if counts is not None:
        met = np.concatenate([counts.low, counts.high])
        require(np.all(is_known[met]), "it knows players who are not present")


def _check_slots(arrays: Arrays, capacity: int) -> None:
    """Refuse couples beyond the capacity, which policies have no other means to tell."""
    for name in {"low", "high"} & arrays.keys():
        require(np.all(numbers(arrays, name) < capacity), "it has couples of unknown players")


def pack(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Make the bytes of a header and arrays."""
    body = _body(header, arrays)
    header_size = body.index(b"\n") + 1
    data = _MAGIC + _PREFIX.pack(VERSION, header_size, len(body)) + zlib.compress(body, 1)
    return data + hashlib.sha256(data).digest()


def _body(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Write the header as a line of JSON, and the arrays after it."""
    stored = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    text = json.dumps(header | {"arrays": listed}, sort_keys=True).encode()
    return text + b"\n" + b"".join(array.tobytes() for array in stored.values())


def _parsed(body: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header_size = body.index(b"\n") + 1
    header = json.loads(body[:header_size])
    return header, _arrays(header.pop("arrays"), body[header_size:])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the bytes back, or refuse them."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SavingError(
            f"a saved learner is bytes, got {type(data).__name__}: give what to_bytes() returned"
        )
    data = bytes(data)
    start = len(_MAGIC) + _PREFIX.size
    if not data.startswith(_MAGIC) or len(data) < start + _DIGEST:
        raise SavingError(
            f"these {len(data)} bytes are not a saved learner: give what to_bytes() returned"
        )
    version, header_size, size = _PREFIX.unpack(data[len(_MAGIC) : start])
    if version != VERSION:
        raise SavingError(
            f"the learner was saved in version {version} of the format, this pairup reads "
            f"version {VERSION}: load it with the pairup that wrote it"
        )
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise SavingError(
            "the saved learner is damaged: its digest does not match, take an older copy"
        )
    with reading():
        body = _decompressed(data[start:-_DIGEST], size)
        header = json.loads(body[:header_size])
        return header, _arrays(header.pop("arrays"), body[header_size:])


def check_size(data: bytes, max_bytes: int, max_slots: int) -> None:
    """Refuse a saved learner that would take much more memory than its bytes; see `load`.

    Bytes that are not a saved learner at all pass: `load` refuses them.
    """
    start = len(_MAGIC) + _PREFIX.size
    if not data.startswith(_MAGIC) or len(data) < start + _DIGEST:
        return
    _, header_size, size = _PREFIX.unpack(data[len(_MAGIC) : start])
    if size > max_bytes:
        raise SavingError(
            f"the saved learner has {size} bytes when it is unpacked, at most {max_bytes} are "
            "taken: save one with fewer players"
        )
    with reading():
        require(0 < header_size <= size, f"its header has {header_size} bytes")
        text = zlib.decompressobj().decompress(data[start:-_DIGEST], header_size)
        slots = json.loads(text).get("capacity", 0)
        require(is_integer(slots) and slots <= max_slots, f"it has room for {slots} players")


def _decompressed(data: bytes, size: int) -> bytes:
    """Decompress to the size that the bytes declare, and not a byte further."""
    stream = zlib.decompressobj()
    body = stream.decompress(data, max_length=min(size + 1, sys.maxsize))
    require(len(body) == size, f"it does not have the {size} bytes that it declares")
    require(stream.eof and not stream.unused_data, "its compressed part does not end where it must")
    return body


def _arrays(listed: list[Any], data: bytes) -> dict[str, NDArray[Any]]:
    arrays, start = {}, 0
    for name, code, shape in listed:
        dtype = np.dtype(code)
        numeric = dtype.kind in "biuf" and min(shape, default=0) >= 0
        require(numeric, f"{name} is not an array of numbers")
        size = dtype.itemsize * math.prod(shape)
        array = np.frombuffer(data[start : start + size], dtype).reshape(shape)
        arrays[name] = array.astype(dtype.newbyteorder("="))
        start += size
    require(start == len(data), f"it has {len(data)} bytes of arrays instead of {start}")
    return arrays


def _pack_name(name: Hashable) -> Any:
    """Turn a player's name into JSON: a string or integer as it is, a tuple as a list."""
    if isinstance(name, str):
        return name
    if is_integer(name):
        return int(name)
    if isinstance(name, tuple):
        return [_pack_name(part) for part in name]
    raise SavingError(
        f"player {name!r} cannot be saved: a saved player's name is a string, an integer or a "
        f"tuple of those, not a {type(name).__name__}"
    )


def _unpack_name(stored: Any) -> Hashable:
    return tuple(_unpack_name(part) for part in stored) if isinstance(stored, list) else stored
