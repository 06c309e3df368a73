"""A service whose power is cut: what it acknowledged is looked for on what is left of its disk."""

import random
import shutil
from contextlib import closing, contextmanager

from sqlalchemy import Engine, event

from pairup.service.maintenance.verify import verify
from pairup.service.store import Store
from tests.support.service.pools import Api
from tests.support.service.power_loss import LOSSES, record


@contextmanager
def pragmas(**values):
    """Set pragmas of every connection, after the store has set its own."""

    def set_up(connection, *_):
        for name, value in values.items():
            connection.execute(f"PRAGMA {name} = {value}")

    event.listen(Engine, "checkout", set_up)
    try:
        yield
    finally:
        event.remove(Engine, "checkout", set_up)


def serve_load(folder, rounds, **values):
    """Serve a pool from its first request to an orderly stop; returns the trace of its files.

    Checkpoints, which move the write-ahead log into the database, come often.
    """
    with record(folder) as trace, pragmas(wal_autocheckpoint=40, **values):
        api = Api(str(folder / "pools.db"), snapshot_every=20)
        api.pool()
        for player in "abcdefgh":
            api.join(player)
            trace.acknowledge(("joined", player))
        for number in range(rounds):
            matching = api.propose()
            trace.acknowledge(("proposed", matching["id"]))
            outcomes = [{"game": game["id"], "outcome": "played"} for game in matching["games"]]
            for sent in outcomes[: number % 4]:
                api("PUT", f"/v1/games/{sent['game']}/outcome", 200, json={"outcome": "played"})
                trace.acknowledge(("decided", sent["game"]))
            rest = {"outcomes": outcomes[number % 4 :]}
            api("POST", "/v1/pools/chess/outcomes", 200, json=rest)
            for sent in rest["outcomes"]:
                trace.acknowledge(("decided", sent["game"]))
        api.stop()
    return trace


def choose_cuts(trace, count, seed=0):
    """Choose cuts over the whole trace, each with a way in which the unsynced is lost."""
    draw = random.Random(seed)
    places = sorted(draw.choices(range(len(trace.steps) + 1), k=count))
    return [(place, LOSSES[number % len(LOSSES)]) for number, place in enumerate(places)]


def find_lost(trace, folder, cuts):
    """Cut the power, start again, and list what was acknowledged and is gone, for each cut."""
    lost = []
    for number, (cut, loss, disk) in enumerate(trace.disks(cuts)):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in disk.items():
            (folder / name).write_bytes(content)
        missing = _missing(trace.acknowledged(cut), folder / "pools.db", number % 10 == 0)
        lost += [(cut, loss, each) for each in missing]
    return lost


def _missing(acknowledged, file, verified):
    with closing(Store(str(file))) as store:
        with store.reading() as transaction:
            row = transaction.pool_named("chess")
            log = [] if row is None else transaction.shown_events(row, 0, 10_000)
        happened = {
            summary for event in log for summary in _summaries(event["kind"], event["body"])
        }
        if verified:
            assert {each.error for each in verify(store)} <= {""}
    return [each for each in acknowledged if each not in happened]


def _summaries(kind, body):
    if kind == "proposed":
        return [(kind, body["matching"])]
    return [(kind, each) for each in body.get({"joined": "players"}.get(kind, "games"), ())]
