"""A service with pools of several kinds, in a process of its own, and a real browser."""

import itertools
import time

import numpy as np
import pytest

from pairup.client import Client
from pairup.client.demo import Crowd, Habits, Pace, Simulation
from tests.support.browser import chromium
from tests.support.browser.live_page import LivePage
from tests.support.service.running import Running

HABITS = Habits(churn=0.01, late=0.02, twice=0.1, contradict=0.1, away=0.02)
_HOSTILE = [
    "<script>document.title = 'pwned'</script>",
    '"><img src=x onerror=document.title="pwned">',
    "</script><script>document.title='pwned'</script>",
    "{{ 7 * 7 }} {% raw %}",
    "<b>bold</b> & <a href='javascript:document.title=1'>x</a>",
    "%{customdata} $x^2$",
    "\u05d2\u05d9\u05dc",  # from right to left
    "x" * 128,
    "ünï çødé \U0001f3b2",
    "../../..%2f",
]


@pytest.fixture(scope="session")
def hostile():
    """Names of players that would do harm if they were not escaped."""
    return _HOSTILE


@pytest.fixture(scope="session")
def service(tmp_path_factory, hostile):
    running = Running(tmp_path_factory.mktemp("service"))
    with Client(running.url) as client:
        _simulate(client, "history", np.linspace(0.95, 0.05, 12), 90)
        client.propose("history")
        _simulate(client, "crowd", np.linspace(1.0, 0.1, 200), 3)
        client.create_pool("empty")
        client.create_pool("hostile", lifetime_s=3600)
        for player in hostile:
            client.join("hostile", player)
        first, second, *_ = client.propose("hostile").games
        client.report(first.id, "played")
        client.report(second.id, answers={second.players[0]: "accepted"})
    yield running
    running.stop()


def _simulate(client, pool, rates, rounds):
    simulation = Simulation(client, pool, Crowd(rates, seed=1), HABITS, Pace(lifetime_s=0.2))
    playing = iter(simulation)
    list(itertools.islice(playing, rounds))
    time.sleep(1.0)  # on a fast machine no game was due to be reported late yet: now all are
    next(playing)
    client.change_pool(pool, lifetime_s=3600)


@pytest.fixture
def client(service):
    with Client(service.url) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    # Not for the whole session: while it runs, no other event loop can run in this process.
    with chromium.browser() as started:
        yield started


@pytest.fixture
def opened(browser):
    """Open pages, which are closed after the test."""
    made = []

    def make(*arguments, **options):
        made.append(LivePage(browser, *arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.page.close()
