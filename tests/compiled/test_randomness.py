import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup.compiled import randomness
from tests.support.twins import streams

WORDS = st.integers(0, 2**64 - 1)
SPLITMIX64_OF_SEED_0 = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def word(key, index):
    return int(randomness.word(np.uint64(key), np.uint64(index)))


def test_words_are_those_of_splitmix64():
    assert [streams.word(0, index) for index in range(3)] == SPLITMIX64_OF_SEED_0
    assert [word(0, index) for index in range(3)] == SPLITMIX64_OF_SEED_0


@given(WORDS, WORDS)
def test_equals_its_twin(key, index):
    assert word(key, index) == streams.word(key, index)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.integers(0, 2))
def test_keys_fold_seed_replication_and_purpose(seed, replication, purpose):
    key = int(randomness.stream_key(seed, replication, purpose))
    assert key == streams.stream_key(seed, replication, purpose)


def test_streams_have_keys_of_their_own():
    assert (randomness.ACCEPTANCES, randomness.LABELS, randomness.POLICY) == (0, 1, 2)
    keys = {
        int(randomness.stream_key(seed, replication, purpose))
        for seed in range(10)
        for replication in range(10)
        for purpose in range(3)
    }
    assert len(keys) == 300


@given(WORDS, st.integers(1, 2**31))
def test_the_upper_32_bits_are_scaled_to_integers_below_a_bound(bits, bound):
    assert int(randomness.below(np.uint64(bits), bound)) == (bits >> 32) * bound >> 32


@given(WORDS)
def test_mantissa_is_the_upper_53_bits(bits):
    assert int(randomness.mantissa(np.uint64(bits))) == bits >> 11


@pytest.mark.parametrize("n", [0, 1, 2, 7, 50])
def test_shuffle_equals_its_twin(n):
    for key in (0, 1, 2**63, 2**64 - 1):
        values = np.arange(n)
        randomness.shuffle(np.uint64(key), values)
        assert values.tolist() == streams.shuffled(key, range(n))


def test_every_order_is_equally_likely():
    counts = {}
    for seed in range(6000):
        values = np.arange(3)
        randomness.shuffle(np.uint64(streams.stream_key(seed, 0, streams.LABELS)), values)
        order = tuple(values.tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1000) < 150 for count in counts.values())  # five standard deviations
