"""Histories in files and frames, whatever is in them."""

import gzip

import numpy as np
import polars as pl
import pytest

from pairup.assessment import game_table, simulate_history
from pairup.assessment.game_table import read_games
from pairup.assessment.simulated_history import WRITERS
from pairup.errors import AssessmentError


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_format_says_the_same(tmp_path, suffix):
    frame, path = simulate_history(players=6, rounds=3, told=True), tmp_path / f"history{suffix}"
    WRITERS[suffix](frame, path)
    one, other = read_games(frame), read_games([path])
    assert one.games == other.games == 9
    for name in ("one", "other", "answers", "played", "distance", "hours"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_games_are_those_of_the_table():
    frame = simulate_history(players=8, rounds=5, told=True, seed=3)
    table = read_games(frame)
    assert table.players == 8
    assert table.played.tolist() == frame["played"].to_list()
    distance = (frame["rating_a"] - frame["rating_b"]).abs()
    assert table.distance.tolist() == distance.to_list()
    for name, both in (("a", "player_a"), ("b", "player_b")):
        for player, part in frame.group_by(both):
            rows = frame.with_row_index().filter(pl.col(both) == player[0])["index"]
            numbers = np.where(
                table.answers[rows, 0] == part[f"accepted_{name}"].to_numpy(),
                table.one[rows],
                table.other[rows],
            )
            assert len(numbers) == len(part)


def test_an_answer_stays_with_its_player():
    frame = pl.DataFrame(
        {
            "player_a": ["ann", "bob"],
            "player_b": ["bob", "ann"],
            "accepted_a": [True, False],
            "accepted_b": [False, True],
        }
    )
    table = read_games(frame)
    assert table.answers[0].tolist() == table.answers[1].tolist()
    assert sorted(table.answers[0].tolist()) == [0, 1]


ROWS = """player_a,player_b,played,accepted_a
ann,bob,true,
ann,ann,true,
,bob,true,
ann,,true,
ann,bob,maybe,
ann,bob,true,false
ann,bob,,true
ann,bob,,false
short
"""


def test_rows_that_say_nothing_are_counted_by_reason(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text(ROWS)
    table = read_games([path])
    assert (table.rows, table.games) == (9, 2)
    assert table.skipped == {
        "player_a is missing": 1,
        "player_b is missing": 2,
        "both players are the same": 1,
        "a word is neither true nor false": 1,
        "the outcome and the answers contradict each other": 1,
        "nothing tells whether they played": 1,
    }
    assert sorted(each.line for each in table.listed) == [3, 4, 5, 6, 7, 8, 10]


def test_rows_are_named_by_file_and_line_and_the_first_of_each_reason(tmp_path):
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    files[0].write_text("player_a,player_b,played\n" + "ann,bob,1\n" * 3 + "ann,ann,1\n" * 4)
    files[1].write_text("player_a,player_b,played\nann,bob,0\n" + "bob,bob,1\n" * 3 + ",bob,1\n")
    table = read_games(files)
    assert table.skipped == {"both players are the same": 7, "player_a is missing": 1}
    one, two = map(str, files)
    same = [(each.file, each.line) for each in table.listed if "same" in each.reason]
    assert same == [(one, 5), (one, 6), (one, 7), (one, 8), (two, 3)]
    assert (two, 6, "player_a is missing") in table.listed


def test_a_row_with_too_many_fields_or_odd_bytes_is_skipped_by_its_line(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(
        b"\xef\xbb\xbfplayer_a, player_b ,played\n\n\xe9,b,1\na,b,1,more\na,b,1\n\xe8,b,1\n"
    )
    table = read_games([path])
    assert (table.games, table.players) == (1, 2)
    assert [(each.line, each.reason) for each in table.listed] == [
        (4, "it has more fields than the header"),
        (2, "it is empty, or cannot be read"),
        (3, "a player's name is not UTF-8"),
        (6, "a player's name is not UTF-8"),
    ]


def test_repeated_games_are_named_by_file_and_line(tmp_path):
    files = [tmp_path / "one.csv", tmp_path / "two.csv"]
    header, game = "player_a,player_b,played,time\n", "ann,bob,1,2026-01-01T10:00:00\n"
    files[0].write_text(f"{header}{game}ann,ann,1,\n{game}")
    files[1].write_text(header + "cyd,bob,1,2026-01-01T10:00:00\n" + game)
    table = read_games(files)
    assert (table.games, table.rows) == (2, 5)
    repeated = [(each.file, each.line) for each in table.listed if "another game" in each.reason]
    assert repeated == [(str(files[0]), 4), (str(files[1]), 3)]


@pytest.mark.parametrize("suffix", WRITERS)
def test_columns_of_every_format_are_mapped(tmp_path, suffix):
    frame = pl.DataFrame({"home": ["a", "b"], "guest's": ["c", "c"], "ok": [True, False]})
    path = tmp_path / f"history{suffix}"
    WRITERS[suffix](frame, path)
    table = read_games([path], {"player_a": "home", "player_b": "guest's", "played": "ok"})
    assert (table.games, table.players, table.played.tolist()) == (2, 3, [True, False])


@pytest.mark.parametrize("times", [[1767261600], [1767261600_000], ["2026-01-01T12:00:00+02:00"]])
def test_times_are_seconds_milliseconds_or_words(times):
    frame = pl.DataFrame({"player_a": ["a"], "player_b": ["b"], "played": [1], "time": times})
    assert read_games(frame).hours.tolist() == [490_906.0]


def test_games_of_the_same_players_at_the_same_time_count_once():
    frame = simulate_history(players=6, rounds=30, told=True)
    reverse = dict(zip(*(("player_a", "accepted_a"), ("player_b", "accepted_b")), strict=True))
    swapped = frame.rename(reverse | {new: old for old, new in reverse.items()})
    table = read_games(pl.concat([frame, swapped.select(frame.columns)]))
    once = read_games(frame)
    assert (table.games, table.rows) == (once.games, 2 * once.games)
    assert table.skipped == {"the players have another game at that time": once.games}
    assert np.array_equal(table.answers, once.answers)
    dates = pl.concat([frame, frame]).with_columns(pl.col("time").dt.date())
    assert read_games(dates).games == 2 * once.games


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "is empty"),
        ("empty.parquet", b"", "is empty"),
        ("header.csv", b"player_a,player_b,played\n", "not a single game in 0 rows"),
        ("other.csv", b"x,y\n1,2\n", "has no column 'player_a'.*this one has x, y"),
        ("half.csv", b"player_a,player_b,accepted_a\na,b,1\n", "has no column 'accepted_b'"),
        ("bad.parquet", b"PAR1 this is not Parquet PAR1", "cannot be read"),
        ("table.xlsx", b"x", "ends with .csv"),
        ("latin.csv", "player_a,player_b,played\ná,b,1\nà,b,1\na,b,1\n".encode("latin-1"), None),
        (
            "wide.csv",
            "player_a,player_b,played\na,b,1\n".encode("utf-16"),
            "UTF-16: save it as UTF-8",
        ),
        ("packed.csv", gzip.compress(b"player_a,player_b,played\na,b,1\n"), "is compressed"),
        ("ragged.csv", b"player_a,player_b,played\na,b,1,x\na,c,1\n", None),
        ("mac.csv", b"player_a,player_b,played\ra,b,1\r", "end with a carriage return only"),
        ("twice.csv", b"player_a,player_a,played\na,b,1\n", "has 2 columns 'player_a': keep one"),
        (
            "open.csv",
            b'player_a,player_b,played\na,b,1\n"a,b,1\na,c,1\n',
            "from line 3 on it is not CSV",
        ),
        ("control.jsonl", b'{"player_a":"\x01"}\n{"player_a":1,"player_b":2,"played":0}\n', None),
        ("short.csv", b"player_a,player_b,played\na,b\na,c,1\n", None),
        ("lines.jsonl", b'{"player_a":1,"player_b":2,"played":true}\n[1]\nnot json\n', None),
    ],
)
def test_hostile_files_get_a_clear_line(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    if words is None:
        table = read_games([path])
        assert table.games == 1
        assert table.rows > sum(table.skipped.values())
        return
    with pytest.raises(AssessmentError, match=words):
        read_games([path])


@pytest.mark.parametrize("name", ["promise.csv", "promise.jsonl"])
def test_a_file_of_gigabytes_without_lines_is_refused_before_it_is_read(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"player_a,player_b,played\nann,bob,1\n")
    with path.open("r+b") as file:
        file.truncate(10 << 30)  # takes no room on the disk
    with pytest.raises(AssessmentError, match=r"line 3 of .* has more than 16 MB"):
        read_games([path])


def test_players_with_one_game_each_are_read_in_bounded_time_and_room():
    count = 200_000
    numbers = pl.Series(range(count))
    frame = pl.DataFrame(
        {"player_a": numbers, "player_b": numbers + count, "played": numbers % 3 == 0}
    )
    table = read_games(frame)
    assert (table.games, table.players, table.churn) == (count, 2 * count, 1.0)


@pytest.mark.parametrize("name", ["none.csv", "none.parquet"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(AssessmentError, match="No such file"):
        read_games([tmp_path / name])


def test_a_history_of_two_sides_is_refused():
    draw = np.random.default_rng(1)
    sides = {f"player_{side}": [f"{side}{x}" for x in draw.integers(0, 30, 600)] for side in "ab"}
    frame = pl.DataFrame(sides | {"played": [True] * 600})
    with pytest.raises(AssessmentError, match=r"has two sides.*in a pool in shadow"):
        read_games(frame)
    swapped = pl.DataFrame({"player_a": ["b1"], "player_b": ["a1"], "played": [True]})
    assert read_games(pl.concat([frame, swapped])).games == 601


def test_how_often_players_are_seen_is_known():
    frame = pl.DataFrame(
        {"player_a": ["a"] * 9, "player_b": list("bcdefghij"), "played": [True] * 9}
    )
    often = read_games(frame).games_per_player
    assert often == {"mean": 1.8, "median": 1.0, "p10": 1.0, "p90": pytest.approx(1.8)}


def test_columns_are_mapped_or_refused():
    frame = pl.DataFrame({"home": ["a"], "guest": ["b"], "ok": [1]})
    names = {"player_a": "home", "player_b": "guest", "played": "ok"}
    assert read_games(frame, names).games == 1
    with pytest.raises(AssessmentError, match=r"no column 'gust'.*did you mean \"guest\""):
        read_games(frame, names | {"player_b": "gust"})
    with pytest.raises(AssessmentError, match="no column 'player_c'"):
        read_games(frame, {"player_c": "home"})


def test_no_more_rows_are_read_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(game_table, "MAX_ROWS", 10)
    table = read_games(simulate_history(players=6, rounds=5))
    assert (table.rows, table.games, table.truncated) == (10, 10, True)


def test_rows_beyond_the_room_are_not_decoded(monkeypatch, tmp_path):
    """A few kilobytes of Parquet may promise more rows than memory can hold."""
    plans, collect = [], pl.LazyFrame.collect_batches
    path = tmp_path / "promise.parquet"
    simulate_history(players=6, rounds=10).write_parquet(path)

    def watched(frame, **options):
        plans.append(frame.explain())
        return collect(frame, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", watched)
    monkeypatch.setattr(game_table, "MAX_ROWS", 10)
    assert read_games([path]).rows == 10
    (plan,) = plans
    assert "SLICE: Positive { offset: 0, len: 11 }" in plan.partition("Parquet SCAN")[2]


@pytest.mark.parametrize("shuffled", [False, True])
def test_players_who_stay_have_not_left(shuffled):
    frame = simulate_history(players=40, rounds=120, seed=1)
    if shuffled:  # then the time tells the order
        frame = frame.sample(fraction=1.0, shuffle=True, seed=0)
    assert read_games(frame).churn == 0.0


def test_players_leave_as_often_as_they_do():
    frame = simulate_history(players=200, rounds=120, churn=0.02, seed=1)
    assert 0.017 < read_games(frame).churn < 0.023
    assert 0.017 < read_games(frame.drop("time")).churn < 0.023
    once = read_games(simulate_history(players=40, rounds=1))
    assert once.churn == 1.0  # nobody was seen again
