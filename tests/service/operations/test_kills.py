"""Nothing is lost when processes are killed with -9; more in benchmarks/service_kills.py."""

import pytest

from tests.support.service.kills import Campaign, Script


@pytest.mark.parametrize(("processes", "kills"), [(1, 6), (2, 3)], ids=["sqlite", "postgresql"])
def test_kills_at_any_moment_lose_nothing(tmp_path, request, processes, kills):
    if processes > 1:
        database = request.getfixturevalue("postgres").new_database()
    else:
        database = str(tmp_path / "pools.db")
    with Campaign(database, tmp_path, processes, seed=processes) as campaign:
        for _ in range(kills):
            campaign.kill_once()
        counted = campaign.finish()
    assert counted["kills"] >= kills
    assert min(counted["matchings"], counted["learnt"]) >= kills


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
