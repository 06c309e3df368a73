"""Two processes on one database agree, whatever comes between them; see the state machine."""

import itertools

import pytest
from hypothesis.stateful import run_state_machine_as_test

from pairup.service.pools.reports import GameReport
from tests.support.service.services import check_agreement, check_stored, services
from tests.support.service.two_processes import Machine, machine_settings


@pytest.fixture(params=["sqlite", "postgresql"])
def new_machine(request, tmp_path):
    """A function that starts the state machine on an empty database."""
    numbers = itertools.count()

    def start():
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        if request.param == "sqlite":
            return Machine(str(folder / "pools.db"), folder / "archives")
        database = request.getfixturevalue("postgres").emptied_database()
        return Machine(database, folder / "archives")

    return start


def test_memory_log_and_snapshots_agree_after_every_step(new_machine):
    run_state_machine_as_test(new_machine, settings=machine_settings(examples=12, steps=25))


def test_a_process_decides_games_that_another_one_proposed(database):
    """Though it has had the pool for itself so far, and has not noticed the other process."""
    with services(database) as (one, other):
        one.create_pool("chess", {})
        one.put_players("chess", [(player, "waiting") for player in "abcd"])
        (first, second) = other.propose("chess").view["games"]
        reports = [GameReport(game["id"], "played", {}) for game in (first, second)]
        results = one.report_outcomes("chess", reports).view["results"]
        assert [each["result"] for each in results] == ["learnt", "learnt"]
        for service in (one, other):
            check_agreement(service, "chess")
        check_stored(one.store)


def test_a_process_releases_a_matching_that_another_one_proposed(database):
    with services(database) as (one, other):
        one.create_pool("chess", {})
        one.put_players("chess", [(player, "waiting") for player in "abcd"])
        matching = other.propose("chess").view
        released = one.release("chess", matching["id"]).view
        assert {game["state"] for game in released["games"]} == {"released"}
        for service in (one, other):
            check_agreement(service, "chess")
