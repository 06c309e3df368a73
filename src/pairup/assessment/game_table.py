"""Game tables: past games from files or frames, read in batches into arrays of bounded size.

Players are told apart by hashes of their names: an assessment needs to know who is the same, not
who it is.
"""

from __future__ import annotations

import csv
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pairup.errors import AssessmentError, did_you_mean
from pairup.learning.feedback import Codes, complete

PLAYERS = ("player_a", "player_b")
SAID = ("accepted_a", "accepted_b", "played")
OPTIONAL = ("time", "rating_a", "rating_b", "region_a", "region_b")
COLUMNS = (*PLAYERS, *SAID, *OPTIONAL)
MAX_ROWS = 50_000_000
_SIDED_PLAYERS, _SIDED_GAMES = 20, 5  # each of so many players so often in the same column
_BATCH = 500_000  # rows that are read together
_MAX_LISTED = 5  # skipped rows that are named, by reason
_MAX_LINE = 16 << 20  # bytes
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5", b"x\x01", b"x^", b"x\x9c", b"x\xda")  # gzip, zstd, zlib
_LINE, _MORE = "\x00line", "\x00more"  # columns that no file has
_NOT_UTF8 = "\ufffd"  # what a reader puts in place of other bytes
_MAX_SECONDS = 1e11  # since 1970; more are milliseconds
_YES, _NO, _BAD = ("true", "yes", "1", "1.0"), ("false", "no", "0", "0.0"), 9

Progress = Callable[[int], None]  # number of rows read


class SkippedRow(NamedTuple):
    """A row that says nothing about its players, and why."""

    file: str
    line: int  # of a text, counted from 1 with the header; otherwise the row, counted from 1
    reason: str


