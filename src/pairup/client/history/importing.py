"""The import of a file of history into a pool, exactly once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pairup.client import Client, RefusedError
from pairup.client.history.chunks import BadRow, read_chunks
from pairup.client.history.file import HistoryFile
from pairup.errors import ClientError

MAX_LISTED = 20  # bad rows that are named
Progress = Callable[[int, int], None]  # number of rows done, and of all


@dataclass
class ImportSummary:
    """What an import found in its file, and what the pool has learnt from it."""

    id: str
    rows: int = 0
    bad_rows: int = 0
    listed: list[BadRow] = field(default_factory=list)  # the first bad rows
    games: int = 0  # learnt by the pool, in this run or before

    def describe_bad_rows(self) -> str:
        """List the bad rows by line and reason, as far as they are named."""
        lines = [f"  line {row.line}: {row.reason}" for row in self.listed]
        if rest := self.bad_rows - len(self.listed):
            lines.append(f"  and {rest:,} more")
        return "\n".join(lines)


class BadRowsError(ClientError):
    """A file has rows that cannot be learnt from; nothing was imported."""

    def __init__(self, path: Path, summary: ImportSummary) -> None:
        super().__init__(
            f"{summary.bad_rows:,} of {summary.rows:,} rows of {path} cannot be learnt from, and "
            "nothing was imported: correct them, or leave them out with --skip-bad-rows\n"
            + summary.describe_bad_rows()
        )
        self.summary = summary


def import_history(
    client: Client,
    pool: str,
    path: str | Path,
    id: str | None = None,
    *,
    skip_bad_rows: bool = False,
    create_pool: bool = False,
    progress: Progress = lambda done, rows: None,
) -> ImportSummary:
    """Import the games of a file into a pool: CSV, JSON lines or Parquet.

    The file is read twice, in bounded memory: it is checked as a whole, then sent chunk by chunk.
    However often this is called, and wherever it was interrupted, each row is learnt once; what is
    missing is sent.

    Parameters
    ----------
    client
        Client of the service.
    pool
        Name of the pool.
    path
        File with columns `player_a`, `player_b`, and `played` or `accepted_a` and `accepted_b`.
    id
        Id of the import, by default a digest of the file.
    skip_bad_rows
        Whether to import the other rows of a file that has bad ones.
    create_pool
        Whether to create a pool that does not exist, with the default rules.
    progress
        Called with the number of rows done and that of all rows.

    Raises
    ------
    BadRowsError
        Some rows cannot be learnt from.
    ClientError
        The file cannot be read or is empty, or the service refused.
    """
    file = HistoryFile(Path(path))
    found = _checked(file, id or f"sha256-{file.digest()}")
    if found.bad_rows and not skip_bad_rows:
        raise BadRowsError(file.path, found)
    if create_pool:
        _create(client, pool)
    done, found.games = _progress(client, pool, found.id)
    while done < found.rows:
        before = done
        for chunk in read_chunks(file, done):
            progress(done, found.rows)
            if not chunk.games:  # bad rows at the end
                done = found.rows
                break
            taken = client.import_rows(pool, found.id, chunk.first, chunk.body())
            done, found.games = taken.next, taken.games
            if done != chunk.first + chunk.rows:
                break  # another process imports the same file: go on where it is
        if done == before:
            raise ClientError(f"{file.path} was changed while it was imported: import it again")
    progress(found.rows, found.rows)
    return found


def _checked(file: HistoryFile, id: str) -> ImportSummary:
    """Read the whole file, and list its bad rows."""
    found = ImportSummary(id)
    for chunk in read_chunks(file):
        found.rows += chunk.rows
        found.bad_rows += len(chunk.bad)
        found.listed += chunk.bad[: MAX_LISTED - len(found.listed)]
    if not found.rows:
        raise ClientError(f"{file.path} has no rows: give a history with at least one game")
    return found


def _progress(client: Client, pool: str, id: str) -> tuple[int, int]:
    """Return the next row of an import and the number of games learnt, both 0 for a new one."""
    try:
        known = client.import_progress(pool, id)
    except RefusedError as refused:
        if refused.kind != "no-such-import":
            raise
        return 0, 0
    return known.next, known.games


def _create(client: Client, pool: str) -> None:
    try:
        client.pool(pool)
    except RefusedError as refused:
        if refused.kind != "no-such-pool":
            raise
        client.create_pool(pool)
