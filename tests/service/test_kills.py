"""Nothing is lost when processes are killed with -9; more in benchmarks/service_kills.py."""

import pytest

from tests.support.service.kills import Campaign, Script


def test_kills_of_two_processes_at_any_moment_lose_nothing(tmp_path, database):
    with Campaign(database, tmp_path, processes=2, seed=1) as campaign:
        for _ in range(4):
            campaign.kill_once()
        counted = campaign.finish()
    assert counted["kills"] >= 4
    assert min(counted["matchings"], counted["learnt"]) >= 4
    assert counted["snapshots"] > 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What has happened after the script if nobody is killed."""
    folder = tmp_path_factory.mktemp("undisturbed")
    happened, deaths = Script(str(folder / "pools.db"), folder, die_at=0).play()
    assert deaths == 0
    return happened


# Passes by the fault point: odd before a commit, even after it. The first make the database.
@pytest.mark.parametrize("die_at", [1, 2, 15, 16, 25, 26, 38])
def test_kills_at_commits_change_nothing(tmp_path, undisturbed, die_at):
    happened, deaths = Script(str(tmp_path / "pools.db"), tmp_path, die_at).play()
    assert deaths == 1
    assert happened == undisturbed


@pytest.mark.parametrize("die_at", [2, 17, 18])
def test_kills_at_commits_change_nothing_on_postgresql(tmp_path, postgres, undisturbed, die_at):
    happened, deaths = Script(postgres.new_database(), tmp_path, die_at).play()
    assert deaths == 1
    assert happened == undisturbed
