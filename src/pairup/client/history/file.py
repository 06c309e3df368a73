"""Files of history: CSV, JSON lines or Parquet, read row by row in bounded memory.

Text is read by the standard library, which tells the line of every row and goes on after one that
cannot be read; Parquet is read by polars, batch by batch.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from pairup.errors import ClientError

PLAYERS = ("player_a", "player_b")
ANSWERS = ("accepted_a", "accepted_b")
COLUMNS = (*PLAYERS, *ANSWERS, "played")
_MAX_LINE = 1_000_000  # letters
_BATCH = 50_000  # rows of Parquet


class FileRow(NamedTuple):
    """A row as the file has it; one that cannot be read has a problem and no values."""

    line: int  # of a text, counted from 1 with the header; of Parquet, the row, counted from 1
    values: Sequence[Any] = ()  # in the order of COLUMNS, None where the file says nothing
    problem: str = ""


class HistoryFile:
    """A file with a row for each game of the past; the end of its name tells its format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        readers = {
            ".csv": _read_csv,
            ".jsonl": _read_json_lines,
            ".ndjson": _read_json_lines,
            ".parquet": _read_parquet,
        }
        self._read: Callable[[Path], Iterator[FileRow]] | None = readers.get(path.suffix.lower())
        if self._read is None:
            raise ClientError(
                f"the name of a history ends with {', '.join(readers)}, got {path.name!r}: rename "
                "it, or save it in one of these formats"
            )

    def digest(self) -> str:
        """Return a digest of the content of the file."""
        with self._opened(), self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def rows(self) -> Iterator[FileRow]:
        """Yield the rows of the file, or refuse one that is not a history."""
        assert self._read is not None
        with self._opened():
            yield from self._read(self.path)

    @contextmanager
    def _opened(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ClientError(
                f"{self.path} cannot be read, {error.strerror or error}: correct the name, or the "
                "rights of the file"
            ) from error


def _read_csv(path: Path) -> Iterator[FileRow]:
    with _text(path) as file:
        reader = csv.reader(_lines(path, file), strict=True)
        header = [name.strip() for name in next(reader, [])]
        places = _places(path, header)
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                yield FileRow(reader.line_num, problem=f"it is not CSV, {error}")
                continue
            if row is None:
                return
            if len(row) == len(header):
                yield FileRow(reader.line_num, [None if i is None else row[i] for i in places])
            elif row:  # an empty line is not a row
                problem = f"it has {len(row)} fields instead of {len(header)}"
                yield FileRow(reader.line_num, problem=problem)


def _read_json_lines(path: Path) -> Iterator[FileRow]:
    with _text(path) as file:
        for number, text in enumerate(_lines(path, file), start=1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except (ValueError, RecursionError):
                yield FileRow(number, problem="it is not JSON")
                continue
            if not isinstance(row, dict):
                yield FileRow(number, problem="it is not a JSON object")
                continue
            yield FileRow(number, [row.get(name) for name in COLUMNS])


def _read_parquet(path: Path) -> Iterator[FileRow]:
    import polars as pl

    with path.open("rb"):  # where this fails, the operating system says why
        pass
    try:
        frame = pl.scan_parquet(path, glob=False)
        places = _places(path, frame.collect_schema().names())
        names = [name for name, place in zip(COLUMNS, places, strict=True) if place is not None]
        absent = dict.fromkeys(COLUMNS)
        batches = frame.select(names).collect_batches(chunk_size=_BATCH, maintain_order=True)
        number = 0
        for batch in batches:
            for row in batch.iter_rows():
                number += 1
                values = absent | dict(zip(names, row, strict=True))
                yield FileRow(number, list(values.values()))
    except pl.exceptions.PolarsError as error:
        said = str(error).partition("\n")[0]
        raise ClientError(f"{path} is not Parquet, or damaged ({said}): save it again") from error


def _text(path: Path) -> TextIO:
    # What is not UTF-8 becomes a name that is refused, in its row.
    return path.open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _lines(path: Path, file: TextIO) -> Iterator[str]:
    number = 0
    while text := file.readline(_MAX_LINE):
        number += 1
        if len(text) == _MAX_LINE:
            raise ClientError(
                f"line {number} of {path} has {_MAX_LINE} letters or more, as if it were not a "
                "history: give a text with one game per line"
            )
        yield text


def _places(path: Path, header: Iterable[str]) -> list[int | None]:
    """Return where the columns are, None for those that are absent, or refuse the header."""
    found = list(header)
    for name in COLUMNS:
        if found.count(name) > 1:
            raise ClientError(f"{path} has {found.count(name)} columns {name!r}: keep one")
    missing = [name for name in PLAYERS if name not in found]
    if not missing and "played" not in found:
        missing = [name for name in ANSWERS if name not in found]
    if missing:
        listed = ", ".join(found[:20]) or "not named"
        raise ClientError(
            f"{path} has no column {missing[0]!r}, a history has player_a, player_b, and played or "
            f"accepted_a and accepted_b; its columns are {listed[:500]}: rename them"
        )
    return [found.index(name) if name in found else None for name in COLUMNS]
