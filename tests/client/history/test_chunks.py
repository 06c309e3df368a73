"""What a file of history says, row by row, and what is refused of it."""

import json

import polars as pl
import pytest

from pairup.client.history.chunks import read_chunks
from pairup.client.history.file import HistoryFile
from pairup.errors import ClientError

HEAD = "player_a,player_b,accepted_a,accepted_b,played\n"


def chunks(path, text=None, start=0):
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_chunks(HistoryFile(path), start))


def games(found):
    """List the games of chunks as rows."""
    return [
        (players[row[0]], players[row[1]], *row[2:])
        for chunk in found
        for players in [list(chunk.places)]
        for row in zip(*chunk.columns.values(), strict=True)
    ]


def bad(found):
    return {line: reason for chunk in found for line, reason in chunk.bad}


ROWS = [
    ("ann", "bob", None, None, True),
    ("ann", "zoë", None, None, False),
    ("17", "bob", True, False, None),
    ("17", "ann", None, False, None),
]


def test_csv_json_lines_and_parquet_say_the_same(tmp_path):
    text = HEAD + "ann,bob,,,TRUE\nann,zoë,,,0\n\n17,bob,yes,no,\n17,ann,, False ,\n"
    from_csv = chunks(tmp_path / "history.csv", text)
    lines = [
        {"player_a": "ann", "player_b": "bob", "played": True, "when": "2025"},
        {"player_a": "ann", "player_b": "zoe\u0308", "played": 0},
        {"player_a": 17, "player_b": "bob", "accepted_a": True, "accepted_b": False},
        {"player_a": 17, "player_b": "ann", "accepted_b": "no", "played": None},
    ]
    from_json = chunks(tmp_path / "history.jsonl", "\n".join(map(json.dumps, lines)))
    names = ("player_a", "player_b", "accepted_a", "accepted_b", "played")
    columns = dict(zip(names, zip(*ROWS, strict=True), strict=True))
    pl.DataFrame(columns).write_parquet(tmp_path / "history.parquet")
    from_parquet = chunks(tmp_path / "history.parquet")
    for found in (from_csv, from_json, from_parquet):
        assert games(found) == ROWS
        assert bad(found) == {}
        assert [(chunk.first, chunk.rows) for chunk in found] == [(0, 4)]


def test_a_file_with_a_byte_order_mark_and_other_columns_is_read(tmp_path):
    text = "\ufeffwhen,played,player_b,player_a\r\n2025,1,bob,ann\r\n"
    assert games(chunks(tmp_path / "history.csv", text)) == [("ann", "bob", None, None, True)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("ann,ann,,,1", "both of its players are 'ann'"),
        ("ann,bob,,,", "neither `played` nor the answers tell"),
        ("ann,bob,1,,", "neither `played` nor the answers tell"),
        ("ann,bob,1,0,1", "a couple plays if and only if both accept"),
        ("ann,bob,1,1,0", "a couple plays if and only if both accept"),
        (",bob,,,1", "player_a is missing"),
        ("ann,,,,1", "player_b is missing"),
        ("ann,bob,,,perhaps", "played must be true or false, 1 or 0, yes or no, or empty"),
        ("ann,bob,2,1,", "accepted_a must be true or false"),
        ("ann,bob,,1", "it has 4 fields instead of 5"),
        ('"ann"x,bob,,,1', "it is not CSV"),
        (f"{'a' * 129},bob,,,1", "a name has 1 to 128 characters, not 129"),
        (f"{'a' * 200_000},bob,,,1", "it is not CSV, field larger than field limit"),
        ("a\x07b,bob,,,1", "a name has no invisible or control characters like U+0007"),
        (" ann,bob,,,1", "neither begins nor ends with a blank"),
        (b"\xff,bob,,,1", "player_a is not UTF-8"),
    ],
)
def test_a_bad_row_is_named_by_its_line_and_the_others_are_read(tmp_path, row, reason):
    row = row if isinstance(row, bytes) else row.encode()
    text = HEAD.encode() + b"eve,bob,,,1\n" + row + b"\neve,cyd,,,0\n"
    found = chunks(tmp_path / "history.csv", text)
    assert list(bad(found)) == [3]
    assert reason in bad(found)[3]
    assert games(found) == [("eve", "bob", None, None, True), ("eve", "cyd", None, None, False)]
    assert set(found[0].places) == {"eve", "bob", "cyd"}  # nobody of the bad row joins
    assert found[0].rows == 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[1]", "it is not a JSON object"),
        ('{"player_a": "ann", "played": true}', "player_b is missing"),
        ('{"player_a": ["ann"], "player_b": "bob", "played": true}', "must be a name, got ['ann']"),
        ('{"player_a": true, "player_b": "bob", "played": true}', "must be a name, got True"),
        ('{"player_a": "ann", "player_b": "bob", "played": {}}', "played must be true or false"),
        ('{"player_a": "\\ud800", "player_b": "bob", "played": true}', "player_a is not UTF-8"),
    ],
)
def test_a_bad_line_of_json_is_named(tmp_path, row, reason):
    good = '{"player_a": "eve", "player_b": "bob", "played": true}'
    found = chunks(tmp_path / "history.ndjson", f"{good}\n{row}\n{good}\n")
    assert list(bad(found)) == [2]
    assert reason in bad(found)[2]
    assert len(games(found)) == 2


