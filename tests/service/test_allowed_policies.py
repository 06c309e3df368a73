"""Pools use third-party policies only if the operator allowed them at the start."""

import pytest

from pairup import PolicyError
from pairup.cli.app import settings as command_line
from pairup.service.maintenance.verify import verify
from pairup.service.settings import Settings
from tests.support.foreign import BESIDE, source
from tests.support.service.pools import Api


@pytest.fixture
def fixed(foreign_folder, monkeypatch):
    foreign_folder.write("fixed", source(BESIDE) + "\n\nclass Other(Fixed):\n    pass\n")
    monkeypatch.chdir(foreign_folder.path)
    return foreign_folder


def test_a_policy_that_is_allowed_serves_a_pool_after_a_restart_too(fixed):
    api = Api(str(fixed.path / "pools.db"), policies="fixed:Fixed, sam")
    try:
        api.pool("chess", "abcd", policy="fixed:Fixed")
        assert [game["players"] for game in api.propose()["games"]] == [["a", "b"], ["c", "d"]]
        api.restart()
        assert api.json("GET", "/v1/pools/chess")["policy"] == "fixed:Fixed"
        assert [found.error for found in verify(api.service.store)] == [""]
        for other in ("fixed:Other", "os:path", "nowhere:Policy"):
            refused = api("POST", "/v1/pools", 422, json={"name": "go", "policy": other}).json()
            assert f"no policy is called '{other}': its operator must allow it" in refused["detail"]
    finally:
        api.stop()


def test_a_policy_that_cannot_be_imported_keeps_the_service_from_starting(fixed):
    assert command_line == {"debug": False}
    with pytest.raises(PolicyError, match="'nowhere:Fixed' cannot be imported"):
        Settings(policies="nowhere:Fixed").allow_policies()
