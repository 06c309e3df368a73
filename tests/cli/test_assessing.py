"""`pairup simulate-history` and `pairup assess`."""

import json

import polars as pl
import pytest


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    return tmp_path_factory.mktemp("history") / "games.csv"


@pytest.fixture
def simulated(call, history):
    if not history.exists():
        options = ("--players", 20, "--rounds", 30, "--distribution", "beta:2,3", "--seed", 1)
        done = call("simulate-history", history, *options)
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("games.csv: 300 games\n")
    return history


def test_an_assessment_is_told_on_the_terminal_as_a_page_and_as_json(call, simulated, tmp_path):
    odd = tmp_path / "odd.jsonl"
    pl.DataFrame(
        {"player_a": ["<b>ann</b>", "bob"], "player_b": ["bob", "bob"], "played": [True, False]}
    ).write_ndjson(odd)
    page = tmp_path / "found.html"
    done = call("assess", simulated, odd, "--out", page)
    assert done.returncode == 0, done.stderr
    found = json.loads(call("assess", simulated, odd, "--json").stdout)
    assert found["history"]["games"] == 301
    assert found["history"]["listed"] == [
        {"file": str(odd), "line": 2, "reason": "both players are the same"}
    ]
    told = done.stdout.replace("\n", " ")
    verdict = {"worth it": "Worth it", "not worth it": "Not worth it"}
    assert verdict.get(found["verdict"], "Not enough data") in told
    assert f"{found['history']['games']} games of 22 players" in told
    assert "1 row: both players are the same" in told
    assert "Not checked, as the history does not tell enough: same region." in told
    assert json.dumps(found["rules"]) in done.stdout
    shown = page.read_text()
    assert shown.count("<img src") == 1
    for each in found["checks"]:
        assert each["question"] in shown
    for each in found["floors"]:
        assert f"{100 * each['gain']['estimate']:+.1f} [" in shown
        assert f"floor {each['floor']:g}" in shown
    assert f"1 row: both players are the same ({odd}: 2)" in shown


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nothing.csv",), "No such file"),
        (("{history}", "--columns", "player_a"), "columns are given as player_a=home"),
        (("{history}", "--columns", "player_a=home"), "no column 'home'"),
    ],
)
def test_what_cannot_be_assessed_is_refused(call, simulated, arguments, why):
    done = call("assess", *(each.format(history=simulated) for each in arguments))
    assert done.returncode == 1
    assert why in done.stderr


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("games.txt",), "ends with .csv"),
        (("{folder}/games.csv", "--players", "7"), "the number of players is even"),
        (("{folder}/games.csv", "--distribution", "beta:5"), "a distribution is beta:A,B"),
        (("{folder}/games.csv", "--churn", "1"), "churn is a probability"),
        (("{folder}/games.csv", "--rates", "0.5;0.6"), "rates are numbers with commas"),
        (("{folder}/games.csv", "--rates", "0.5,1.5"), "rates lie between 0 and 1"),
        (("{folder}/games.csv", "--told", "--pattern", "1"), "products of rates"),
    ],
)
def test_a_history_that_cannot_be_simulated_is_refused(call, tmp_path, options, why):
    done = call("simulate-history", *(each.format(folder=tmp_path) for each in options))
    assert done.returncode == 1
    assert why in done.stderr.replace("\n", " ")
    assert not list(tmp_path.iterdir())
