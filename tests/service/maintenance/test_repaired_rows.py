"""The copy of the rows that a repair replaces: for the eyes of the operator only."""

import json
import os
import stat

import pytest
from typer.testing import CliRunner

from pairup.cli import app
from tests.support.service.damage import change
from tests.support.service.services import services


@pytest.fixture
def damaged(database):
    """A database in which a record is not what the log says."""
    with services(database, 1) as (service,):
        service.create_pool("chess", {})
        service.put_players("chess", [("ann", "waiting"), ("bob", "waiting")])
        service.propose("chess")
    change(database, "UPDATE games SET state = 'expired'")
    return database


def test_the_copy_of_replaced_rows_is_private(damaged, tmp_path, monkeypatch):
    """It has the names of players, whatever the mask of the operator is."""
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        done = CliRunner().invoke(app, ["repair", "--database", damaged, "--apply"])
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.output
    copy = tmp_path / "repaired-rows.jsonl"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    rows = [json.loads(line) for line in copy.read_text().splitlines()]
    assert "ann" in {each["row"].get("name") for each in rows if each["table"] == "players"}


def test_a_copy_that_exists_is_not_replaced(damaged, tmp_path):
    """It may be all that is left of an earlier repair, or a link to somewhere else."""
    copy = tmp_path / "copy.jsonl"
    copy.write_text("an earlier one")
    done = CliRunner().invoke(
        app, ["repair", "--database", damaged, "--apply", "--copy", str(copy)]
    )
    assert done.exit_code != 0
    assert copy.read_text() == "an earlier one"
    assert CliRunner().invoke(app, ["verify", "--database", damaged]).exit_code == 1
