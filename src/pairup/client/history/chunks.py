"""Chunks of history: rows of a file that were checked, in columns, as a request takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pairup.client.history.file import COLUMNS, FileRow, HistoryFile
from pairup.service.api.schemas.imports import ImportedRows
from pairup.service.domain.imports import feedback_problem, same_player
from pairup.service.domain.names import normalized_name

_MAX_GAMES = 20_000  # in a chunk; a pool waits while it learns them
_MAX_BYTES = 1_500_000  # of a chunk, roughly and at most
_MAX_KNOWN = 1_000_000  # names whose checks are remembered
_WORDS: dict[Any, bool | None] = {
    **dict.fromkeys(("true", "yes", "1", True, 1, 1.0), True),
    **dict.fromkeys(("false", "no", "0", False, 0, 0.0), False),
    **dict.fromkeys(("", None), None),
}


_Said = tuple[bool | None, bool | None, bool | None]  # accepted_a, accepted_b, played


class BadRow(NamedTuple):
    """A row that cannot be learnt from, and why."""

    line: int
    reason: str


class _RowError(ValueError):
    """A row cannot be learnt from."""


@dataclass
class Chunk:
    """Some rows of a file, one after the other: their games in columns, and the bad ones."""

    first: int  # row of the file, counted from 0
    rows: int = 0
    size: int = 0  # bytes, roughly and at most
    places: dict[str, int] = field(default_factory=dict)  # by player
    columns: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    bad: list[BadRow] = field(default_factory=list)

    @property
    def games(self) -> int:
        """Number of games."""
        return len(self.columns["player_a"])

    @property
    def full(self) -> bool:
        """Whether the next row begins another chunk."""
        return self.games >= _MAX_GAMES or self.size >= _MAX_BYTES

    def add(self, row: FileRow, names: _Names) -> None:
        """Add the next row, or note why it cannot be learnt from."""
        self.rows += 1
        try:
            one, other, said = _checked(row, names)
        except _RowError as error:
            self.bad.append(BadRow(row.line, str(error)))
            return
        player_a, player_b, accepted_a, accepted_b, played = self.columns.values()
        player_a.append(self._place(one))
        player_b.append(self._place(other))
        accepted_a.append(said[0])
        accepted_b.append(said[1])
        played.append(said[2])
        self.size += 40

    def _place(self, player: str) -> int:
        place = self.places.get(player)
        if place is None:
            place = self.places[player] = len(self.places)
            self.size += 4 * len(player)
        return place

    def body(self) -> ImportedRows:
        """Return the chunk as a request takes it, without columns that say nothing."""
        columns: dict[str, Any] = {
            name: values
            for name, values in self.columns.items()
            if name.startswith("player") or any(value is not None for value in values)
        }
        # Not checked again: the service does.
        return ImportedRows.model_construct(rows=self.rows, players=list(self.places), **columns)


class _Names:
    """Names of players as pools take them, each checked once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, column: str, given: Any) -> str:
        """Return the name in a column of a row, or refuse it with a `_RowError`."""
        text = str(given) if type(given) is int else given
        if type(text) is str and text in self._known:
            return self._known[text]
        name = _name(column, text)
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[text] = name
        return name


def _name(column: str, given: Any) -> str:
    if given is None or given == "":
        raise _RowError(f"{column} is missing")
    if not isinstance(given, str):
        raise _RowError(f"{column} must be a name, got {_shown(given)}")
    try:
        return normalized_name(given)
    except UnicodeError:
        raise _RowError(f"{column} is not UTF-8, got {_shown(given)}") from None
    except ValueError as error:
        raise _RowError(f"{column} cannot be {_shown(given)}, {error}") from None


def _said(column: str, given: Any) -> bool | None:
    try:
        return _WORDS[given]
    except (KeyError, TypeError):
        word = given.strip().lower() if isinstance(given, str) else given
    if isinstance(word, str) and word in _WORDS:
        return _WORDS[word]
    raise _RowError(
        f"{column} must be true or false, 1 or 0, yes or no, or empty, got {_shown(given)}"
    )


def _checked(row: FileRow, names: _Names) -> tuple[str, str, _Said]:
    """Return the values of a row, or refuse them with a `_RowError`."""
    if row.problem:
        raise _RowError(row.problem)
    player_a, player_b, accepted_a, accepted_b, played = row.values
    one, other = names("player_a", player_a), names("player_b", player_b)
    said = _said("accepted_a", accepted_a), _said("accepted_b", accepted_b), _said("played", played)
    if one == other or (problem := feedback_problem(*said)):
        raise _RowError(same_player(one) if one == other else problem)
    return one, other, said


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def read_chunks(file: HistoryFile, start: int = 0) -> Iterator[Chunk]:
    """Yield the rows of a file from row `start` on, chunk by chunk."""
    names, chunk = _Names(), Chunk(start)
    for number, row in enumerate(file.rows()):
        if number < start:
            continue
        if chunk.full:
            yield chunk
            chunk = Chunk(number)
        chunk.add(row, names)
    if chunk.rows:
        yield chunk
