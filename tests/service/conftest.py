import pytest

from tests.support.service.pools import Api
from tests.support.service.postgres import Server


@pytest.fixture(scope="session")
def postgres():
    server = Server()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    """The address of an empty database, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "pools.db")
    return request.getfixturevalue("postgres").new_database()


@pytest.fixture(params=["sqlite", "postgresql"])
def api(request, tmp_path):
    """The service on each kind of database, which is empty."""
    if request.param == "sqlite":
        running = Api(str(tmp_path / "pools.db"))
    else:
        running = Api(request.getfixturevalue("postgres").emptied_database())
    yield running
    running.stop()


@pytest.fixture
def lone(tmp_path):
    """The service on SQLite, for what does not depend on the database."""
    running = Api(str(tmp_path / "pools.db"))
    yield running
    running.stop()


@pytest.fixture
def settings_api(tmp_path):
    """A function that starts the service on SQLite with some settings."""
    started = []

    def start(**settings):
        started.append(Api(str(tmp_path / f"pools{len(started)}.db"), **settings))
        return started[-1]

    yield start
    for running in started:
        running.stop()
