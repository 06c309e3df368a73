"""Owners of pools that die or stop under load; more in benchmarks/owners.py."""

from tests.support.service.owners import Owners, shorten_leases


def test_killed_and_stopped_owners_lose_nothing_and_write_nothing_twice(tmp_path, postgres):
    database = postgres.new_database()
    with Owners(database, tmp_path, 2, pools=8, clients=2, before=shorten_leases) as campaign:
        killed, stopped = campaign.processes
        campaign.work(0.5)
        assert campaign.kill(killed)[0] > 0
        campaign.restart(killed)
        campaign.work(0.3)
        assert campaign.stop_and_resume(stopped, 0.5)[0] > 0
        campaign.work(0.5)
        found = campaign.finish()
    assert min(found["matchings"], found["outcomes"]) > 0
    assert found["owners"] == 3
