"""Saved learners that are foreign, damaged, or damaged by someone who knows the digest."""

import base64
import hashlib
import math
import random
import struct
import tracemalloc
import zlib

import numpy as np
import pytest

from pairup import Learner, PairupError, RankOneThompson, SavingError, Unimodal
from pairup.learning import serialization
from tests.support.policy_variants import variants


def saved(variant):
    """Return the bytes of a learner with every kind of content."""
    learner, coin = variant.learner("abcdefg"), random.Random(0)
    for _ in range(40):
        matching = learner.propose()
        learner.observe(matching, [coin.random() < 0.5 for _ in matching])
    learner.propose()
    return learner.to_bytes()


@pytest.fixture(scope="module")
def data():
    learner = Unimodal().learner(["ann", "bob", "cyd"], seed=3)
    for played in (True, False, True):
        learner.observe(learner.propose(), [played])
    return learner.to_bytes()


@pytest.mark.parametrize(
    "foreign", [b"", b"\0", b"PK\x03\x04" * 20, b"pairup", b"pairup learner\n", b"x" * 10_000]
)
def test_foreign_bytes_are_refused(foreign):
    with pytest.raises(SavingError, match=f"these {len(foreign)} bytes are not a saved learner"):
        Learner.from_bytes(foreign)


@pytest.mark.parametrize("foreign", [None, "pairup learner\n", 3, ["a"]])
def test_values_that_are_not_bytes_are_refused(foreign):
    with pytest.raises(SavingError, match="a saved learner is bytes, got"):
        Learner.from_bytes(foreign)


def test_any_buffer_of_bytes_will_do(data):
    for buffer in (bytearray(data), memoryview(data)):
        assert Learner.from_bytes(buffer).to_bytes() == data


def test_truncated_bytes_are_refused(data):
    for length in range(len(data)):
        with pytest.raises(SavingError):
            Learner.from_bytes(data[:length])


def test_additional_bytes_are_refused(data):
    for more in (b"\0", data, data[-32:]):
        with pytest.raises(SavingError, match="damaged"):
            Learner.from_bytes(data + more)


def test_a_flipped_bit_anywhere_is_refused(data):
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        with pytest.raises(SavingError):
            Learner.from_bytes(damaged)


def test_another_version_is_refused(data):
    start = len(b"pairup learner\n")
    later = data[:start] + struct.pack("<H", serialization.VERSION + 1) + data[start + 2 :]
    with pytest.raises(SavingError, match=r"saved in version 3 .* reads version 2: load it with"):
        Learner.from_bytes(later)


def resealed(data, **changes):
    """Change the header, and make the digest fit."""
    header, arrays = serialization.unpack(data)
    return serialization.pack(header | changes, arrays)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"policy": "unimodel"}, "no policy is called 'unimodel'; did you mean \"unimodal\""),
        ({"policy": None}, "no policy is called None"),
        ({"options": {"cloak": "leader"}}, "no option 'cloak'; did you mean \"clock\""),
        ({"options": {"clock": "sun"}}, "clock of unimodal cannot be 'sun'"),
        ({"options": 3}, "damaged"),
        ({"seed": -1}, "seed"),
        ({"seed": "x"}, "seed"),
        ({"capacity": 2}, "slot 2 is not one of its 2"),
        ({"capacity": -1}, "damaged"),
        ({"capacity": "3"}, "damaged"),
        ({"capacity": 10**15}, "damaged"),
        ({"players": [[0, "a"], [0, "b"]]}, "two players have slot 0"),
        ({"players": [[0, "a"], [1, "a"]]}, "'a' is present already"),
        ({"players": [[0, "a"], [0.5, "b"]]}, "slot 0.5 is not one"),
        ({"players": [[0, "a"], [-1, "b"]]}, "slot -1 is not one"),
        ({"players": [[0, "a"], [1, None]]}, "None"),
        ({"players": [[0, "a"], [1, {}]]}, "not hashable"),
        ({"players": [[0, "a"]]}, "it knows players who are not present"),
        ({"players": "abc"}, "damaged"),
        ({"awaited": [[0, 9, 1]]}, "it has 1 outcomes pending for slots 0 and 9"),
        ({"awaited": [[1, 0, 1]]}, "outcomes pending for"),
        ({"awaited": [[0, 1, 0]]}, "outcomes pending for"),
        ({"awaited": [[0, 1, 1.5]]}, "outcomes pending for"),
        ({"awaited": [[0, 1, math.inf]]}, "outcomes pending for"),
        ({"awaited": [[0, 1, 2**53]]}, "outcomes pending for"),
        ({"awaited": [[0, 1]]}, "damaged"),
    ],
)
def test_a_wrong_header_is_refused(data, changes, says):
    with pytest.raises(SavingError, match=says):
        Learner.from_bytes(resealed(data, **changes))


def test_a_wrong_body_is_refused(data):
    prefix = len(b"pairup learner\n") + 18
    for body in (b"", b"no zlib", data[prefix:-40]):
        forged = data[:prefix] + body
        with pytest.raises(SavingError, match="damaged"):
            Learner.from_bytes(forged + hashlib.sha256(forged).digest())


