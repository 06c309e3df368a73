"""An import goes on after a service that was killed with -9, and each row is learnt once."""

import threading
from collections import Counter

import pytest

from pairup.client import Client, Patience
from pairup.client.history import import_history
from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.processes import Process

ROWS = 60


@pytest.fixture
def history(tmp_path, monkeypatch):
    monkeypatch.setattr("pairup.client.history.chunks._MAX_GAMES", 4)
    path = tmp_path / "history.csv"
    rows = [f"p{row % 7},q{row % 11},{row % 3 == 0:d}\n" for row in range(ROWS)]
    path.write_text("player_a,player_b,played\n" + "".join(rows))
    return path


def expected():
    tried = Counter((f"p{row % 7}", f"q{row % 11}") for row in range(ROWS))
    played = Counter((f"p{row % 7}", f"q{row % 11}") for row in range(ROWS) if row % 3 == 0)
    return {couple: (count, played[couple]) for couple, count in tried.items()}


# Passes by the fault point: odd before a commit, even after it. The first make the database.
@pytest.mark.parametrize("die_at", [11, 12, 25, 26])
def test_a_service_killed_at_a_commit_learns_each_row_once(tmp_path, history, die_at):
    database = str(tmp_path / "pools.db")
    process = Process(database, tmp_path / "log", keep_replies_s=3600, sweep_s=3600)
    process.start(die_at)
    deaths = 0

    def revive():
        nonlocal deaths
        if process.died() == -9:
            deaths += 1
            process.start()

    reviving = threading.Thread(target=revive)
    reviving.start()
    with Client(process.url, patience=Patience(tries=200, max_pause_s=0.2)) as client:
        found = import_history(client, "chess", history, create_pool=True)
        reviving.join()
        assert deaths == 1
        assert found.games == client.stats("chess").imported == ROWS
        served = {
            tuple(sorted(each.players)): (each.proposed, each.played)
            for each in client.estimates("chess").couples
        }
        assert served == expected()
        events = list(client.events("chess"))
    assert process.stop() == 0
    chunks = [event.body for event in events if event.kind == "imported"]
    assert [chunk.first for chunk in chunks] == list(range(0, ROWS, 4))
    store = Store(database)
    try:
        assert [verdict.error for verdict in verify(store)] == [""]
    finally:
        store.close()
