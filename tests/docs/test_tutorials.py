"""The tutorials do what they say: their code and commands are run, in their order."""

import re

import pytest

from pairup.client import Client
from tests.support.docs.reader import Reader
from tests.support.service.running import Running


@pytest.fixture
def service(tmp_path):
    running = Running(tmp_path)
    yield running
    running.stop()


def test_the_tutorial_for_researchers_runs_as_it_is_written(tmp_path):
    reader = Reader(tmp_path)
    reader.follow("tutorials/researcher.md")
    assert "20,000 rounds" in reader.printed
    assert (tmp_path / "results" / "report.html").exists()


def test_the_tutorial_for_engineers_runs_as_it_is_written(tmp_path, service):
    def serve():
        assert service.stop() == 0
        service.start()

    replace = {"http://localhost:8000": service.url, "first-hour.db": service.database}
    reader = Reader(tmp_path, replace)
    reader.follow("tutorials/engineer.md", {"pairup serve": serve})
    results = re.findall(r'"result":"(\w+)"', reader.printed)
    assert results == ["learnt", "repeated", "learnt"]
    assert '"status":409' in reader.printed
    with Client(service.url) as client:
        assert [pool.name for pool in client.pools()] == ["chess", "duels", "tryout"]
        assert client.stats("chess").games.played == 1
