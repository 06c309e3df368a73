"""Ids of every shape, sent to a pool of which a part was archived."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairup.service.maintenance.archive import archive
from pairup.service.pools.reports import GameReport
from pairup.service.problems import RefusalError
from tests.support.service.pools import Api
from tests.support.service.services import TickingClock, check_stored

ODD = [
    *("0" * 24, "zzzzzzzzzzzzzzzzzzzzzzzzzz", "Z" * 26, "!" * 26, "0123456789abcdefghijklmnop"),
    *("-", "--", "---", "----", "1-", "1-1", "1-1-", "1-1-1-1", "-1-1-1-1", "1--1-1", "é" * 26),
    *("0x1-1-0000000000000000-0", "1_0-1-0000000000000000-0", "+1-1-0000000000000000-0"),
    *("1-ffffffffffffffffffff-0000000000000000-0", "ffffffffffffffffffff-1-0000000000000000-0"),
    *("٣-1-0000000000000000-0", "1-1-0000000000000000-ffffffffffffffffffffffff", "1" * 5_000),
    *("' OR 1=1 --", "%00", "../../etc/passwd", "\u2028", "1-1-0000000000000000-", "nan", "1e5"),
]


@pytest.fixture
def api(database):
    made = Api(database, TickingClock())
    yield made
    made.stop()


@pytest.fixture
def archived(api, tmp_path):
    """A pool with games that were archived, and an open one."""
    api.pool(players="abcd")
    for _ in range(2):
        for game in api.propose()["games"]:
            api.report(game, "played")
    (done,) = archive(api.service.store, api.clock.now(), tmp_path / "archives")
    assert done.games > 0
    return api


def variations(id):
    """Return ids that differ from that of a game in a detail."""
    pool, matching, code, place = id.split("-")
    return [
        f"{pool}-{matching}-{code}-{place}0",
        f"{pool}-{matching}-{code}-0{place}",
        f"{pool}-{matching}-{code}-+{place}",
        f"{pool}-{matching}-{code}-{'f' * 8}",
        f"{pool}-{matching}-{code}-{'f' * 15}",
        f"{pool}-{matching}-{code}-{'f' * 16}",
        f"{pool}-{matching}-{code}-{'f' * 17}",
        f"{pool}-{matching}-{code[::-1]}-{place}",
        f"{pool}-{matching}-{code.upper()}x-{place}",
        f"{pool}-0{matching}-{code}-{place}",
        f"0{pool}-{matching}-{code}-{place}",
        f"{pool}-{matching}-{code}",
        f"{pool}-{matching}",
        f" {id}",
        id[:-1],
    ]


def test_reports_with_odd_ids_are_refused_one_by_one_and_the_others_are_stored(archived):
    api, service = archived, archived.service
    games = api.propose()["games"]
    odd = [*ODD, *variations(games[0]["id"])]
    given = [GameReport(each, "played", {}) for each in odd]
    given[3:3] = [GameReport(games[0]["id"], "played", {})]
    given += [GameReport(games[1]["id"], "cancelled", {})]
    results = service.report_outcomes("chess", given).view["results"]
    taken = [each["game"] for each in results if each["result"] == "learnt"]
    assert taken == [game["id"] for game in games]
    refused = {each["problem"]["slug"] for each in results if each["result"] == "refused"}
    assert refused == {"no-such-game"}
    assert len(results) == len(odd) + 2
    check_stored(service.store)


def test_odd_ids_get_a_client_error_over_http(archived):
    """Some are refused before they reach the pool; none leads to an internal error."""
    api = archived
    (first, second) = api.propose()["games"]
    for id in [*ODD, *variations(first["id"])]:
        sent = [{"game": id, "outcome": "played"}, {"game": second["id"], "outcome": "played"}]
        answer = api("POST", "/v1/pools/chess/outcomes", json={"outcomes": sent})
        if answer.status_code != 422:
            assert answer.status_code == 200
            odd, good = answer.json()["results"]
            assert odd["problem"]["type"] == "/problems/no-such-game"
            assert good["result"] in ("learnt", "repeated")
    assert api.json("GET", f"/v1/games/{second['id']}")["state"] == "played"
    check_stored(api.service.store)


@given(text=st.one_of(st.text(max_size=40), st.text("0123456789abcdefvz-+_x", max_size=40)))
def test_an_id_that_no_game_has_is_not_found(odd_service, text):
    """Not even with the code of another pool."""
    service = odd_service
    (result,) = service.report_outcomes("chess", [GameReport(text, "played", {})]).view["results"]
    assert result["problem"]["slug"] == "no-such-game"
    for ask in (service.show_game, service.show_matching, service.release):
        with pytest.raises(RefusalError) as refused:
            ask("chess", text)
        assert refused.value.slug in ("no-such-game", "no-such-matching")
    assert service.pool_of(text) in (None, "chess")


@pytest.fixture(scope="module")
def odd_service(tmp_path_factory):
    api = Api(str(tmp_path_factory.mktemp("odd") / "pools.db"), TickingClock())
    api.pool(players="ab")
    api.report(api.game(), "played")
    archive(api.service.store, api.clock.now())
    yield api.service
    api.stop()


def test_an_id_of_another_pool_is_not_one_of_this_pool(archived):
    api = archived
    api.pool("go", players="ab")
    foreign = api.game("go")
    results = api.service.report_outcomes("chess", [GameReport(foreign["id"], "played", {})]).view[
        "results"
    ]
    assert results[0]["problem"]["slug"] == "no-such-game"
    assert api.json("GET", f"/v1/games/{foreign['id']}")["state"] == "proposed"