def test_names_that_are_almost_booleans_or_equal_numbers_are_kept_apart(tmp_path):
    lines = [{"player_a": 1, "player_b": 0, "played": 1}, {"player_a": True, "player_b": 0}]
    found = chunks(tmp_path / "history.jsonl", "\n".join(map(json.dumps, lines)))
    assert games(found) == [("1", "0", None, None, True)]
    assert "must be a name, got True" in bad(found)[2]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("", "has no column 'player_a'.*its columns are not named"),
        ("player_a,played", "has no column 'player_b'"),
        ("player_a,player_b", "has no column 'accepted_a'"),
        ("player_a,player_b,accepted_a", "has no column 'accepted_b'"),
        ("player-a,player_b,played", "its columns are player-a, player_b, played: rename them"),
        ("player_a,player_a,player_b,played", "has 2 columns 'player_a': keep one"),
    ],
)
def test_wrong_columns_are_refused(tmp_path, header, message):
    with pytest.raises(ClientError, match=message):
        chunks(tmp_path / "history.csv", header)


def test_a_file_that_is_not_there_or_of_another_format_is_refused(tmp_path):
    with pytest.raises(ClientError, match="cannot be read, No such file or directory"):
        chunks(tmp_path / "none.csv")
    with pytest.raises(ClientError, match="cannot be read, No such file or directory"):
        chunks(tmp_path / "none.parquet")
    with pytest.raises(ClientError, match=r"ends with .csv, .jsonl, .ndjson, .parquet"):
        chunks(tmp_path / "history.xlsx")


def test_a_line_without_end_is_not_read_into_memory(tmp_path):
    with pytest.raises(ClientError, match=r"line 2 of .* has 1000000 letters or more"):
        chunks(tmp_path / "history.csv", HEAD + "a" * 3_000_000)


def test_truncated_parquet_and_columns_of_other_types_are_refused(tmp_path):
    path = tmp_path / "history.parquet"
    pl.DataFrame({"player_a": ["a"] * 9, "player_b": ["b"] * 9, "played": [1.5] * 9}).write_parquet(
        path
    )
    assert len(bad(chunks(path))) == 9
    whole = path.read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 5):
        with pytest.raises(ClientError, match="is not Parquet, or damaged"):
            chunks(path, whole[:size])
    pl.DataFrame({"player_a": ["a"], "player_b": ["b"]}).write_parquet(path)
    with pytest.raises(ClientError, match="has no column 'accepted_a'"):
        chunks(path)


def test_chunks_are_bounded_and_begin_anywhere(tmp_path, monkeypatch):
    monkeypatch.setattr("pairup.client.history.chunks._MAX_GAMES", 3)
    text = HEAD + "".join(f"p{row},q,,,{'x' if row % 4 == 1 else 1}\n" for row in range(12))
    found = chunks(tmp_path / "history.csv", text)
    assert [(chunk.first, chunk.rows, chunk.games) for chunk in found] == [
        (0, 4, 3),
        (4, 4, 3),
        (8, 4, 3),
    ]
    later = chunks(tmp_path / "history.csv", start=6)
    assert [(chunk.first, chunk.rows) for chunk in later] == [(6, 3), (9, 3)]
    assert games(later) == games(found)[4:]
    monkeypatch.setattr("pairup.client.history.chunks._MAX_BYTES", 100)
    sizes = [chunk.games for chunk in chunks(tmp_path / "history.csv")]
    assert max(sizes) < 3
    assert sum(sizes) == 9