@dataclass(frozen=True)
class GameTable:
    """Past games in arrays, a row each, and what was left out."""

    players: int
    one: NDArray[np.int64]  # number of each game's players, the lower first
    other: NDArray[np.int64]
    answers: Codes  # of shape (games, 2), with those that follow
    played: NDArray[np.bool_]
    distance: NDArray[np.float64]  # of the ratings, NaN where one is not known
    hours: NDArray[np.float64]  # since 1970, NaN where the time is not known
    same_region: Codes  # -1 where it is not known
    rows: int
    skipped: Mapping[str, int] = field(default_factory=dict)  # number of rows by reason
    listed: Sequence[SkippedRow] = ()  # the first of each reason
    truncated: bool = False  # whether there were more rows than are read

    @classmethod
    def of(cls, players: int, both: NDArray[np.int64], known: Codes, **others: Any) -> GameTable:
        """Make a table of couples of players, who are in any order, as what is known of them is.

        `known` has both answers and whether they played, all of which follow from each other.
        """
        ascending = both[:, :1] < both[:, 1:]
        one, other = np.sort(both, axis=1).T
        answers = np.where(ascending, known[:, :2], known[:, 1::-1])
        return cls(players, one, other, answers, played=known[:, 2] == 1, **others)

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.one)

    @property
    def games_per_player(self) -> dict[str, float]:
        """How often players are seen: the mean, the median, and what a tenth is below and above."""
        games = np.bincount(self.one, minlength=self.players)
        games += np.bincount(self.other, minlength=self.players)
        p10, median, p90 = np.quantile(games, [0.1, 0.5, 0.9]).tolist()
        return {"mean": float(games.mean()), "median": median, "p10": p10, "p90": p90}

    @property
    def churn(self) -> float:
        """Share of the players who leave per round, in which each of them has a game.

        Whoever had a game in the first three quarters of the games, and none later, has left.
        """
        timed = np.isfinite(self.hours).all()
        order = np.argsort(self.hours, kind="stable") if timed else np.arange(self.games)
        first, later = np.split(order, [self.games * 3 // 4])
        left = np.zeros(self.players, np.bool_)
        left[self.one[first]] = left[self.other[first]] = True
        left[self.one[later]] = left[self.other[later]] = False
        return float(np.count_nonzero(left) / max(2 * len(first), 1))

    @property
    def answers_told(self) -> float:
        """Share of the games that were not played of which some answer is known."""
        lost = ~self.played
        known = (self.answers[lost] >= 0).any(axis=1)
        return float(np.mean(known)) if lost.any() else 1.0


def read_games(
    sources: Iterable[str | Path] | pl.DataFrame | pl.LazyFrame,
    columns: Mapping[str, str] | None = None,
    progress: Progress = lambda rows: None,
) -> GameTable:
    """Read past games.

    Parameters
    ----------
    sources
        Files (.csv, .parquet, .jsonl, .ndjson), one after the other, or a frame.
    columns
        What columns are called, where they are not called as in `COLUMNS`.
    progress
        Called with the number of rows read.

    Raises
    ------
    AssessmentError
        A file cannot be read, or columns are missing.

    Examples
    --------
    >>> frame = pl.DataFrame({"a": ["ann", "ann"], "b": ["bob", "ann"], "ok": [True, True]})
    >>> table = read_games(frame, {"player_a": "a", "player_b": "b", "played": "ok"})
    >>> table.games, table.players, table.skipped
    (1, 2, {'both players are the same': 1})
    """
    reading, named = _Reading(progress), _renamed(columns)
    for name, frame in _frames(sources, named):
        reading.add(name, frame, named)
    return reading.table()


def _frames(
    sources: Iterable[str | Path] | pl.DataFrame | pl.LazyFrame, columns: Mapping[str, str]
) -> Iterator[tuple[str, pl.LazyFrame]]:
    """Yield frames with the number of each row, and perhaps what is too much in it."""
    if isinstance(sources, pl.DataFrame | pl.LazyFrame):
        yield "the frame", sources.lazy().with_row_index(_LINE, 1)
        return
    for source in sources:
        path = Path(source)
        reader = _READERS.get(path.suffix.lower())
        if reader is None:
            raise AssessmentError(
                f"the name of a history ends with {', '.join(_READERS)}, got {path.name!r}: rename "
                "it, or save it in one of these formats"
            )
        try:
            with path.open("rb") as file:
                begins = file.read(2)
            if not begins:
                raise AssessmentError(f"{path} is empty: give a history with games")
            if reader is not _scan_parquet:
                _check_text(path, begins)
            frame = reader(path, {each: columns.get(each, each) for each in COLUMNS})
        except OSError as error:
            raise AssessmentError(
                f"{path} cannot be read, {error.strerror or error}: correct the name, or the "
                "rights of the file"
            ) from error
        yield str(path), frame


def _check_text(path: Path, begins: bytes) -> None:
    """Refuse what is not lines of text, before a reader takes it for one line of many gigabytes."""
    if begins in (BOM_UTF16_LE, BOM_UTF16_BE):
        raise AssessmentError(f"{path} is in UTF-16: save it as UTF-8")
    if begins in _COMPRESSED:
        raise AssessmentError(f"{path} is compressed: decompress it, or save it as Parquet")
    lines = returns = 0
    with path.open("rb") as file:
        while lines <= MAX_ROWS and (part := file.read(_MAX_LINE)):
            more = part.count(b"\n")
            if not more and len(part) == _MAX_LINE:
                raise AssessmentError(
                    f"line {lines + 1:,} of {path} has more than {_MAX_LINE >> 20} MB: it is not a "
                    "table of games, or was damaged from there on"
                )
            lines += more
            returns += not lines and b"\r" in part
    if returns and not lines:
        raise AssessmentError(f"lines of {path} end with a carriage return only: save it again")


def _scan_csv(path: Path, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Read all rows as text, with a column for what is too much in a row."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file)
        try:
            header = [name.strip() for name in next(reader)]
        except (csv.Error, StopIteration) as error:
            raise AssessmentError(
                f"{path} does not begin with names of columns: {error}"
            ) from error
    for name in columns.values():
        if header.count(name) > 1:
            raise AssessmentError(f"{path} has {header.count(name)} columns {name!r}: keep one")
    fields = [str(place) for place in range(len(header))]
    rows = pl.scan_csv(
        path,
        has_header=False,
        skip_lines=reader.line_num,
        schema=dict.fromkeys([*fields, _MORE], pl.String),
        missing_columns="insert",
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
        row_index_name=_LINE,
        row_index_offset=reader.line_num + 1,
    )
    named = dict[str, pl.Expr]()
    for name, place in zip(header, fields, strict=True):
        named.setdefault(name, pl.col(place))
    return rows.select(_LINE, _MORE, **named)


def _scan_lines(path: Path, columns: Mapping[str, str]) -> pl.LazyFrame:
    """Take JSON lines apart as text, so that one bad line is one bad row."""
    lines = pl.scan_csv(
        path,
        has_header=False,
        separator="\x01",  # which JSON has in no line
        quote_char=None,
        schema={"line": pl.String, _MORE: pl.String},
        missing_columns="insert",
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
        row_index_name=_LINE,
        row_index_offset=1,
    )
    text = pl.col("line")
    parts = {name: text.str.json_path_match(f'$["{name}"]') for name in columns.values()}
    return lines.select(_LINE, **parts)


def _scan_parquet(path: Path, columns: Mapping[str, str]) -> pl.LazyFrame:
    return pl.scan_parquet(path, glob=False, row_index_name=_LINE, row_index_offset=1)


_READERS: dict[str, Callable[[Path, Mapping[str, str]], pl.LazyFrame]] = {
    ".csv": _scan_csv,
    ".jsonl": _scan_lines,
    ".ndjson": _scan_lines,
    ".parquet": _scan_parquet,
}


def _renamed(columns: Mapping[str, str] | None) -> dict[str, str]:
    given = dict(columns or {})
    for name in given:
        if name not in COLUMNS:
            raise AssessmentError(f"a history has no column {name!r}{did_you_mean(name, COLUMNS)}")
    return given


class _Reading:
    """Batches of rows, as they are read."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._rows, self._truncated = progress, 0, False
        self._files = list[tuple[str, int]]()  # with the games of the files before
        self._games = 0
        self._skipped: Counter[str] = Counter()
        self._listed: list[SkippedRow] = []
        self._parts: list[dict[str, NDArray[Any]]] = []

    def add(self, name: str, frame: pl.LazyFrame, columns: Mapping[str, str]) -> None:
        """Read a frame to its end, or to the greatest number of rows."""
        self._files.append((name, self._games))
        try:
            found = frame.collect_schema().names()
            more = pl.col(_MORE) if _MORE in found else pl.lit(None, pl.String)
            found = [each for each in found if each not in (_LINE, _MORE)]
            used = _checked_columns(name, found, columns)
            wanted = frame.select(
                pl.col(_LINE), more.alias(_MORE), **{x: pl.col(y) for x, y in used.items()}
            )
            # What is beyond is not even decoded: a file may promise more than memory can hold.
            first = wanted.head(MAX_ROWS - self._rows + 1)
            typed = first.select(_expressions(list(used)))
            for batch in typed.collect_batches(chunk_size=_BATCH, maintain_order=True):
                self._take(batch)
                if self._truncated:
                    return
        except pl.exceptions.PolarsError as error:
            where = _damage(Path(name)) if name.lower().endswith(".csv") else ""
            said = where or str(error).partition("\n")[0]
            raise AssessmentError(
                f"{name} cannot be read ({said}): correct or save it again"
            ) from error

    def _take(self, batch: pl.DataFrame) -> None:
        room = MAX_ROWS - self._rows
        if len(batch) > room:
            batch, self._truncated = batch.head(room), True
        codes = np.stack([batch[each].to_numpy() for each in SAID], axis=1)
        consistent, known = complete(
            np.where(codes == _BAD, -1, codes)[:, :2], np.where(codes == _BAD, -1, codes)[:, 2]
        )
        reasons = {
            "it has more fields than the header": batch["more"].to_numpy(),
            "it is empty, or cannot be read": batch["empty"].to_numpy(),
            "a player's name is not UTF-8": batch["odd"].to_numpy(),
            "player_a is missing": batch["missing_a"].to_numpy(),
            "player_b is missing": batch["missing_b"].to_numpy(),
            "both players are the same": batch["player_a"].to_numpy()
            == batch["player_b"].to_numpy(),
            "a word is neither true nor false": (codes == _BAD).any(axis=1),
            "the outcome and the answers contradict each other": ~consistent,
            "nothing tells whether they played": known[:, 2] < 0,
        }
        fine, lines = np.ones(len(batch), np.bool_), batch["line"].to_numpy()
        for reason, wrong in reasons.items():
            self._skip(reason, len(self._files) - 1, lines[fine & wrong])
            fine &= ~wrong
        part = {each: batch[each].to_numpy()[fine] for each in ("line", *PLAYERS, *_MEASURES)}
        self._parts.append(part | {"known": known[fine]})
        self._rows += len(batch)
        self._games += int(np.count_nonzero(fine))
        self._progress(self._rows)

    def _skip(self, reason: str, file: int, lines: NDArray[Any]) -> None:
        """Count rows of a file that are skipped, and list the first ones of each reason."""
        if len(lines):
            room = max(_MAX_LISTED - self._skipped[reason], 0)
            name, _ = self._files[file]
            self._listed += [SkippedRow(name, int(line), reason) for line in lines[:room]]
            self._skipped[reason] += len(lines)

    def table(self) -> GameTable:
        """Return all games that were read, or refuse a history without any."""
        joined = {  # of each part, arrays are let go as they are joined
            name: np.concatenate([part.pop(name) for part in self._parts])
            for name in (list(self._parts[0]) if self._parts else ())
        }
        if not self._parts or not len(joined["known"]):
            why = "; ".join(f"{count:,} x {reason}" for reason, count in self._skipped.items())
            raise AssessmentError(
                f"there is not a single game in {self._rows:,} rows{why and f' ({why})'}: give a "
                "history with player_a, player_b, and played or both answers"
            )
        hashes = [joined.pop(name) for name in PLAYERS]
        names = np.unique(np.concatenate([np.unique(each) for each in hashes]))
        both = np.stack([np.searchsorted(names, hashes.pop(0)) for _ in PLAYERS], axis=1)
        _refuse_sides(*both.T)
        known, lines = joined.pop("known"), joined.pop("line")
        fresh = _are_fresh(both, joined["hours"])
        if not fresh.all():
            firsts = [games for _, games in self._files[1:]]
            parts = zip(np.split(~fresh, firsts), np.split(lines, firsts), strict=True)
            for file, (repeated, each) in enumerate(parts):
                self._skip("the players have another game at that time", file, each[repeated])
            both, known = both[fresh], known[fresh]
            joined = {name: each[fresh] for name, each in joined.items()}
        return GameTable.of(
            len(names),
            both,
            known,
            rows=self._rows,
            skipped=dict(self._skipped),
            listed=tuple(self._listed),
            truncated=self._truncated,
            **joined,
        )


def _refuse_sides(player_a: NDArray[np.int64], player_b: NDArray[np.int64]) -> None:
    """Refuse a history of two sides, whose random pairing is not that of everybody."""
    games = [np.bincount(each) for each in (player_a, player_b)]
    shared = min(map(len, games))
    often = sum(int(np.count_nonzero(each >= _SIDED_GAMES)) for each in games)
    if often >= _SIDED_PLAYERS and not (games[0][:shared] * games[1][:shared]).any():
        raise AssessmentError(
            "no player is both a player_a and a player_b of the history: it has two sides, such as "
            "buyers and sellers, and an assessment is about players who may all meet. Watch them "
            "in a pool in shadow instead, with a constraint of the kind different"
        )


def _are_fresh(both: NDArray[np.int64], hours: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which games are the first of a couple at a time; dates alone are not times."""
    fresh, timed = np.ones(len(hours), np.bool_), np.flatnonzero(np.isfinite(hours))
    if not (hours[timed] % 24.0 != 0.0).any():
        return fresh
    couples = both[timed].min(axis=1) * (both.max() + 1) + both[timed].max(axis=1)
    order = np.lexsort((hours[timed], couples))
    again = np.diff(couples[order]) == 0
    again &= np.diff(hours[timed[order]]) == 0.0
    fresh[timed[order[1:][again]]] = False
    return fresh


def _damage(path: Path) -> str:
    """Describe the first line of a text at which fields in quotes go wrong; empty if none does."""
    line = 0
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            for _ in reader:
                line = reader.line_num
        except csv.Error as error:
            return f"from line {line + 1:,} on it is not CSV, {error}"
    return ""


_MEASURES = ("distance", "hours", "same_region")


def _checked_columns(name: str, found: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that are there, by what they mean, or say which one is missing."""
    for meaning, actual in columns.items():
        if actual not in found:
            raise AssessmentError(
                f"{name} has no column {actual!r}, which is to be {meaning}"
                f"{did_you_mean(actual, found)}"
            )
    used = {each: columns.get(each, each) for each in COLUMNS}
    used = {each: actual for each, actual in used.items() if actual in found}
    missing = [each for each in PLAYERS if each not in used]
    if not missing and "played" not in used:
        missing = [each for each in SAID[:2] if each not in used]
    if missing:
        listed = ", ".join(found[:20])[:500]
        raise AssessmentError(
            f"{name} has no column {missing[0]!r}; a history has player_a, player_b, and played or "
            f"accepted_a and accepted_b, and this one has {listed}: rename them, or say which is "
            f"which by --columns {missing[0]}=..."
        )
    return used


def _expressions(used: Sequence[str]) -> list[pl.Expr]:
    """Return what is computed of each row, as numbers."""
    texts = [pl.col(each).cast(pl.String).str.strip_chars() for each in PLAYERS]
    found = [text.hash(seed=0).alias(each) for text, each in zip(texts, PLAYERS, strict=True)]
    odd = [text.str.contains(_NOT_UTF8, literal=True).fill_null(False) for text in texts]
    said = [pl.col(each).is_not_null() for each in used]
    found += [
        pl.col(_LINE).alias("line"),
        pl.col(_MORE).is_not_null().alias("more"),
        (~pl.any_horizontal(said)).alias("empty"),
        pl.any_horizontal(odd).alias("odd"),
    ]
    for text, side in zip(texts, "ab", strict=True):
        found.append((text.is_null() | (text == "")).fill_null(True).alias(f"missing_{side}"))
    for each in SAID:
        found.append((_code(pl.col(each)) if each in used else _unknown(pl.Int8)).alias(each))
    ratings = [pl.col(each).cast(pl.Float64, strict=False) for each in ("rating_a", "rating_b")]
    rated = {"rating_a", "rating_b"} <= set(used)
    distance = (ratings[0] - ratings[1]).abs() if rated else _unknown(pl.Float64)
    found.append(distance.fill_null(float("nan")).alias("distance"))
    found.append((_hours() if "time" in used else _unknown(pl.Float64)).alias("hours"))
    regions = {"region_a", "region_b"} <= set(used)
    same = pl.col("region_a") == pl.col("region_b") if regions else _unknown(pl.Int8)
    found.append(same.cast(pl.Int8).fill_null(-1).alias("same_region"))
    return found


def _unknown(dtype: Any) -> pl.Expr:
    return pl.lit(-1 if dtype == pl.Int8 else float("nan"), dtype)


def _code(column: pl.Expr) -> pl.Expr:
    """Return 1 for yes, 0 for no, -1 for nothing, and `_BAD` for any other word."""
    word = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    said = pl.when(word.is_in(_YES)).then(1).when(word.is_in(_NO)).then(0)
    return said.when(word.is_null() | (word == "")).then(-1).otherwise(_BAD).cast(pl.Int8)


def _hours() -> pl.Expr:
    """Return the time in hours since 1970, of a date, a text or seconds; NaN if it is neither."""
    column = pl.col("time")
    number = column.cast(pl.Float64, strict=False)
    seconds = pl.when(number.abs() < _MAX_SECONDS).then(number).otherwise(number / 1_000.0)
    text = column.cast(pl.String)
    parsed = text.str.to_datetime(strict=False, time_zone="UTC").dt.epoch("s").cast(pl.Float64)
    return (pl.coalesce(parsed, seconds) / 3600.0).fill_null(float("nan"))