def test_nothing_is_decompressed_beyond_the_size_that_is_declared(data):
    """A few bytes that unpack to gigabytes must not fill the memory."""
    start = len(b"pairup learner\n")
    bomb = zlib.compress(bytes(100_000_000), 1)
    forged = data[:start] + struct.pack("<HQQ", serialization.VERSION, 5, 10) + bomb
    sealed = forged + hashlib.sha256(forged).digest()
    tracemalloc.start()
    try:
        with pytest.raises(SavingError, match="it does not have the 10 bytes that it declares"):
            Learner.from_bytes(sealed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000


def damaged_arrays(name, array):
    """Yield what could stand in place of an array."""
    is_real = array.dtype.kind == "f"
    whole = (np.nan_to_num(array, posinf=0) if is_real else array).astype(np.int64)
    yield array.astype(np.float64)
    yield whole.astype(np.int32)
    yield array.reshape(1, -1)
    yield np.append(array, array[-1:])
    yield array[:-1]
    yield array[:0]
    yield -whole - 1
    if array.size and array.dtype != np.bool_:
        for value in (-1, 1, 5, 7, 8, 100, 2**62, 2**63 - 1):
            changed = array.copy() if is_real else whole.copy()
            changed.flat[random.Random(name).randrange(array.size)] = value
            yield changed.astype(array.dtype)


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_damage_under_a_fitting_digest_is_refused_or_harmless(variant):
    """Compiled steps check no bounds: what they are given must have been checked before."""
    header, arrays = serialization.unpack(saved(variant))
    for name, array in arrays.items():
        with pytest.raises(SavingError):
            Learner.from_bytes(
                serialization.pack(header, {**arrays, "other": array, name: array[:, None]})
            )
        for changed in damaged_arrays(name, array):
            try:
                learner = Learner.from_bytes(serialization.pack(header, {**arrays, name: changed}))
            except SavingError:
                continue
            for _ in range(40):
                matching = learner.propose()
                assert len(matching.players) == 7
                learner.observe(matching, [True] * len(matching))
            assert learner.leader is None or len(learner.leader.players) == 7
            learner.estimates()


@pytest.mark.parametrize("variant", variants(), ids=str)
def test_a_missing_array_is_refused(variant):
    header, arrays = serialization.unpack(saved(variant))
    for name in arrays:
        rest = {other: array for other, array in arrays.items() if other != name}
        with pytest.raises(SavingError, match="damaged"):
            Learner.from_bytes(serialization.pack(header, rest))


def faded_with_players_gone():
    learner = RankOneThompson(memory=10).learner("abcdefg")
    for _ in range(20):
        learner.observe(learner.propose(), [False] * 3)
    learner.leave("g", rate=0.5)
    return serialization.unpack(learner.to_bytes())


def test_what_faded_and_what_players_left_behind_is_refused_unless_complete():
    header, arrays = faded_with_players_gone()
    optional = {"weight", "met", "gone", "frozen_slot", "frozen_rate", "frozen_missed"}
    assert optional < arrays.keys()
    for name in arrays:
        rest = {other: array for other, array in arrays.items() if other != name}
        with pytest.raises(SavingError, match="damaged"):
            Learner.from_bytes(serialization.pack(header, rest))


@pytest.mark.parametrize(("name", "too_much"), [("missed", 2.0**63), ("frozen_missed", 2.0**128)])
def test_no_more_is_missed_than_can_be_counted(name, too_much):
    header, arrays = faded_with_players_gone()
    for much in (too_much, np.inf, np.nan):
        changed = {**arrays, name: np.full(len(arrays[name]), much)}
        with pytest.raises(SavingError, match="damaged"):
            Learner.from_bytes(serialization.pack(header, changed))


def test_the_count_of_a_leader_cannot_be_about_to_overflow(data):
    # One more turn would overflow its count, which would look like a full table.
    header, arrays = serialization.unpack(data)
    counts = np.where(arrays["state.counts.keys"] > 0, 2**63 - 1, 0)
    with pytest.raises(SavingError, match=r"counts.counts is out of range"):
        Learner.from_bytes(serialization.pack(header, {**arrays, "state.counts.counts": counts}))


def test_arrays_of_objects_are_refused(data):
    header, arrays = serialization.unpack(data)
    listed = [[name, "|O", list(array.shape)] for name, array in arrays.items()]
    with pytest.raises(SavingError, match="damaged"):
        serialization._arrays(listed, b"")
    with pytest.raises(SavingError, match="damaged"):
        serialization._arrays([["a", "<i8", [-1]]], b"12345678")
    assert header["policy"] == "unimodal"


def test_an_error_names_the_way_out(data):
    with pytest.raises(PairupError, match="take an older copy"):
        Learner.from_bytes(data[:-1] + b"\0")


# Saved by version 1 of the format: a learner of `Uniform`.
OLD = (
    "aA9e3b#NeTWnpq|WpWAu0HOc@000000IC20000000C)i{j=>7TFbswTU!>%`gPR9Me3Q~c)>R11reqyb#@^k;83^Hn"
    "{9m#GieOvd;k*aoHBZnvc+y>m??VVm_(7^^vK_;S1tZm_d{yL9iL)8DU9rsAk{rT|g>wc?`Mz^En}artJgWb%FFaE;"
    "8?2dLEN}Z@Nxy@`em))b1-oA_JV}1A2|q)uK3-EO?K}U36AVxr8)4!5q3$!b&upMf>H"
)


def test_learners_of_earlier_versions_are_refused_by_their_version():
    with pytest.raises(SavingError, match=r"saved in version 1 .* reads version 2: load it with"):
        Learner.from_bytes(base64.b85decode(OLD))
