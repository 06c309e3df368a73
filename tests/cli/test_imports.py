"""`pairup import` and `pairup learner`, against a service."""

import json
import re

import pytest

from pairup import Learner, RankOneThompson
from pairup.client import Client
from tests.support.service.served import served

HISTORY = "player_a,player_b,played\nann,bob,1\nann,cyd,0\nbob,cyd,1\n"


@pytest.fixture
def url(tmp_path):
    with served(str(tmp_path / "pools.db")) as address:
        yield address


@pytest.fixture
def history(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text(HISTORY)
    return path


def printed(done):
    """Return the JSON that a command printed, among the lines of the service's log."""
    return json.loads(re.search(r"^\{$.*?^\}$", done.stdout, re.MULTILINE | re.DOTALL)[0])


def test_a_file_is_imported_once(call, url, history):
    done = call("import", history, "--pool", "chess", "--url", url)
    assert done.returncode == 0
    assert "pool 'chess' has learnt 3 games of 3 rows, import sha256-" in done.stdout
    again = call("import", history, "--pool", "chess", "--url", url, "--json")
    assert again.returncode == 0
    assert printed(again)["games"] == 3
    other = call("import", history, "--pool", "chess", "--url", url, "--id", "again", "--json")
    assert printed(other) == {
        "pool": "chess",
        "id": "again",
        "rows": 3,
        "bad_rows": 0,
        "listed": [],
        "games": 3,
    }
    with Client(url) as client:
        assert client.stats("chess").imported == 6


def test_bad_rows_are_listed_and_nothing_is_imported_unless_they_are_skipped(call, url, history):
    history.write_text(HISTORY + "ann,ann,1\n" * 30)
    refused = call("import", history, "--pool", "chess", "--url", url)
    assert refused.returncode == 1
    assert refused.stderr.startswith("pairup: 30 of 33 rows of ")
    assert "  line 5: both of its players are 'ann'" in refused.stderr
    assert refused.stderr.endswith("  and 10 more\n")
    with Client(url) as client:
        assert list(client.pools()) == []
    done = call("import", history, "--pool", "chess", "--url", url, "--skip-bad-rows")
    assert done.returncode == 0
    assert "30 bad rows were left out:\n  line 5: both" in done.stdout
    assert "has learnt 3 games of 33 rows" in done.stdout


def test_ctrl_c_ends_an_import_and_the_same_command_continues_it(call, url, history, monkeypatch):
    monkeypatch.setattr("pairup.client.history.chunks._MAX_GAMES", 1)
    send = Client.import_rows

    def interrupted(self, pool, id, first, rows):
        if first == 2:
            raise KeyboardInterrupt
        return self.send(send(self, pool, id, first, rows))

    with monkeypatch.context() as patched:
        patched.setattr(Client, "import_rows", interrupted)
        stopped = call("import", history, "--pool", "chess", "--url", url)
    assert stopped.returncode == 130
    assert "the same command continues where it stopped" in stopped.stderr
    with Client(url) as client:
        assert client.stats("chess").imported == 2
        assert call("import", history, "--pool", "chess", "--url", url).returncode == 0
        assert client.stats("chess").imported == 3
        assert [event.kind for event in client.events("chess")] == ["created", *["imported"] * 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "has no column 'player_a'"), ("player_a,player_b,played\n", "has no rows")],
)
def test_a_file_without_rows_is_refused(call, url, history, text, said):
    history.write_text(text)
    refused = call("import", history, "--pool", "chess", "--url", url)
    assert refused.returncode == 1
    assert said in refused.stderr


def test_a_learner_is_saved_and_loaded(call, url, history, tmp_path):
    file = tmp_path / "chess.learner"
    call("import", history, "--pool", "chess", "--url", url)
    assert call("learner", "save", file, "--pool", "chess", "--url", url).returncode == 0
    assert Learner.from_bytes(file.read_bytes()).players == ("ann", "bob", "cyd")
    again = call("learner", "save", file, "--pool", "chess", "--url", url)
    assert again.returncode == 1
    assert "cannot be written, File exists" in again.stderr
    with Client(url) as client:
        client.create_pool("go")
        loaded = call("learner", "load", file, "--pool", "go", "--url", url)
        assert "pool 'go' has 3 players now" in loaded.stdout
        assert client.estimates("go").couples == client.estimates("chess").couples
    file.write_bytes(RankOneThompson(period=9).learner("ab").to_bytes())
    refused = call("learner", "load", file, "--pool", "go", "--url", url)
    assert refused.returncode == 1
    assert "give the pool the same policy and options" in refused.stderr
    missing = call("learner", "load", tmp_path / "none", "--pool", "go", "--url", url)
    assert "cannot be read, No such file" in missing.stderr
