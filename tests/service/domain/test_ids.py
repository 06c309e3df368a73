"""Ids follow from the keys of matchings and games, and from a secret of the pool."""

import pytest

from pairup.service.domain.events import Joined, Recorded
from pairup.service.domain.games import GameKey, Ids, new_secret, pool_of
from pairup.service.domain.pool import Pool

KEY = GameKey(1_767_225_600_000_000, 10)


def test_an_id_leads_back_to_its_pool_and_key():
    ids = Ids(31, new_secret())
    assert ids.find_game(ids.game(KEY)) == KEY
    assert ids.find_matching(ids.matching(KEY.matching)) == KEY.matching
    assert pool_of(ids.game(KEY)) == pool_of(ids.matching(KEY.matching)) == 31


def test_ids_of_another_pool_or_of_another_secret_are_not_found():
    secret = new_secret()
    ids = Ids(31, secret)
    for other in (Ids(30, secret), Ids(31, new_secret())):
        assert other.find_game(ids.game(KEY)) is None
        assert other.find_matching(ids.matching(KEY.matching)) is None
        assert other.game(KEY) != ids.game(KEY)


def test_the_code_of_an_id_is_of_no_use_for_another_matching():
    ids = Ids(31, new_secret())
    pool, matching, code, place = ids.game(KEY).split("-")
    assert ids.find_game(f"{pool}-{int(matching, 16) + 1:x}-{code}-{place}") is None
    assert ids.find_game(f"{pool}-{matching}-{code[::-1]}-{place}") is None


@pytest.mark.parametrize(
    "spelt",
    [
        str.upper,
        "0{}".format,
        " {}".format,
        "+{}".format,
        "0x{}".format,
        "{}_0".format,
        "{}-0".format,
    ],
)
def test_an_id_is_spelt_in_one_way(spelt):
    ids = Ids(31, "a secret")
    assert ids.find_game(spelt(ids.game(KEY))) is None


@pytest.mark.parametrize("id", ["", "-", "a", "1-2", "1-2-3-4-5", "x-y-z", f"1-{'f' * 16}-0-0"])
def test_what_is_not_an_id_is_not_found(id):
    assert Ids(1, "").find_game(id) is Ids(1, "").find_matching(id) is None


@pytest.mark.parametrize("id", ["", "-", "x-0-0", f"{'f' * 16}-0-0", "-1-0-0"])
def test_what_no_database_can_have_is_not_the_number_of_a_pool(id):
    assert pool_of(id) is None


def test_secrets_differ():
    assert len({new_secret() for _ in range(1_000)}) == 1_000
    assert len(bytes.fromhex(new_secret())) == 16


def test_matchings_of_the_same_moment_have_ids_of_their_own():
    """The clock may stand still, or go back."""
    pool = Pool(1)
    pool.apply(Recorded.of(1, 5, Joined([1, 2, 3, 4], "waiting")))
    for at in (5, 5, 3):
        proposed = pool.propose(at, 99, [1, 2], [])
        assert proposed.matching > pool.matching
        pool.matching = proposed.matching
