"""Databases of earlier schemas are carried over, with everything in them."""

import base64
import json
from collections import defaultdict
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command

from pairup.service.operations.verify import verify
from pairup.service.store import Store, schema
from pairup.service.store.engine import parse_address
from tests.support.service.clock import SettableClock
from tests.support.service.pools import Api

# The rows that the first version stored while it served two pools, one of them deleted.
ROWS = [
    json.loads(line)
    for line in (Path(__file__).parent / "data" / "first_schema.jsonl").read_text().splitlines()
]


@pytest.fixture
def first(database):
    """A database as the first version left it; returns its address."""
    engine = sa.create_engine(parse_address(database))
    with engine.begin() as connection:
        command.upgrade(schema._config(connection), "0001")
        tables = sa.MetaData()
        tables.reflect(connection)
        for stored in ROWS:
            table = tables.tables[stored["table"]]
            row = {name: value for name, value in stored.items() if name != "table"}
            if table.name == "snapshots":
                row["body"] = base64.b64decode(row["body"])
            if table.name == "games":
                row |= {name: bool(row[name]) for name in ("learnt", "late")}
                row["played"] = None if row["played"] is None else bool(row["played"])
            connection.execute(table.insert(), row)
    engine.dispose()
    return database


def stored(table):
    return [row for row in ROWS if row["table"] == table]


def test_a_database_of_the_first_schema_is_carried_over(first):
    store = Store(first)
    verdicts = verify(store)
    assert {each.pool: each.error for each in verdicts} == {"chess": "", "gone (deleted)": ""}
    with store.reading() as transaction:
        logs = defaultdict(list)
        for row in stored("events"):
            logs[row["pool_id"]].append((row["seq"], row["at"], row["kind"], row["body"]))
        for pool, log in logs.items():
            assert transaction.raw_events(pool, 0, 1_000) == sorted(log)
        games = {row["id"]: row for row in stored("games")}
        found = transaction.games(games)
        assert found.keys() == games.keys()
        for id, game in found.items():
            row = games[id]
            assert (game.matching_id, game.expires_at) == (row["matching_id"], row["expires_at"])
            assert (game.state, game.closed_at) == (row["state"], row["closed_at"])
        for row in stored("matchings"):
            assert transaction.matching(row["id"]).waiting == json.loads(row["waiting"])
            places = [each["id"] for each in stored("games") if each["matching_id"] == row["id"]]
            assert {each.id for each in transaction.games_of(row["id"])} == set(places)
    store.close()


def test_games_of_the_first_schema_are_served_and_learnt_from(first):
    """Backends hold ids that the first version gave out."""
    latest = max(row["at"] for row in stored("events"))
    api = Api(first, SettableClock(latest + 1))
    opened = [row for row in stored("games") if row["state"] == "proposed"]
    assert opened
    for row in opened:
        assert api.json("GET", f"/v1/games/{row['id']}")["players"] == json.loads(row["players"])
        assert api.report(row, "played")["result"] == "learnt"
    expired = next(row for row in stored("games") if row["state"] == "expired")
    late = api("PUT", f"/v1/games/{expired['id']}/outcome", 200, json={"outcome": "played"})
    assert late.json()["result"] in ("late", "repeated")
    api.game()
    assert {each.error for each in verify(api.service.store)} == {""}
    api.stop()
